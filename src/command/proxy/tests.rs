use super::*;

#[test]
fn each_listener_has_a_line_that_scripts_can_wait_for() {
    let bound = Bound {
        listeners: vec![
            ListenAddress::Tcp("127.0.0.1:3128".parse().unwrap()),
            ListenAddress::Tls("[::1]:3129".parse().unwrap()),
            ListenAddress::Unix("/run/moat.sock".into()),
        ],
        admin: Some("127.0.0.1:9128".parse().unwrap()),
    };
    insta::assert_snapshot!(listening(&bound).join("\n"), @"
    listening on http://127.0.0.1:3128
    listening on https://[::1]:3129
    listening on unix:/run/moat.sock
    admin on http://127.0.0.1:9128
    ");
}

#[test]
fn each_client_has_room_for_two_descriptors() {
    assert_eq!(connections_within(1_024), 480);
    assert_eq!(connections_within(0), 1);
    assert_eq!(connections_within(u64::MAX), 100_000);
}

#[test]
fn whose_fault_it_is_decides_the_exit_code() {
    let broken = BindError::Policy(moat_proxy::LoadError("broken".to_owned()));
    let why = Problem::usage("there is no policy file `x`");
    let policy = cannot_bind(&broken, Some(why));
    assert_eq!(policy.exit(), Exit::Usage);
    insta::assert_snapshot!(policy.plain(), @"error: there is no policy file `x`");
    assert_eq!(cannot_bind(&broken, None).exit(), Exit::Usage);

    let unwritable = BindError::Audit {
        path: "/var/log/moat".to_owned(),
        source: ErrorKind::PermissionDenied.into(),
    };
    let record = cannot_bind(&unwritable, None);
    assert_eq!(record.exit(), Exit::Usage);
    insta::assert_snapshot!(record.plain(), @"
    error: cannot write the record to `/var/log/moat`: permission denied
    hint: name another file with `--audit FILE`, or write it to standard output with `--audit -`
    ");

    let taken = BindError::Listen {
        address: ListenAddress::Tcp("127.0.0.1:3128".parse().unwrap()),
        source: ErrorKind::AddrInUse.into(),
    };
    let address = cannot_bind(&taken, None);
    assert_eq!(address.exit(), Exit::Failed);
    insta::assert_snapshot!(address.plain(), @"
    error: cannot listen on `http://127.0.0.1:3128`: address in use
    hint: another program listens there; `moat status` shows your proxies that run, `--listen` and `--admin` take another address, and port 0 picks a free one
    ");
}
