use super::*;

fn running(listeners: &[&str]) -> Running {
    Running {
        pid: 7,
        started: String::new(),
        start_ticks: None,
        version: String::new(),
        listeners: listeners.iter().map(|&text| text.to_owned()).collect(),
        admin: None,
        record: None,
        policy: Vec::new(),
        observe: false,
    }
}

fn exports(shell: Shell) -> String {
    let lines: Vec<_> = variables("http://127.0.0.1:3128")
        .iter()
        .map(|(name, value)| shell.export(name, value))
        .collect();
    lines.join("\n")
}

#[test]
fn each_shell_gets_its_own_words() {
    insta::assert_snapshot!(exports(Shell::Sh), @"
    export ALL_PROXY='http://127.0.0.1:3128'
    export HTTPS_PROXY='http://127.0.0.1:3128'
    export HTTP_PROXY='http://127.0.0.1:3128'
    export NODE_USE_ENV_PROXY='1'
    export NO_PROXY='localhost,127.0.0.1,::1'
    export all_proxy='http://127.0.0.1:3128'
    export http_proxy='http://127.0.0.1:3128'
    export https_proxy='http://127.0.0.1:3128'
    export no_proxy='localhost,127.0.0.1,::1'
    ");
    insta::assert_snapshot!(exports(Shell::Fish), @"
    set -gx ALL_PROXY 'http://127.0.0.1:3128'
    set -gx HTTPS_PROXY 'http://127.0.0.1:3128'
    set -gx HTTP_PROXY 'http://127.0.0.1:3128'
    set -gx NODE_USE_ENV_PROXY '1'
    set -gx NO_PROXY 'localhost,127.0.0.1,::1'
    set -gx all_proxy 'http://127.0.0.1:3128'
    set -gx http_proxy 'http://127.0.0.1:3128'
    set -gx https_proxy 'http://127.0.0.1:3128'
    set -gx no_proxy 'localhost,127.0.0.1,::1'
    ");
    insta::assert_snapshot!(exports(Shell::Csh), @"
    setenv ALL_PROXY 'http://127.0.0.1:3128'
    setenv HTTPS_PROXY 'http://127.0.0.1:3128'
    setenv HTTP_PROXY 'http://127.0.0.1:3128'
    setenv NODE_USE_ENV_PROXY '1'
    setenv NO_PROXY 'localhost,127.0.0.1,::1'
    setenv all_proxy 'http://127.0.0.1:3128'
    setenv http_proxy 'http://127.0.0.1:3128'
    setenv https_proxy 'http://127.0.0.1:3128'
    setenv no_proxy 'localhost,127.0.0.1,::1'
    ");
    insta::assert_snapshot!(
        serde_json::to_string(&variables("http://127.0.0.1:3128")).unwrap(),
        @r#"{"ALL_PROXY":"http://127.0.0.1:3128","HTTPS_PROXY":"http://127.0.0.1:3128","HTTP_PROXY":"http://127.0.0.1:3128","NODE_USE_ENV_PROXY":"1","NO_PROXY":"localhost,127.0.0.1,::1","all_proxy":"http://127.0.0.1:3128","http_proxy":"http://127.0.0.1:3128","https_proxy":"http://127.0.0.1:3128","no_proxy":"localhost,127.0.0.1,::1"}"#
    );
}

#[test]
fn a_value_cannot_end_its_quotes() {
    let value = r"a'b\c!d$(e)`f`";
    insta::assert_snapshot!(Shell::Sh.export("A", value), @r"export A='a'\''b\c!d$(e)`f`'");
    insta::assert_snapshot!(Shell::Fish.export("A", value), @r"set -gx A 'a\'b\\c!d$(e)`f`'");
    insta::assert_snapshot!(Shell::Csh.export("A", value), @r"setenv A 'a'\''b\c\!d$(e)`f`'");
}

#[test]
fn plain_tcp_is_preferred_and_reached_on_loopback() {
    let running = running(&[
        "unix:/run/moat.sock",
        "https://[::]:3129",
        "http://0.0.0.0:3128",
    ]);
    assert_eq!(proxy_url(&running).unwrap(), "http://127.0.0.1:3128");
}

#[test]
fn a_proxy_without_a_port_has_no_variables() {
    let problem = proxy_url(&running(&["unix:/run/moat.sock"])).unwrap_err();
    insta::assert_snapshot!(problem.plain(), @"
    error: proxy 7 listens on no TCP port, and variables cannot name a Unix socket
    hint: start it with `--listen 127.0.0.1:3128` too
    ");
}
