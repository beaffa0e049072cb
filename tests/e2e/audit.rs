//! The record: what it holds, and what happens when it cannot be written.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::support::bed;
use crate::support::wait::wait_for;

#[test]
fn a_decision_says_who_asked_for_what_and_why_it_was_so() {
    bed(|bed| {
        let moat = bed.moat().start();
        assert_eq!(moat.connect("mal.test:443"), 403);
        let record = moat.decision("mal.test");
        for (field, value) in [
            ("protocol", "connect"),
            ("effect", "deny"),
            ("cause", "policy"),
            ("rule", "denied"),
            ("method", "CONNECT"),
        ] {
            assert_eq!(record[field], value, "{field} of {record}");
        }
        assert_eq!(record["v"], 1);
        assert_eq!(record["port"], 443);
        assert_eq!(record["status"], 403);
        assert_eq!(record["enforced"], true);
        let source = record["source"].as_str().unwrap();
        assert!(source.contains("policy.yaml:9"), "{source}");
        let time = record["ts"].as_str().unwrap();
        assert!(
            time.ends_with('Z') && time.len() == "2026-11-30T22:00:00.000000Z".len(),
            "{time}"
        );
        let mode = bed
            .directory()
            .join("audit.jsonl")
            .metadata()
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        moat.finish();
    });
}

#[test]
fn a_close_shares_the_id_and_counts_the_bytes() {
    bed(|bed| {
        let moat = bed.moat().start();
        let (_, mut client) = moat.tunnel("svc.allowed.test:7");
        client.send("twelve bytes").half_close();
        client.rest();
        let close = moat.wait_record("close", |record| record["host"] == "svc.allowed.test");
        assert_eq!(close["id"], moat.decision("svc.allowed.test")["id"]);
        assert_eq!(close["bytes_up"], 12, "{close}");
        assert_eq!(close["bytes_down"], 12, "{close}");
        assert!(close["duration_ms"].is_u64(), "{close}");
        moat.finish();
    });
}

#[test]
fn a_record_holds_no_content() {
    bed(|bed| {
        let moat = bed.moat().start();
        let answer = moat.raw(
            "POST http://allowed.test/s3cr3t-path?q=s3cr3t-query HTTP/1.1\r\nHost: allowed.test\r\n\
             X-Token: s3cr3t-header\r\nUser-Agent: s3cr3t-agent\r\nContent-Length: 11\r\n\r\n\
             s3cr3t-body",
        );
        assert_eq!(answer.status(), 200);
        moat.decision("allowed.test");
        let records = format!("{:?}", moat.records());
        let metrics = moat.admin_get("/metrics").text();
        for text in [records, metrics, moat.log()] {
            assert!(!text.contains("s3cr3t"), "{text}");
        }
        moat.finish();
    });
}

/// A request in which somebody hides what moves a terminal's cursor, by position.
const HOSTILE: [(&str, u16); 9] = [
    ("CONNECT a\x1b[2Kb.test:443 HTTP/1.1\r\n\r\n", 400),
    (
        "CONNECT allowed.test:443 HTTP/1.1\r\nHost: a\x1b[2Kb.test\r\n\r\n",
        400,
    ),
    (
        "GET http://allowed.test/\x1b]0;owned\x07 HTTP/1.1\r\nHost: allowed.test\r\n\
         User-Agent: a\x1b[31m\tb\r\n\r\n",
        400,
    ),
    (
        "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nUser-Agent: a\x1b[31m\tb\r\n\r\n",
        400,
    ),
    (
        "GET http://a\x1b[2Kb.test/ HTTP/1.1\r\nHost: a\r\n\r\n",
        400,
    ),
    (
        "GET http://allowed.test/ HTTP/1.1\r\nHost: \x1b[2K\r\n\r\n",
        400,
    ),
    (
        "GET http://allowed.test/ HTTP/1.1\r\n\x1b[2K: x\r\n\r\n",
        400,
    ),
    ("\x1b[2KGET http://allowed.test/ HTTP/1.1\r\n\r\n", 400),
    (
        "GET http://allowed.test/\u{9b}2K\u{202e} HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
        200,
    ),
];

