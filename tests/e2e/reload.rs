//! A changed policy takes its place while the proxy runs; a broken one does not.

use std::os::unix::fs::symlink;

use crate::support::bed;
use crate::support::client::End;
use crate::support::moat::{base_policy, policy_with};
use crate::support::wait::wait_for;

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

#[test]
fn a_broken_file_keeps_the_old_policy_and_says_so() {
    bed(|bed| {
        let moat = bed.moat().allow(&["allowed.test"]).start();
        let good = policy_with(&["allowed.test"]);
        let failures = |expected: f64| {
            assert!((moat.metric("moat_policy_reload_failures_total") - expected).abs() < 0.5);
        };
        let still_the_old_one = |step: &str| {
            assert_eq!(moat.connect("denied.test:443"), 403, "{step}");
            assert_eq!(moat.connect("allowed.test:443"), 200, "{step}");
        };
        failures(0.0);
        moat.write_policy("allow: [a.test\n");
        moat.reload();
        still_the_old_one("broken");
        assert!(moat.metric("moat_policy_reload_failures_total") >= 1.0);
        assert!(moat.log().contains("policy.yaml"), "{}", moat.log());
        let ready = moat.admin_get("/readyz");
        assert_eq!(ready.status(), 200);
        assert!(ready.text().contains("policy"), "{}", ready.text());
        std::fs::remove_file(&moat.policy).unwrap();
        moat.reload();
        still_the_old_one("gone");
        moat.write_policy("");
        moat.reload();
        still_the_old_one("empty");
        assert!(moat.metric("moat_policy_reload_failures_total") >= 3.0);
        moat.write_policy(&good.replace("id: names", "id: names\n    reason: another"));
        moat.reload();
        still_the_old_one("another reason");
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

#[test]
fn a_missing_policy_stops_the_start() {
    bed(|bed| {
        let arguments = [
            "proxy",
            "--policy",
            "missing.yaml",
            "--listen",
            "127.0.0.1:0",
        ];
        let said = bed.command(&arguments);
        assert_eq!(said.code, 64, "{said:?}");
        assert!(said.stderr.contains("missing.yaml"), "{said:?}");
        assert!(!said.stdout.contains("listening"), "{said:?}");
    });
}
