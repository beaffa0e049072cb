//! A changed policy takes its place while the proxy runs; a broken one does not.

use std::fs::{File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Signal;

use crate::support::client::End;
use crate::support::moat::{base_policy, policy_with};
use crate::support::origin::After;
use crate::support::wait::{pace, wait_for};
use crate::support::{Moat, bed};

#[test]
fn a_signal_puts_the_new_policy_in_force() {
    bed(|bed| {
        let moat = bed.moat().start();
        assert_eq!(moat.connect("later.test:443"), 403);
        moat.write_policy(&policy_with(&["allowed.test", "later.test"]));
        moat.reload();
        assert_eq!(moat.connect("later.test:443"), 200);
        assert_eq!(moat.connect("other-allowed.test:443"), 403);
        moat.finish();
    });
}

#[test]
fn a_saved_file_is_noticed_without_a_signal() {
    bed(|bed| {
        let moat = bed.moat().start();
        moat.write_policy(&policy_with(&["allowed.test", "later.test"]));
        moat.wait_record("reload", |_| true);
        assert_eq!(moat.connect("later.test:443"), 200);
        // As an editor saves: another file takes the name.
        let beside = bed.write("policy.new", policy_with(&["allowed.test", "latest.test"]));
        std::fs::rename(beside, &moat.policy).unwrap();
        wait_for("the second reload", || {
            (moat.connect("latest.test:443") == 200).then_some(())
        });
        assert_eq!(moat.connect("later.test:443"), 403);
        moat.finish();
    });
}

#[test]
fn a_swapped_link_is_noticed() {
    bed(|bed| {
        bed.write("map/..one/policy.yaml", base_policy());
        bed.write(
            "map/..two/policy.yaml",
            policy_with(&["allowed.test", "later.test"]),
        );
        let map = bed.directory().join("map");
        symlink("..one", map.join("..data")).unwrap();
        symlink("..data/policy.yaml", map.join("policy.yaml")).unwrap();
        let moat = bed.moat().policy_file(&map.join("policy.yaml")).start();
        assert_eq!(moat.connect("later.test:443"), 403);
        symlink("..two", map.join("..new")).unwrap();
        std::fs::rename(map.join("..new"), map.join("..data")).unwrap();
        moat.wait_record("reload", |_| true);
        assert_eq!(moat.connect("later.test:443"), 200);
        moat.finish();
    });
}

/// What every door says of a host on no list and of an allowed one.
fn holds(moat: &Moat, step: &str) {
    for (host, connect, socks) in [("denied.test", 403, 2), ("allowed.test", 200, 0)] {
        assert_eq!(moat.connect(&format!("{host}:443")), connect, "{step}");
        assert_eq!(moat.get(&format!("{host}/")).status(), connect, "{step}");
        assert_eq!(moat.socks(host, 443), socks, "{step}");
    }
}

fn failures(moat: &Moat) -> f64 {
    moat.metric("moat_policy_reload_failures_total")
}

/// The lines of the log that say that a policy did not load.
fn errors(moat: &Moat) -> Vec<String> {
    let log = moat.log();
    let errors = log.lines().filter(|line| line.contains("ERROR"));
    errors.map(str::to_owned).collect()
}

#[test]
fn a_broken_file_keeps_the_old_policy_and_says_so() {
    bed(|bed| {
        let moat = bed.moat().allow(&["allowed.test"]).start();
        let good = policy_with(&["allowed.test"]);
        let broken: [(&str, &dyn Fn(), &str); 3] = [
            (
                "broken",
                &|| moat.write_policy("allow: [a.test\n"),
                "policy.yaml:2:1: error[P001]",
            ),
            (
                "gone",
                &|| std::fs::remove_file(&moat.policy).unwrap(),
                "there is no policy file",
            ),
            ("empty", &|| moat.write_policy(""), "the file is empty"),
        ];
        assert!(failures(&moat).abs() < 0.5);
        for (at, (step, change, said)) in (1_u32..).zip(broken) {
            change();
            moat.reload();
            holds(&moat, step);
            // One error, however long the file stays like that.
            pace(Duration::from_millis(300));
            let errors = errors(&moat);
            assert_eq!(errors.len(), usize::try_from(at).unwrap(), "{errors:?}");
            let last = errors.last().unwrap();
            assert!(last.contains(said), "{step}: {last}");
            assert!(last.contains("the one before stays in force"), "{last}");
            assert!((failures(&moat) - f64::from(at)).abs() < 0.5, "{step}");
            let record = moat
                .records()
                .into_iter()
                .rfind(|one| one["event"] == "reload");
            let record = record.unwrap();
            assert_eq!(record["cause"], "malformed", "{record}");
            assert!(
                record["reason"].as_str().unwrap().contains(said),
                "{record}"
            );
            let ready = moat.admin_get("/readyz");
            assert_eq!(ready.status(), 200);
            assert!(ready.text().contains(said), "{step}: {}", ready.text());
        }
        moat.write_policy(&good.replace("id: names", "id: names\n    reason: another"));
        moat.reload();
        holds(&moat, "another reason");
        assert!((failures(&moat) - 3.0).abs() < 0.5);
        assert_eq!(errors(&moat).len(), 3);
        assert!(!moat.admin_get("/readyz").text().contains("failed"));
        moat.finish();
    });
}

#[test]
fn what_takes_the_place_of_the_file_is_no_policy() {
    bed(|bed| {
        let moat = bed.moat().allow(&["allowed.test"]).start();
        let file = moat.policy.as_path();
        let path = file.to_str().unwrap();
        let open = policy_with(&["*"]);
        let beside = bed.write("open.yaml", &open);
        let states: [(&str, &dyn Fn()); 10] = [
            ("a directory", &|| std::fs::create_dir(file).unwrap()),
            ("a pipe", &|| {
                assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
            }),
            ("a dangling link", &|| symlink("gone.yaml", file).unwrap()),
            ("a circle", &|| symlink("policy.yaml", file).unwrap()),
            ("a device", &|| symlink("/dev/null", file).unwrap()),
            ("anybody's file", &|| {
                std::fs::write(file, &open).unwrap();
                std::fs::set_permissions(file, Permissions::from_mode(0o666)).unwrap();
            }),
            ("a link through anybody's folder", &|| {
                let shared = bed.directory().join("shared");
                std::fs::create_dir_all(&shared).unwrap();
                std::fs::set_permissions(&shared, Permissions::from_mode(0o777)).unwrap();
                std::fs::copy(&beside, shared.join("open.yaml")).unwrap();
                symlink("shared/open.yaml", file).unwrap();
            }),
            ("bytes", &|| std::fs::write(file, [0xff; 100]).unwrap()),
            ("the first half", &|| {
                std::fs::write(file, &open.as_bytes()[..open.len() / 2]).unwrap();
            }),
            ("another version", &|| {
                std::fs::write(file, open.replace("version: 1", "version: 2")).unwrap();
            }),
        ];
        for (at, (step, change)) in (1_u32..).zip(states) {
            let kept = bed.directory().join("kept.yaml");
            std::fs::rename(file, &kept).unwrap();
            change();
            moat.reload();
            holds(&moat, step);
            assert_eq!(errors(&moat).len(), usize::try_from(at).unwrap(), "{step}");
            // What was there comes back, and needs no reload to hold.
            if file.is_dir() {
                std::fs::remove_dir(file).unwrap();
            }
            std::fs::rename(&kept, file).unwrap();
            moat.signal(Signal::HUP);
            wait_for("readiness without an error", || {
                let text = moat.admin_get("/readyz").text();
                (!text.contains("failed")).then_some(())
            });
        }
        moat.finish();
    });
}

/// Ways in which programs save, by what they do to the file.
type Save = fn(&Path, &str);

const SAVES: [(&str, Save); 8] = [
    ("in place", |file, text| std::fs::write(file, text).unwrap()),
    ("in pieces", |file, text| {
        let mut file = File::create(file).unwrap();
        for part in text.as_bytes().chunks(40) {
            file.write_all(part).unwrap();
            pace(Duration::from_millis(20));
        }
    }),
    ("beside it and over it", |file, text| {
        let new = file.with_extension("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, file).unwrap();
    }),
    ("the old one becomes a backup", |file, text| {
        let backup = file.with_extension("yaml~");
        std::fs::rename(file, &backup).unwrap();
        std::fs::write(file, text).unwrap();
        std::fs::remove_file(backup).unwrap();
    }),
    ("removed and made anew", |file, text| {
        std::fs::remove_file(file).unwrap();
        pace(Duration::from_millis(20));
        std::fs::write(file, text).unwrap();
    }),
    ("a link to another file", |file, text| {
        let other = file.with_extension("other");
        std::fs::write(&other, text).unwrap();
        std::fs::remove_file(file).unwrap();
        symlink(other.file_name().unwrap(), file).unwrap();
    }),
    ("through the link", |file, text| {
        std::fs::write(file, text).unwrap();
    }),
    ("over the link", |file, text| {
        let new = file.with_extension("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, file).unwrap();
    }),
];

#[test]
fn a_file_is_noticed_however_it_is_saved_and_never_half() {
    bed(|bed| {
        let moat = bed.moat().start();
        for (at, (way, save)) in SAVES.iter().enumerate() {
            let own = format!("way{at}.test");
            // In the first half of this text `mal.test` is allowed.
            let text = policy_with(&["allowed.test", "mal.test", &own]);
            save(&moat.policy, &text);
            wait_for(way, || {
                assert_eq!(moat.connect("mal.test:443"), 403, "{way}");
                (moat.connect(&format!("{own}:443")) == 200).then_some(())
            });
            holds(&moat, way);
        }
        assert!(failures(&moat).abs() < 0.5, "{:?}", errors(&moat));
        moat.finish();
    });
}

#[test]
fn a_file_that_is_replaced_while_it_is_read_is_one_or_the_other() {
    bed(|bed| {
        let moat = bed.moat().start();
        let texts = ["one.test", "two.test"].map(|name| policy_with(&["allowed.test", name]));
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for text in texts.iter().cycle() {
                    let beside = bed.write("policy.new", text);
                    std::fs::rename(beside, &moat.policy).unwrap();
                    if ended.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
            for _ in 0..30 {
                moat.signal(Signal::HUP);
                holds(&moat, "a storm");
            }
            ended.store(true, Ordering::Relaxed);
        });
        assert!(failures(&moat).abs() < 0.5, "{:?}", errors(&moat));
        assert!(moat.metric("moat_policy_generation") > 2.0);
        moat.finish();
    });
}

#[test]
fn an_open_tunnel_outlives_a_policy_that_refuses_it() {
    bed(|bed| {
        let moat = bed.moat().start();
        let (_, mut client) = moat.tunnel("svc.allowed.test:7");
        moat.write_policy(&policy_with(&["allowed.test"]));
        moat.reload();
        assert_eq!(moat.connect("svc.allowed.test:7"), 403);
        assert_eq!(client.send("still here").exactly(10), b"still here");
        moat.finish();
    });
}

#[test]
fn recheck_cuts_what_the_new_policy_refuses() {
    bed(|bed| {
        let moat = bed.moat().switch("--recheck").start();
        let (_, mut refused) = moat.tunnel("svc.allowed.test:7");
        let (_, mut kept) = moat.tunnel("127.0.0.2:7");
        moat.write_policy(&policy_with(&["allowed.test"]));
        moat.reload();
        assert_eq!(refused.rest().1, End::Reset);
        assert_eq!(kept.send("still here").exactly(10), b"still here");
        moat.finish();
    });
}

/// The base policy, and a way to paths below one of `paths.test`.
fn with_path(path: &str) -> String {
    let entry = format!(
        "version: 1\nallow:\n  - id: paths\n    net: [{{host: paths.test, methods: [GET], \
         paths: [\"{path}/**\"]}}]\n"
    );
    base_policy().replacen("version: 1\nallow:\n", &entry, 1)
}

#[test]
fn recheck_holds_a_websocket_to_the_method_and_path_that_it_began_with() {
    bed(|bed| {
        bed.dns.set("paths.test", "A 127.0.0.2");
        bed.origins.on("/o/ws", |stream, _| {
            let answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
                          Connection: Upgrade\r\n\r\n";
            let _ = stream.write_all(answer.as_bytes());
            let mut frame = [0; 5];
            while stream.read_exact(&mut frame).is_ok() && stream.write_all(&frame).is_ok() {}
            After::Close
        });
        let moat = bed
            .moat()
            .switch("--recheck")
            .policy(&with_path("/o"))
            .start();
        moat.count(1);
        let mut client = moat.dial();
        client.send(
            "GET http://paths.test/o/ws HTTP/1.1\r\nHost: paths.test\r\n\
             Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        );
        assert_eq!(client.answer().status(), 101);
        moat.write_policy(&with_path("/o").replace("id: paths", "id: same"));
        moat.reload();
        assert_eq!(moat.connect("denied.test:443"), 403);
        assert_eq!(client.send("frame").exactly(5), b"frame");
        moat.write_policy(&with_path("/p"));
        moat.reload();
        client.rest();
        moat.finish();
    });
}

#[test]
fn recheck_cuts_a_download_that_the_new_policy_refuses() {
    bed(|bed| {
        bed.origins.on("/long", |stream, _| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
            let _ = stream.read(&mut [0]);
            After::Close
        });
        let moat = bed.moat().switch("--recheck").start();
        moat.count(1);
        let mut client = moat.dial();
        client.send("GET http://svc.allowed.test/long HTTP/1.1\r\nHost: svc.allowed.test\r\n\r\n");
        let mut start = Vec::new();
        while !start.ends_with(b"half") {
            start.extend(client.exactly(1));
        }
        moat.write_policy(&policy_with(&["allowed.test"]));
        moat.reload();
        assert!(client.rest().0.is_empty());
        let close = moat.wait_record("close", |record| record["cause"] == "shutdown");
        assert_eq!(close["ended_by"], "moat", "{close}");
        moat.finish();
    });
}

#[test]
fn a_policy_that_does_not_load_stops_the_start() {
    bed(|bed| {
        bed.write("broken.yaml", "allow: [a.test\n");
        bed.write("empty.yaml", "");
        std::fs::create_dir(bed.directory().join("folder.yaml")).unwrap();
        symlink("missing.yaml", bed.directory().join("dangling.yaml")).unwrap();
        for name in ["missing", "broken", "empty", "folder", "dangling"] {
            let file = format!("{name}.yaml");
            let listen = ["--listen", "127.0.0.1:3128", "--audit", "audit.jsonl"];
            let said = bed.command(&[&["proxy", "--policy", &file], &listen[..]].concat());
            assert_eq!(said.code, 64, "{said:?}");
            assert!(said.stderr.contains(&file), "{said:?}");
            assert!(!format!("{said:?}").contains("listening"), "{said:?}");
            assert!(!bed.directory().join("audit.jsonl").exists(), "{name}");
        }
    });
}
