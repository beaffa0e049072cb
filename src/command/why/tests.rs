use super::*;
use crate::bed::Bed;

const RECORDS: &str = r#"{"v":1,"ts":"2026-01-01T00:00:00.000001Z","seq":1,"id":"AAAAAAAA","event":"decision","protocol":"connect","actor":{"client":"127.0.0.1:5555"},"host":"denied.test","port":443,"method":"CONNECT","effect":"deny","enforced":true,"cause":"default","status":403}
{"v":1,"ts":"2026-01-01T00:00:01.000000Z","seq":2,"id":"BBBBBBBB","event":"decision","protocol":"socks5","host":"secret.test","port":22,"effect":"deny","enforced":true,"cause":"policy","severity":"warning","status":2,"rule":"denied","source":"/etc/moat/policy.yaml:9"}
{"v":1,"ts":"2026-01-01T00:00:02.000000Z","seq":3,"id":"CCCCCCCC","event":"decision","protocol":"connect","host":"inner.test","port":5432,"effect":"deny","enforced":true,"cause":"guarded","status":403,"address":"fd00::1","reason":"private"}
{"v":1,"ts":"2026-01-01T00:00:03.000000Z","seq":4,"id":"DDDDDDDD","event":"decision","protocol":"connect","host":"up.test","port":443,"effect":"allow","enforced":true,"cause":"policy","rule":"names","source":"policy.yaml:4"}
{"v":1,"ts":"2026-01-01T00:00:04.000000Z","seq":5,"id":"DDDDDDDD","event":"close","protocol":"connect","host":"up.test","port":443,"effect":"allow","enforced":true,"cause":"connect","status":502,"bytes_up":0,"bytes_down":0,"duration_ms":12,"ended_by":"moat"}
{"v":1,"ts":"2026-01-01T00:00:05.000000Z","seq":6,"id":"EEEEEEEE","event":"decision","protocol":"http","host":null,"effect":"deny","enforced":true,"cause":"malformed","status":400}
{"v":1,"ts":"2026-01-01T00:00:06.000000Z","seq":7,"id":"FFFFFFFF","event":"decision","protocol":"connect","host":"many.test","port":443,"effect":"deny","enforced":true,"cause":"guarded","status":403,"address":"224.0.0.1"}
{"v":1,"ts":"2026-01-01T00:00:07.000000Z","seq":8,"id":"GGGGGGGG","event":"decision","protocol":"connect","host":"metadata.google.internal","port":80,"effect":"deny","enforced":true,"cause":"default","status":403}
{"v":1,"ts":"2026-01-01T00:00:08.000000Z","seq":9,"id":"HHHHHHHH","event":"decision","protocol":"connect","host":"64:ff9b::a00:7","port":22,"effect":"deny","enforced":true,"cause":"guarded","status":403}
"#;

fn why(bed: &Bed, id: &str, json: bool) -> (Result<Exit, Problem>, String) {
    let arguments = Arguments {
        id: Some(id.to_owned()),
        code: None,
        json,
    };
    bed.run(|context| run(&arguments, context))
}

fn recorded() -> Bed {
    let bed = Bed::new();
    let (old, new) = RECORDS.split_at(RECORDS.find('\n').unwrap() + 1);
    bed.write("home/.local/state/moat/audit.jsonl.1", old);
    bed.write("home/.local/state/moat/audit.jsonl", new);
    bed
}

