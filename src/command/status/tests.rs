use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use super::*;

/// Stands in for an admin listener: answers `/readyz` and `/metrics` once each.
fn admin_listener(ready: String) -> (SocketAddr, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answers = [
        ready,
        "HTTP/1.0 200 OK\r\n\r\nmoat_connections_active 2\nmoat_connections_limit 480\nmoat_policy_generation 1\n"
            .to_owned(),
    ];
    let server = std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                asked.push(byte[0]);
            }
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (address, server)
}

/// The JSON of `/readyz` as a proxy writes it.
fn readyz(status: &str, phase: &str, error: &str) -> String {
    format!(
        "HTTP/1.0 {status}\r\n\r\n{{\"ready\":false,\"phase\":\"{phase}\",\"mode\":\"enforce\",\
         \"policy\":{{\"generation\":1,\"digest\":\"abc\",\"loaded\":\"2026-01-01T00:00:00Z\",\
         \"failures\":2,\"error\":{error}}},\"audit\":{{\"to\":\"file\",\"failing\":{},\
         \"queued\":3,\"written\":40,\"lost\":5}},\"connections\":{{\"open\":2,\"limit\":480}}}}\n",
        error != "null"
    )
}

fn running(admin: Option<SocketAddr>) -> Running {
    Running {
        pid: 7,
        started: "2026-01-01T00:00:00Z".to_owned(),
        start_ticks: None,
        version: "0.1.0".to_owned(),
        listeners: vec!["http://127.0.0.1:3128".to_owned()],
        admin,
        record: Some("/state/audit.jsonl".into()),
        policy: vec!["/config/policy.yaml".into()],
        observe: false,
    }
}

/// The text and the JSON of a status, without the port that a test cannot choose.
fn shown(status: &Status) -> (String, String) {
    let admin = status.admin.clone().unwrap_or_default();
    let text = crate::output::captured(|output| show(status, output));
    let json = serde_json::to_string(status).unwrap();
    if admin.is_empty() {
        return (text, json);
    }
    (
        text.replace(&admin, "http://ADMIN"),
        json.replace(&admin, "http://ADMIN"),
    )
}

#[test]
fn a_ready_proxy_is_shown_with_its_counters() {
    let (address, server) = admin_listener(readyz("200 OK", "running", "null"));
    let status = ask(running(Some(address)));
    server.join().unwrap();
    assert!(status.ready);
    let (text, json) = shown(&status);
    insta::assert_snapshot!(text, @r"
    proxy 7, moat 0.1.0, since 2026-01-01T00:00:00Z
      ready      yes
      listener   http://127.0.0.1:3128
      admin      http://ADMIN
      policy     /config/policy.yaml
                 generation 1, digest abc, loaded 2026-01-01T00:00:00Z, failed reloads: 2
      record     /state/audit.jsonl
                 40 written, 3 waiting, 5 lost
      clients    2 open of 480
    ");
    insta::assert_snapshot!(json, @r#"{"pid":7,"started":"2026-01-01T00:00:00Z","version":"0.1.0","listeners":["http://127.0.0.1:3128"],"admin":"http://ADMIN","record":"/state/audit.jsonl","policy":["/config/policy.yaml"],"enforced":true,"ready":true,"detail":"running","health":{"phase":"running","policy":{"generation":1,"digest":"abc","loaded":"2026-01-01T00:00:00Z","failures":2,"error":null},"audit":{"failing":false,"queued":3,"written":40,"lost":5}},"metrics":{"moat_connections_active":2.0,"moat_connections_limit":480.0,"moat_policy_generation":1.0}}"#);
}

#[test]
fn a_proxy_that_is_not_ready_says_why() {
    let (address, server) = admin_listener(readyz(
        "503 Service Unavailable",
        "draining",
        "\"p.yaml:1:1: one\\np.yaml:2:1: two\"",
    ));
    let status = ask(Running {
        policy: Vec::new(),
        record: None,
        observe: true,
        ..running(Some(address))
    });
    server.join().unwrap();
    assert!(!status.ready);
    insta::assert_snapshot!(shown(&status).0, @r"
    proxy 7, moat 0.1.0, since 2026-01-01T00:00:00Z
      ready      NO: draining
      mode       UNENFORCED: it observes
      listener   http://127.0.0.1:3128
      admin      http://ADMIN
      policy     built-in default
                 generation 1, digest abc, loaded 2026-01-01T00:00:00Z, failed reloads: 2
                 the last reload FAILED, the policy before is in force:
                   p.yaml:1:1: one
                   p.yaml:2:1: two
      record     no file
                 it CANNOT be written; 40 written, 3 waiting, 5 lost
      clients    2 open of 480
    ");
}

#[test]
fn what_does_not_answer_is_not_ready() {
    let status = ask(running(None));
    assert!(!status.ready);
    assert_eq!(status.detail, "it has no admin listener");
}

#[test]
fn what_answers_as_something_else_is_not_ready() {
    let (address, server) = admin_listener("HTTP/1.0 200 OK\r\n\r\nhello\n".to_owned());
    let status = ask(running(Some(address)));
    server.join().unwrap();
    assert!(!status.ready);
    assert_eq!(status.detail, "its answer cannot be read");
}
