# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_moat_global_optspecs
    string join \n h/help V/version
end

function __fish_moat_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_moat_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_moat_using_subcommand
    set -l cmd (__fish_moat_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c moat -n "__fish_moat_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c moat -n "__fish_moat_needs_command" -s V -l version -d 'Print version'
complete -c moat -n "__fish_moat_needs_command" -f -a "generate" -d 'Write man pages, shell completions or reference text'
complete -c moat -n "__fish_moat_needs_command" -f -a "preset" -d 'List the host lists that a policy can name, and say what is in them'
complete -c moat -n "__fish_moat_using_subcommand generate; and not __fish_seen_subcommand_from man completions reference" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c moat -n "__fish_moat_using_subcommand generate; and not __fish_seen_subcommand_from man completions reference" -f -a "man" -d 'Write the man page of a command'
complete -c moat -n "__fish_moat_using_subcommand generate; and not __fish_seen_subcommand_from man completions reference" -f -a "completions" -d 'Write the completions of a shell'
complete -c moat -n "__fish_moat_using_subcommand generate; and not __fish_seen_subcommand_from man completions reference" -f -a "reference" -d 'Write the whole command line as one page of Markdown'
complete -c moat -n "__fish_moat_using_subcommand generate; and __fish_seen_subcommand_from man" -l out -d 'Write the pages of all commands into this directory' -r -F
complete -c moat -n "__fish_moat_using_subcommand generate; and __fish_seen_subcommand_from man" -s h -l help -d 'Print help'
complete -c moat -n "__fish_moat_using_subcommand generate; and __fish_seen_subcommand_from completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c moat -n "__fish_moat_using_subcommand generate; and __fish_seen_subcommand_from reference" -s h -l help -d 'Print help'
complete -c moat -n "__fish_moat_using_subcommand preset; and not __fish_seen_subcommand_from list show explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c moat -n "__fish_moat_using_subcommand preset; and not __fish_seen_subcommand_from list show explain" -f -a "list" -d 'List all presets and their parts'
complete -c moat -n "__fish_moat_using_subcommand preset; and not __fish_seen_subcommand_from list show explain" -f -a "show" -d 'Show the hosts of a preset, those that it includes among them'
complete -c moat -n "__fish_moat_using_subcommand preset; and not __fish_seen_subcommand_from list show explain" -f -a "explain" -d 'Say why a preset holds what it holds and what it leaves out, or which presets hold a host'
complete -c moat -n "__fish_moat_using_subcommand preset; and __fish_seen_subcommand_from list" -l json -d 'Write JSON'
complete -c moat -n "__fish_moat_using_subcommand preset; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c moat -n "__fish_moat_using_subcommand preset; and __fish_seen_subcommand_from show" -l json -d 'Write JSON'
complete -c moat -n "__fish_moat_using_subcommand preset; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c moat -n "__fish_moat_using_subcommand preset; and __fish_seen_subcommand_from explain" -l json -d 'Write JSON'
complete -c moat -n "__fish_moat_using_subcommand preset; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help'