#[test]
fn a_refusal_says_what_would_change_it() {
    let bed = recorded();
    insta::assert_snapshot!(why(&bed, "aaaaaaaa", false).1, @"
    AAAAAAAA 2026-01-01T00:00:00.000001Z
    asked    denied.test:443 by connect from 127.0.0.1:5555
    answer   deny, status 403
    cause    no rule matches, so the default holds
    change   `moat allow denied.test` or `moat allow --id AAAAAAAA`
    today    deny  denied.test:443 by default, since no rule matches
    ");
    insta::assert_snapshot!(why(&bed, "BBBBBBBB", false).1, @"
    BBBBBBBB 2026-01-01T00:00:01.000000Z
    asked    secret.test:22 by socks5
    answer   deny, status 2
    cause    a rule of the policy
    rule     `denied` at /etc/moat/policy.yaml:9
    change   only the rule itself at /etc/moat/policy.yaml:9: a deny is absolute, no allow overrules it
    today    deny  secret.test:22 by default, since no rule matches
    ");
    insta::assert_snapshot!(why(&bed, "CCCCCCCC", false).1, @"
    CCCCCCCC 2026-01-01T00:00:02.000000Z
    asked    inner.test:5432 by connect
    answer   deny, status 403
    cause    the address is guarded
    reason   private
    address  fd00::1
    change   an entry for the address, if it may be reached at all: `moat allow [fd00::1]:5432`
    today    deny  inner.test:5432 by default, since no rule matches
    ");
    insta::assert_snapshot!(why(&bed, "FFFFFFFF", false).1, @"
    FFFFFFFF 2026-01-01T00:00:06.000000Z
    asked    many.test:443 by connect
    answer   deny, status 403
    cause    the address is guarded
    address  224.0.0.1
    change   nothing: multicast addresses are never dialled
    today    deny  many.test:443 by default, since no rule matches
    ");
    insta::assert_snapshot!(why(&bed, "EEEEEEEE", false).1, @"
    EEEEEEEE 2026-01-01T00:00:05.000000Z
    asked    something unreadable by http
    answer   deny, status 400
    cause    the client sent what the protocol does not allow
    change   the client has to send it otherwise; no policy lets it pass
    ");
}

#[test]
fn a_way_out_names_every_entry_that_is_needed() {
    let bed = recorded();
    let change = |id| {
        let said = why(&bed, id, false).1;
        let mut lines = said.lines();
        let line = lines.find(|line| line.starts_with("change"));
        line.unwrap_or_default().to_owned()
    };
    assert_eq!(
        change("GGGGGGGG"),
        "change   `moat allow metadata.google.internal 169.254.169.254` or \
         `moat allow --id GGGGGGGG`"
    );
    assert_eq!(
        change("HHHHHHHH"),
        "change   an entry for the address, if it may be reached at all: \
         `moat allow [64:ff9b::a00:7]:22 10.0.0.7:22`"
    );
}

#[test]
fn what_was_allowed_and_failed_says_so() {
    insta::assert_snapshot!(why(&recorded(), "DDDDDDDD", false).1, @"
    DDDDDDDD 2026-01-01T00:00:03.000000Z
    asked    up.test:443 by connect
    answer   allow
    cause    a rule of the policy
    rule     `names` at policy.yaml:4
    DDDDDDDD 2026-01-01T00:00:04.000000Z
    asked    up.test:443 by connect
    ended    after 12 ms, 0 bytes up, 0 bytes down
    cause    no address of the host could be reached
    change   see whether the host is up; the policy allows it
    ");
}

#[test]
fn json_holds_the_records() {
    insta::assert_snapshot!(why(&recorded(), "BBBBBBBB", true).1, @r#"{"id":"BBBBBBBB","records":[{"v":1,"ts":"2026-01-01T00:00:01.000000Z","seq":2,"id":"BBBBBBBB","event":"decision","protocol":"socks5","host":"secret.test","port":22,"effect":"deny","enforced":true,"cause":"policy","severity":"warning","status":2,"rule":"denied","source":"/etc/moat/policy.yaml:9"}],"change":"only the rule itself at /etc/moat/policy.yaml:9: a deny is absolute, no allow overrules it","today":["deny  secret.test:22 by default, since no rule matches"]}"#);
}

#[test]
fn an_id_that_no_record_has_says_where_it_was_searched() {
    let bed = recorded();
    let problem = why(&bed, "ZZZZZZZZ", false).0.unwrap_err();
    assert_eq!(problem.exit(), Exit::Failed);
    insta::assert_snapshot!(bed.hide(&problem.plain()), @"
    error: no record has the id `ZZZZZZZZ`
    hint: searched: home/.local/state/moat/audit.jsonl
    ");
}

#[test]
fn every_code_is_explained() {
    let code = |code: &str, json| {
        let arguments = Arguments {
            id: None,
            code: Some(code.to_owned()),
            json,
        };
        Bed::new().run(|context| run(&arguments, context))
    };
    insta::assert_snapshot!(code("p006", false).1, @"
    A key that is a list, a mapping or an alias.
    Every key of a policy is one plain word.
    ");
    insta::assert_snapshot!(code("moat::P006", true).1, @r#"{"code":"P006","text":"A key that is a list, a mapping or an alias.\nEvery key of a policy is one plain word.\n"}"#);
    insta::assert_snapshot!(code("P999", false).0.unwrap_err().plain(), @"
    error: there is no code `P999`
    hint: codes stand in brackets in what `moat lint` shows, such as `error[P006]`
    ");
}
