_moat() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="moat"
                ;;
            moat,allow)
                cmd="moat__subcmd__allow"
                ;;
            moat,check)
                cmd="moat__subcmd__check"
                ;;
            moat,deny)
                cmd="moat__subcmd__deny"
                ;;
            moat,edit)
                cmd="moat__subcmd__edit"
                ;;
            moat,env)
                cmd="moat__subcmd__env"
                ;;
            moat,generate)
                cmd="moat__subcmd__generate"
                ;;
            moat,lint)
                cmd="moat__subcmd__lint"
                ;;
            moat,log)
                cmd="moat__subcmd__log"
                ;;
            moat,preset)
                cmd="moat__subcmd__preset"
                ;;
            moat,proxy)
                cmd="moat__subcmd__proxy"
                ;;
            moat,status)
                cmd="moat__subcmd__status"
                ;;
            moat,test)
                cmd="moat__subcmd__test"
                ;;
            moat,why)
                cmd="moat__subcmd__why"
                ;;
            moat__subcmd__generate,completions)
                cmd="moat__subcmd__generate__subcmd__completions"
                ;;
            moat__subcmd__generate,man)
                cmd="moat__subcmd__generate__subcmd__man"
                ;;
            moat__subcmd__generate,reference)
                cmd="moat__subcmd__generate__subcmd__reference"
                ;;
            moat__subcmd__generate,schema)
                cmd="moat__subcmd__generate__subcmd__schema"
                ;;
            moat__subcmd__preset,explain)
                cmd="moat__subcmd__preset__subcmd__explain"
                ;;
            moat__subcmd__preset,list)
                cmd="moat__subcmd__preset__subcmd__list"
                ;;
            moat__subcmd__preset,show)
                cmd="moat__subcmd__preset__subcmd__show"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        moat)
            opts="-h -V --help --version allow deny edit check env generate lint log preset proxy status test why"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__allow)
            opts="-h --last --id --preset --port --for --reason --remove --policy --yes --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --id)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --preset)
                    COMPREPLY=($(compgen -W "alpine anthropic anthropic/telemetry arch aws azure bazel bedrock bitbucket blocklist-exfil bun cocoapods codeberg composer conda copilot copilot/telemetry crates crates/publish debian debian/optional default deno dockerhub dockerhub/optional docs dotnet ecr-public elm fedora gcp gcr ghcr github-actions github-read github-read/optional github-releases gitlab go go/optional google-ai gradle haskell hex homebrew huggingface julia k8s k8s/optional lean llm-other lua maven maven/optional mcr nix node-cdn npm npm/optional nuget nuget/tenant ocaml openai perl pki playwright pnpm pub pypi pytorch pytorch/optional quay r rhel rubygems rubygems/optional rustup sigstore sourcehut swift terraform ubuntu ubuntu/optional uv vscode vscode/tenant yarn zig" -- "${cur}"))
                    return 0
                    ;;
                --port)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --for)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --reason)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__check)
            opts="-h --kind --policy --json --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --kind)
                    COMPREPLY=($(compgen -W "net fetch" -- "${cur}"))
                    return 0
                    ;;
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__deny)
            opts="-h --last --id --preset --port --for --reason --remove --policy --yes --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --id)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --preset)
                    COMPREPLY=($(compgen -W "alpine anthropic anthropic/telemetry arch aws azure bazel bedrock bitbucket blocklist-exfil bun cocoapods codeberg composer conda copilot copilot/telemetry crates crates/publish debian debian/optional default deno dockerhub dockerhub/optional docs dotnet ecr-public elm fedora gcp gcr ghcr github-actions github-read github-read/optional github-releases gitlab go go/optional google-ai gradle haskell hex homebrew huggingface julia k8s k8s/optional lean llm-other lua maven maven/optional mcr nix node-cdn npm npm/optional nuget nuget/tenant ocaml openai perl pki playwright pnpm pub pypi pytorch pytorch/optional quay r rhel rubygems rubygems/optional rustup sigstore sourcehut swift terraform ubuntu ubuntu/optional uv vscode vscode/tenant yarn zig" -- "${cur}"))
                    return 0
                    ;;
                --port)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --for)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --reason)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__edit)
            opts="-h --policy --yes --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__env)
            opts="-h --shell --pid --json --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --shell)
                    COMPREPLY=($(compgen -W "sh fish csh" -- "${cur}"))
                    return 0
                    ;;
                --pid)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__generate)
            opts="-h --help man completions schema reference"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__generate__subcmd__completions)
            opts="-h --help bash elvish fish powershell zsh"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__generate__subcmd__man)
            opts="-h --out --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --out)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__generate__subcmd__reference)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__generate__subcmd__schema)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__lint)
            opts="-h --policy --json --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__log)
            opts="-f -h --host --effect --event --id --since --follow --json --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --host)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --effect)
                    COMPREPLY=($(compgen -W "allow deny ask" -- "${cur}"))
                    return 0
                    ;;
                --event)
                    COMPREPLY=($(compgen -W "decision close reload start stop" -- "${cur}"))
                    return 0
                    ;;
                --id)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --since)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__preset)
            opts="-h --help list show explain"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__preset__subcmd__explain)
            opts="-h --json --help alpine anthropic anthropic/telemetry arch aws azure bazel bedrock bitbucket blocklist-exfil bun cocoapods codeberg composer conda copilot copilot/telemetry crates crates/publish debian debian/optional default deno dockerhub dockerhub/optional docs dotnet ecr-public elm fedora gcp gcr ghcr github-actions github-read github-read/optional github-releases gitlab go go/optional google-ai gradle haskell hex homebrew huggingface julia k8s k8s/optional lean llm-other lua maven maven/optional mcr nix node-cdn npm npm/optional nuget nuget/tenant ocaml openai perl pki playwright pnpm pub pypi pytorch pytorch/optional quay r rhel rubygems rubygems/optional rustup sigstore sourcehut swift terraform ubuntu ubuntu/optional uv vscode vscode/tenant yarn zig"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__preset__subcmd__list)
            opts="-h --json --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__preset__subcmd__show)
            opts="-h --json --help alpine anthropic anthropic/telemetry arch aws azure bazel bedrock bitbucket blocklist-exfil bun cocoapods codeberg composer conda copilot copilot/telemetry crates crates/publish debian debian/optional default deno dockerhub dockerhub/optional docs dotnet ecr-public elm fedora gcp gcr ghcr github-actions github-read github-read/optional github-releases gitlab go go/optional google-ai gradle haskell hex homebrew huggingface julia k8s k8s/optional lean llm-other lua maven maven/optional mcr nix node-cdn npm npm/optional nuget nuget/tenant ocaml openai perl pki playwright pnpm pub pypi pytorch pytorch/optional quay r rhel rubygems rubygems/optional rustup sigstore sourcehut swift terraform ubuntu ubuntu/optional uv vscode vscode/tenant yarn zig"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__proxy)
            opts="-h --listen --tls-cert --tls-key --admin --policy --dns --workers --max-connections --head-timeout --dns-timeout --connect-timeout --idle-timeout --drain --audit --audit-on-failure --observe --recheck --metrics-hosts --log-format --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --listen)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --tls-cert)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --tls-key)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --admin)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --dns)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --workers)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --max-connections)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --head-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --dns-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --connect-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --idle-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --drain)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --audit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --audit-on-failure)
                    COMPREPLY=($(compgen -W "deny continue" -- "${cur}"))
                    return 0
                    ;;
                --metrics-hosts)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --log-format)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__status)
            opts="-h --pid --json --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --pid)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__test)
            opts="-h --policy --json --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        moat__subcmd__why)
            opts="-h --code --json --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --code)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _moat -o nosort -o bashdefault -o default moat
else
    complete -F _moat -o bashdefault -o default moat
fi
