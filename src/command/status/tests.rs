use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use super::*;

/// Stands in for an admin listener: answers `/readyz` and `/metrics` once each.
fn admin_listener(ready: &'static str) -> (SocketAddr, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answers = [
        ready,
        "HTTP/1.0 200 OK\r\n\r\nmoat_connections_active 2\nmoat_connections_limit 480\nmoat_policy_generation 1\n",
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
    let (address, server) = admin_listener("HTTP/1.0 200 OK\r\n\r\nready\n");
    let status = ask(running(Some(address)));
    server.join().unwrap();
    assert!(status.ready);
    let (text, json) = shown(&status);
    insta::assert_snapshot!(text, @"
    proxy 7, moat 0.1.0, since 2026-01-01T00:00:00Z
      ready      yes
      listener   http://127.0.0.1:3128
      admin      http://ADMIN
      policy     /config/policy.yaml
      record     /state/audit.jsonl
      clients    2 open of 480
    ");
    insta::assert_snapshot!(json, @r#"{"pid":7,"started":"2026-01-01T00:00:00Z","version":"0.1.0","listeners":["http://127.0.0.1:3128"],"admin":"http://ADMIN","record":"/state/audit.jsonl","policy":["/config/policy.yaml"],"enforced":true,"ready":true,"detail":"ready","metrics":{"moat_connections_active":2.0,"moat_connections_limit":480.0,"moat_policy_generation":1.0}}"#);
}

#[test]
fn a_proxy_that_is_not_ready_says_why() {
    let (address, server) =
        admin_listener("HTTP/1.0 503 Service Unavailable\r\n\r\nreload failed\nline 2\n");
    let status = ask(Running {
        policy: Vec::new(),
        record: None,
        observe: true,
        ..running(Some(address))
    });
    server.join().unwrap();
    assert!(!status.ready);
    insta::assert_snapshot!(shown(&status).0, @"
    proxy 7, moat 0.1.0, since 2026-01-01T00:00:00Z
      ready      NO: reload failed
                 line 2
      mode       UNENFORCED: it observes
      listener   http://127.0.0.1:3128
      admin      http://ADMIN
      policy     built-in default
      record     no file
      clients    2 open of 480
    ");
}

#[test]
fn what_does_not_answer_is_not_ready() {
    let status = ask(running(None));
    assert!(!status.ready);
    assert_eq!(status.detail, "it has no admin listener");
}