#[test]
fn control_bytes_never_reach_a_line() {
    bed(|bed| {
        let moat = bed.moat().start();
        for (request, status) in HOSTILE {
            assert_eq!(moat.raw(request).status(), status, "{request:?}");
        }
        assert_eq!(moat.socks("a\x1b[2Kb.test", 443), 1);
        let hello = bed.authority.hello("a0000b.test");
        let place = hello.windows(4).position(|four| four == b"0000");
        let mut hostile = hello;
        hostile[place.unwrap()..][..4].copy_from_slice(b"\x1b[2K");
        let head = b"GET / HTTP/1.1\r\nHost: a\x1b[2Kb.test\r\n\r\n".to_vec();
        for (port, inside, cause) in [(80, head, "host"), (443, hostile, "sni")] {
            let (_, mut tunnel) = moat.tunnel(&format!("allowed.test:{port}"));
            tunnel.send(inside).rest();
            moat.wait_record("close", |record| record["cause"] == cause);
        }
        assert_eq!(bed.origins.requests().len(), 1);
        let sent = HOSTILE.len() + 3;
        let ids = || {
            let records = moat.records().into_iter();
            let decisions = records.filter(|one| one["event"] == "decision");
            let ids = decisions.map(|one| one["id"].as_str().unwrap().to_owned());
            ids.collect::<BTreeSet<_>>()
        };
        wait_for("every decision", || (ids().len() == sent).then_some(()));
        // A record that another program left, in which the control characters are escaped.
        let file = bed.directory().join("audit.jsonl");
        let text = std::fs::read_to_string(&file).unwrap();
        let template = text
            .lines()
            .find(|line| line.contains("allowed.test"))
            .unwrap();
        let other = template.replace("allowed.test", "a\\u001b[2K\\u0007\\u009b\\n.test");
        let other = format!("{other}\nno record \x1b[2K\x07\n");
        bed.write("other.jsonl", other);

        let mut shown = vec![std::fs::read(&file).unwrap(), moat.log().into_bytes()];
        let id = ids().pop_first().unwrap();
        for (words, lines) in [
            (&["log"][..], moat.records().len()),
            (&["log", "audit.jsonl"], moat.records().len()),
            (&["log", "--json", "audit.jsonl"], moat.records().len()),
            (&["log", "other.jsonl"], 1),
            (&["log", "--json", "other.jsonl"], 1),
            (&["why", &id], 1),
            (&["status"], 1),
        ] {
            let said = bed.command(words);
            assert_eq!(said.code, 0, "{words:?}: {said:?}");
            let count = said.stdout.lines().count();
            let exact = words[0] == "log";
            assert!(count == lines || !exact && count > 0, "{words:?}: {said:?}");
            shown.extend([said.stdout.into_bytes(), said.stderr.into_bytes()]);
        }
        for bytes in shown {
            let text = String::from_utf8(bytes).unwrap();
            let raw = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
            assert!(!text.contains(raw), "{text:?}");
        }
        moat.finish();
    });
}

#[test]
fn a_full_file_is_rotated() {
    bed(|bed| {
        let path = bed.directory().join("audit.jsonl");
        let mut file = File::create(&path).unwrap();
        file.set_permissions(std::fs::Permissions::from_mode(0o600))
            .unwrap();
        let line = [b"{\"filler\":\"".as_slice(), &vec![b'x'; 1 << 20], b"\"}\n"].concat();
        for _ in 0..64 {
            file.write_all(&line).unwrap();
        }
        let moat = bed.moat().start();
        assert_eq!(moat.connect("denied.test:443"), 403);
        moat.decision("denied.test");
        let files = || {
            let entries = std::fs::read_dir(bed.directory()).unwrap().flatten();
            let names = entries.map(|entry| entry.file_name().into_string().unwrap());
            names.filter(|name| name.starts_with("audit.jsonl")).count()
        };
        wait_for("a second file", || (files() == 2).then_some(()));
        assert!(path.metadata().unwrap().len() < 1 << 20);
        moat.finish();
    });
}

#[test]
fn a_full_disk_stops_what_is_allowed_and_not_what_is_refused() {
    bed(|bed| {
        let small = bed.directory().join("small");
        std::fs::create_dir(&small).unwrap();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(&small);
        assert!(mount.status().unwrap().success());
        let audit = small.join("audit.jsonl");
        let audit = audit.to_str().unwrap();
        let moat = bed.moat().without_audit().flag("--audit", audit).start();
        let get = || moat.get("allowed.test/").status();
        assert_eq!(get(), 200);
        let mut filler = File::create(small.join("filler")).unwrap();
        while filler.write_all(&[0; 4096]).is_ok() {}
        while filler.write_all(&[0; 1]).is_ok() {}
        wait_for("the record to fail", || (get() == 503).then_some(()));
        assert_eq!(moat.connect("denied.test:443"), 403);
        assert!(moat.metric("moat_audit_failing") > 0.5);
        drop(filler);
        std::fs::remove_file(small.join("filler")).unwrap();
        wait_for("the record to work again", || (get() == 200).then_some(()));
    });
}

#[test]
fn a_full_disk_may_be_allowed_to_lose_records() {
    bed(|bed| {
        let moat = bed
            .moat()
            .without_audit()
            .flag("--audit", "/dev/full")
            .flag("--audit-on-failure", "continue")
            .start();
        for _ in 0..20 {
            assert_eq!(moat.get("allowed.test/").status(), 200);
        }
        wait_for("the failure to show", || {
            (moat.metric("moat_audit_failing") > 0.5).then_some(())
        });
        assert_eq!(moat.connect("denied.test:443"), 403);
    });
}

#[test]
fn records_on_stdout_leave_the_lines_for_scripts_on_stderr() {
    bed(|bed| {
        let moat = bed.moat().without_audit().flag("--audit", "-").start();
        assert_eq!(moat.connect("denied.test:443"), 403);
        wait_for("a record", || {
            moat.log().contains("\"denied.test\"").then_some(())
        });
    });
}

#[test]
fn observing_lets_through_what_no_rule_names_and_says_so() {
    bed(|bed| {
        let moat = bed.moat().switch("--observe").start();
        assert_eq!(moat.connect("denied.test:443"), 200);
        let record = moat.decision("denied.test");
        assert_eq!(record["effect"], "deny", "{record}");
        assert_eq!(record["enforced"], false, "{record}");
        assert_eq!(moat.connect("mal.test:443"), 403);
        assert_eq!(moat.connect("127.0.0.1:443"), 403);
        assert_eq!(moat.connect("[mal.test]:443"), 400);
        assert!(moat.log().contains("UNENFORCED"), "{}", moat.log());
        moat.finish();
    });
}
