use super::*;

fn render_json(json: &str) -> String {
    render(&serde_json::from_str(json).unwrap())
}

#[test]
fn each_event_is_one_line() {
    insta::assert_snapshot!(render_json(r#"{"v":1,"ts":"2026-01-01T00:00:00.000001Z","seq":1,"id":"K7Q2FXMA","event":"decision","protocol":"connect","host":"denied.test","port":443,"effect":"deny","enforced":true,"cause":"policy","status":403,"rule":"denied","source":"policy.yaml:9"}"#), @"2026-01-01T00:00:00.000001Z K7Q2FXMA deny connect denied.test:443 cause=policy rule=denied at=policy.yaml:9 status=403");
    insta::assert_snapshot!(render_json(r#"{"v":1,"ts":"2026-01-01T00:00:00.000001Z","seq":2,"id":"K7Q2FXMB","event":"decision","protocol":"http","method":"GET","host":"new.test","port":80,"effect":"deny","enforced":false,"cause":"default"}"#), @"2026-01-01T00:00:00.000001Z K7Q2FXMB deny(UNENFORCED) http GET new.test:80 cause=default");
    insta::assert_snapshot!(render_json(r#"{"v":1,"ts":"2026-01-01T00:00:00.000001Z","seq":3,"id":"K7Q2FXMC","event":"decision","protocol":"unknown","host":null,"enforced":true,"cause":"malformed","status":400}"#), @"2026-01-01T00:00:00.000001Z K7Q2FXMC refuse unknown - cause=malformed status=400");
    insta::assert_snapshot!(render_json(r#"{"v":1,"ts":"2026-01-01T00:00:00.000001Z","seq":4,"id":"K7Q2FXMD","event":"close","protocol":"connect","host":"2001:db8::1","port":443,"address":"2001:db8::1","enforced":true,"cause":"done","bytes_up":517,"bytes_down":4096,"duration_ms":12,"ended_by":"client"}"#), @"2026-01-01T00:00:00.000001Z K7Q2FXMD close connect [2001:db8::1]:443 cause=done address=2001:db8::1 up=517 down=4096 took=12ms");
    insta::assert_snapshot!(render_json(r#"{"v":1,"ts":"2026-01-01T00:00:00.000001Z","seq":5,"id":"K7Q2FXME","event":"reload","host":null,"enforced":true,"cause":"policy","reason":"unknown key"}"#), @"2026-01-01T00:00:00.000001Z K7Q2FXME reload cause=policy (unknown key)");
    insta::assert_snapshot!(render_json(r#"{"v":1,"ts":"2026-01-01T00:00:00.000001Z","seq":1,"id":"K7Q2FXMF","event":"start","host":null,"enforced":true,"cause":"done","reason":"moat 0.1.0"}"#), @"2026-01-01T00:00:00.000001Z K7Q2FXMF start (moat 0.1.0)");
    insta::assert_snapshot!(render_json(r#"{"v":1,"ts":"2026-01-01T00:00:00.000001Z","seq":2,"id":"K7Q2FXMG","event":"reload","host":null,"enforced":true,"cause":"malformed","reason":"p.yaml:2:1: one\np.yaml:3:1: two"}"#), @"2026-01-01T00:00:00.000001Z K7Q2FXMG reload cause=malformed (p.yaml:2:1: one; p.yaml:3:1: two)");
}

#[test]
fn every_value_is_one_word() {
    insta::assert_snapshot!(render_json(r#"{"v":1,"ts":"2026-01-01T00:00:00.000001Z","seq":1,"id":"K7Q2FXMF","event":"decision","protocol":"connect","host":"docs.rs","port":443,"effect":"allow","enforced":true,"cause":"policy","rule":"a \"b\" \\c","source":"built-in default:8"}"#), @r#"2026-01-01T00:00:00.000001Z K7Q2FXMF allow connect docs.rs:443 cause=policy rule="a \"b\" \\c" at="built-in default:8""#);
}
