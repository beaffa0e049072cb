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
complete -c moat -n "__fish_moat_needs_command" -f -a "allow" -d 'Allow hosts, addresses or presets'
complete -c moat -n "__fish_moat_needs_command" -f -a "deny" -d 'Deny hosts, addresses or presets, whatever allows them'
complete -c moat -n "__fish_moat_needs_command" -f -a "edit" -d 'Edit a policy file by hand'
complete -c moat -n "__fish_moat_needs_command" -f -a "check" -d 'Say what the policy makes of requests, without making them'
complete -c moat -n "__fish_moat_needs_command" -f -a "env" -d 'Print the variables that send programs through a running proxy'
complete -c moat -n "__fish_moat_needs_command" -f -a "generate" -d 'Write man pages, shell completions, the schema of policies or the command reference'
complete -c moat -n "__fish_moat_needs_command" -f -a "lint" -d 'Show every error of the policy, and what somebody should look at'
complete -c moat -n "__fish_moat_needs_command" -f -a "log" -d 'Read what was decided, and how connections ended'
complete -c moat -n "__fish_moat_needs_command" -f -a "preset" -d 'List the host lists that a policy can name, and say what is in them'
complete -c moat -n "__fish_moat_needs_command" -f -a "proxy" -d 'Run the egress proxy'
complete -c moat -n "__fish_moat_needs_command" -f -a "status" -d 'Show the running proxies of this user, and whether they are ready'
complete -c moat -n "__fish_moat_needs_command" -f -a "test" -d 'Run the tests that policy files hold under `tests:`'
complete -c moat -n "__fish_moat_needs_command" -f -a "why" -d 'Say what was asked, which rule decided and what would change it'
complete -c moat -n "__fish_moat_using_subcommand allow" -l id -d 'What a running proxy refused under this id; at a terminal only' -r
complete -c moat -n "__fish_moat_using_subcommand allow" -l preset -d 'A host list that comes with Moat; `moat preset list` names them' -r -f -a "alpine\t''
anthropic\t''
anthropic/telemetry\t''
arch\t''
aws\t''
azure\t''
bazel\t''
bedrock\t''
bitbucket\t''
blocklist-exfil\t''
bun\t''
cocoapods\t''
codeberg\t''
composer\t''
conda\t''
copilot\t''
copilot/telemetry\t''
crates\t''
crates/publish\t''
debian\t''
debian/optional\t''
default\t''
deno\t''
dockerhub\t''
dockerhub/optional\t''
docs\t''
dotnet\t''
ecr-public\t''
elm\t''
fedora\t''
gcp\t''
gcr\t''
ghcr\t''
github-actions\t''
github-read\t''
github-read/optional\t''
github-releases\t''
gitlab\t''
go\t''
go/optional\t''
google-ai\t''
gradle\t''
haskell\t''
hex\t''
homebrew\t''
huggingface\t''
julia\t''
k8s\t''
k8s/optional\t''
lean\t''
llm-other\t''
lua\t''
maven\t''
maven/optional\t''
mcr\t''
nix\t''
node-cdn\t''
npm\t''
npm/optional\t''
nuget\t''
nuget/tenant\t''
ocaml\t''
openai\t''
perl\t''
pki\t''
playwright\t''
pnpm\t''
pub\t''
pypi\t''
pytorch\t''
pytorch/optional\t''
quay\t''
r\t''
rhel\t''
rubygems\t''
rubygems/optional\t''
rustup\t''
sigstore\t''
sourcehut\t''
swift\t''
terraform\t''
ubuntu\t''
ubuntu/optional\t''
uv\t''
vscode\t''
vscode/tenant\t''
yarn\t''
zig\t''"
complete -c moat -n "__fish_moat_using_subcommand allow" -l port -d 'Ports for the patterns that write none, such as `22,8000-8100` or `*`' -r
complete -c moat -n "__fish_moat_using_subcommand allow" -l for -d 'How long it holds, such as `30m`' -r
complete -c moat -n "__fish_moat_using_subcommand allow" -l reason -d 'Why, for whoever reads the policy later' -r
complete -c moat -n "__fish_moat_using_subcommand allow" -l policy -d 'The policy file [default: the user\'s]' -r -F
complete -c moat -n "__fish_moat_using_subcommand allow" -l last -d 'What a running proxy refused last; at a terminal only'
complete -c moat -n "__fish_moat_using_subcommand allow" -l remove -d 'Take it out of the policy again'
complete -c moat -n "__fish_moat_using_subcommand allow" -l yes -d 'Write without asking'
complete -c moat -n "__fish_moat_using_subcommand allow" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c moat -n "__fish_moat_using_subcommand deny" -l id -d 'What a running proxy refused under this id; at a terminal only' -r
complete -c moat -n "__fish_moat_using_subcommand deny" -l preset -d 'A host list that comes with Moat; `moat preset list` names them' -r -f -a "alpine\t''
anthropic\t''
anthropic/telemetry\t''
arch\t''
aws\t''
azure\t''
bazel\t''
bedrock\t''
bitbucket\t''
blocklist-exfil\t''
bun\t''
cocoapods\t''
codeberg\t''
composer\t''
conda\t''
copilot\t''
copilot/telemetry\t''
crates\t''
crates/publish\t''
debian\t''
debian/optional\t''
default\t''
deno\t''
dockerhub\t''
dockerhub/optional\t''
docs\t''
dotnet\t''
ecr-public\t''
elm\t''
fedora\t''
gcp\t''
gcr\t''
ghcr\t''
github-actions\t''
github-read\t''
github-read/optional\t''
github-releases\t''
gitlab\t''
go\t''
go/optional\t''
google-ai\t''
gradle\t''
haskell\t''
hex\t''
homebrew\t''
huggingface\t''
julia\t''
k8s\t''
k8s/optional\t''
lean\t''
llm-other\t''
lua\t''
maven\t''
maven/optional\t''
mcr\t''
nix\t''
node-cdn\t''
npm\t''
npm/optional\t''
nuget\t''
nuget/tenant\t''
ocaml\t''
openai\t''
perl\t''
pki\t''
playwright\t''
pnpm\t''
pub\t''
pypi\t''
pytorch\t''
pytorch/optional\t''
quay\t''
r\t''
rhel\t''
rubygems\t''
rubygems/optional\t''
rustup\t''
sigstore\t''
sourcehut\t''
swift\t''
terraform\t''
ubuntu\t''
ubuntu/optional\t''
uv\t''
vscode\t''
vscode/tenant\t''
yarn\t''
zig\t''"
complete -c moat -n "__fish_moat_using_subcommand deny" -l port -d 'Ports for the patterns that write none, such as `22,8000-8100` or `*`' -r
complete -c moat -n "__fish_moat_using_subcommand deny" -l for -d 'How long it holds, such as `30m`' -r
complete -c moat -n "__fish_moat_using_subcommand deny" -l reason -d 'Why, for whoever reads the policy later' -r
complete -c moat -n "__fish_moat_using_subcommand deny" -l policy -d 'The policy file [default: the user\'s]' -r -F
complete -c moat -n "__fish_moat_using_subcommand deny" -l last -d 'What a running proxy refused last; at a terminal only'
complete -c moat -n "__fish_moat_using_subcommand deny" -l remove -d 'Take it out of the policy again'
complete -c moat -n "__fish_moat_using_subcommand deny" -l yes -d 'Write without asking'
complete -c moat -n "__fish_moat_using_subcommand deny" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c moat -n "__fish_moat_using_subcommand edit" -l policy -d 'The policy file [default: the user\'s]' -r -F
complete -c moat -n "__fish_moat_using_subcommand edit" -l yes -d 'Write without asking; a copy that does not load is thrown away'
complete -c moat -n "__fish_moat_using_subcommand edit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c moat -n "__fish_moat_using_subcommand check" -l kind -d 'Which kind of request it is' -r -f -a "net\t'Any connection'
fetch\t'A read-only fetch tool of an agent'"
complete -c moat -n "__fish_moat_using_subcommand check" -l policy -d 'Policy file in place of the user\'s and the project\'s; repeatable' -r -F
complete -c moat -n "__fish_moat_using_subcommand check" -l json -d 'Print one JSON object for each request'
complete -c moat -n "__fish_moat_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c moat -n "__fish_moat_using_subcommand env" -l shell -d 'For which shell [default: that of $SHELL]' -r -f -a "sh\t'sh, bash, zsh, dash, ksh'
fish\t'fish'
csh\t'csh, tcsh'"
complete -c moat -n "__fish_moat_using_subcommand env" -l pid -d 'Which proxy, by its process id, where several run' -r
complete -c moat -n "__fish_moat_using_subcommand env" -l json -d 'Print one JSON object with the variables'
complete -c moat -n "__fish_moat_using_subcommand env" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c moat -n "__fish_moat_using_subcommand generate; and not __fish_seen_subcommand_from man completions schema reference" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c moat -n "__fish_moat_using_subcommand generate; and not __fish_seen_subcommand_from man completions schema reference" -f -a "man" -d 'Write the man page of a command'
complete -c moat -n "__fish_moat_using_subcommand generate; and not __fish_seen_subcommand_from man completions schema reference" -f -a "completions" -d 'Write the completions of a shell'
complete -c moat -n "__fish_moat_using_subcommand generate; and not __fish_seen_subcommand_from man completions schema reference" -f -a "schema" -d 'Write the JSON Schema of policy files, for editors'
complete -c moat -n "__fish_moat_using_subcommand generate; and not __fish_seen_subcommand_from man completions schema reference" -f -a "reference" -d 'Write the whole command line as one page of Markdown'
complete -c moat -n "__fish_moat_using_subcommand generate; and __fish_seen_subcommand_from man" -l out -d 'Write the pages of all commands into this directory' -r -F
complete -c moat -n "__fish_moat_using_subcommand generate; and __fish_seen_subcommand_from man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c moat -n "__fish_moat_using_subcommand generate; and __fish_seen_subcommand_from completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c moat -n "__fish_moat_using_subcommand generate; and __fish_seen_subcommand_from schema" -s h -l help -d 'Print help'
complete -c moat -n "__fish_moat_using_subcommand generate; and __fish_seen_subcommand_from reference" -s h -l help -d 'Print help'
complete -c moat -n "__fish_moat_using_subcommand lint" -l policy -d 'The same as FILE, as other commands spell it; repeatable' -r -F
complete -c moat -n "__fish_moat_using_subcommand lint" -l json -d 'Print one JSON object with all findings'
complete -c moat -n "__fish_moat_using_subcommand lint" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c moat -n "__fish_moat_using_subcommand log" -l host -d 'Only this host, or with a leading `*.` every host below it' -r
complete -c moat -n "__fish_moat_using_subcommand log" -l effect -d 'Only this effect' -r -f -a "allow\t''
deny\t''
ask\t''"
complete -c moat -n "__fish_moat_using_subcommand log" -l event -d 'Only this event' -r -f -a "decision\t''
close\t''
reload\t''
start\t''
stop\t''"
complete -c moat -n "__fish_moat_using_subcommand log" -l id -d 'Only the request with this id' -r
complete -c moat -n "__fish_moat_using_subcommand log" -l since -d 'Only from this time on: `10m` for ten minutes ago, or `2026-01-31T12:00:00Z`' -r
complete -c moat -n "__fish_moat_using_subcommand log" -s f -l follow -d 'Wait for new records, until interrupted'
complete -c moat -n "__fish_moat_using_subcommand log" -l json -d 'Print the records as they are, one JSON line each'
complete -c moat -n "__fish_moat_using_subcommand log" -s h -l help -d 'Print help (see more with \'--help\')'
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
complete -c moat -n "__fish_moat_using_subcommand proxy" -l listen -d 'Where clients connect; repeatable' -r
complete -c moat -n "__fish_moat_using_subcommand proxy" -l tls-cert -d 'Certificate chain of `tls:` listeners, PEM, leaf first' -r -F
complete -c moat -n "__fish_moat_using_subcommand proxy" -l tls-key -d 'Private key of `tls:` listeners, PEM' -r -F
complete -c moat -n "__fish_moat_using_subcommand proxy" -l admin -d 'Where /metrics, /livez and /readyz are served' -r
complete -c moat -n "__fish_moat_using_subcommand proxy" -l policy -d 'Policy file; repeatable, all of them are united' -r -F
complete -c moat -n "__fish_moat_using_subcommand proxy" -l dns -d 'Name server, as ADDRESS or ADDRESS:PORT; repeatable' -r
complete -c moat -n "__fish_moat_using_subcommand proxy" -l workers -d 'Worker threads [default: one for each core]' -r
complete -c moat -n "__fish_moat_using_subcommand proxy" -l max-connections -d 'Client connections at a time [default: half of what the descriptor limit allows]' -r
complete -c moat -n "__fish_moat_using_subcommand proxy" -l head-timeout -d 'How long a request head, a SOCKS handshake or a TLS hello may take from its first byte' -r
complete -c moat -n "__fish_moat_using_subcommand proxy" -l dns-timeout -d 'How long looking up one name may take' -r
complete -c moat -n "__fish_moat_using_subcommand proxy" -l connect-timeout -d 'How long connecting may take, over all addresses of a name' -r
complete -c moat -n "__fish_moat_using_subcommand proxy" -l idle-timeout -d 'How long a connection may be silent in both directions' -r
complete -c moat -n "__fish_moat_using_subcommand proxy" -l drain -d 'How long SIGTERM waits for open connections before it cuts them' -r
complete -c moat -n "__fish_moat_using_subcommand proxy" -l audit -d 'Where records go: a file, `-` for standard output, or `off` [default: audit.jsonl in the state directory]' -r
complete -c moat -n "__fish_moat_using_subcommand proxy" -l audit-on-failure -d 'What an allowed request gets when its record cannot be kept' -r -f -a "deny\t'It is refused with 503'
continue\t'It goes on; the loss is counted'"
complete -c moat -n "__fish_moat_using_subcommand proxy" -l metrics-hosts -d 'How many host names metrics may carry as labels' -r
complete -c moat -n "__fish_moat_using_subcommand proxy" -l log-format -d 'The shape of log lines on standard error' -r -f -a "text\t'One line of words'
json\t'One JSON object a line'"
complete -c moat -n "__fish_moat_using_subcommand proxy" -l observe -d 'Let through what only the default or an `ask` refuses, and record it as not enforced'
complete -c moat -n "__fish_moat_using_subcommand proxy" -l recheck -d 'Cut open tunnels and exchanges that a new policy refuses'
complete -c moat -n "__fish_moat_using_subcommand proxy" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c moat -n "__fish_moat_using_subcommand status" -l pid -d 'Only the proxy with this process id' -r
complete -c moat -n "__fish_moat_using_subcommand status" -l json -d 'Print one JSON object for each proxy, with its counters'
complete -c moat -n "__fish_moat_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c moat -n "__fish_moat_using_subcommand test" -l policy -d 'The same as FILE, as other commands spell it; repeatable' -r -F
complete -c moat -n "__fish_moat_using_subcommand test" -l json -d 'Print one JSON object for each test'
complete -c moat -n "__fish_moat_using_subcommand test" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c moat -n "__fish_moat_using_subcommand why" -l code -d 'Explain the code of a policy finding instead, such as `P006`' -r
complete -c moat -n "__fish_moat_using_subcommand why" -l json -d 'Print one JSON object'
complete -c moat -n "__fish_moat_using_subcommand why" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c moat -n "__fish_moat_using_subcommand generate; and __fish_seen_subcommand_from completions" -f -a "bash elvish fish powershell zsh"
complete -c moat -n "__fish_moat_using_subcommand preset; and __fish_seen_subcommand_from show" -f -a "alpine anthropic anthropic/telemetry arch aws azure bazel bedrock bitbucket blocklist-exfil bun cocoapods codeberg composer conda copilot copilot/telemetry crates crates/publish debian debian/optional default deno dockerhub dockerhub/optional docs dotnet ecr-public elm fedora gcp gcr ghcr github-actions github-read github-read/optional github-releases gitlab go go/optional google-ai gradle haskell hex homebrew huggingface julia k8s k8s/optional lean llm-other lua maven maven/optional mcr nix node-cdn npm npm/optional nuget nuget/tenant ocaml openai perl pki playwright pnpm pub pypi pytorch pytorch/optional quay r rhel rubygems rubygems/optional rustup sigstore sourcehut swift terraform ubuntu ubuntu/optional uv vscode vscode/tenant yarn zig"
complete -c moat -n "__fish_moat_using_subcommand preset; and __fish_seen_subcommand_from explain" -f -a "alpine anthropic anthropic/telemetry arch aws azure bazel bedrock bitbucket blocklist-exfil bun cocoapods codeberg composer conda copilot copilot/telemetry crates crates/publish debian debian/optional default deno dockerhub dockerhub/optional docs dotnet ecr-public elm fedora gcp gcr ghcr github-actions github-read github-read/optional github-releases gitlab go go/optional google-ai gradle haskell hex homebrew huggingface julia k8s k8s/optional lean llm-other lua maven maven/optional mcr nix node-cdn npm npm/optional nuget nuget/tenant ocaml openai perl pki playwright pnpm pub pypi pytorch pytorch/optional quay r rhel rubygems rubygems/optional rustup sigstore sourcehut swift terraform ubuntu ubuntu/optional uv vscode vscode/tenant yarn zig"
