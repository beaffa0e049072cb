//! One target asked for at every door and judged by every command, since what holds at one of
//! them holds at all.

use std::net::{IpAddr, Ipv6Addr};

use super::client::{Client, socks_name, socks_target};
use super::moat::{Moat, base_policy};
use super::namespace::Bed;

/// A host that every policy of the bed refuses before it looks anything up.
const REFUSED: &str = "mal.test";

impl Moat {
    /// What CONNECT, a plain request, a later request of a connection and SOCKS5 make of a target,
    /// as an HTTP status. They all agree, or the case fails.
    pub(crate) fn everywhere(&self, host: impl AsRef<[u8]>, port: u16) -> u16 {
        let host = host.as_ref();
        let shown = String::from_utf8_lossy(host).into_owned();
        let mut answers = vec![
            ("CONNECT", self.connect_bytes(host, port)),
            ("a request", self.plain(self.dial(), host, port)),
            ("a later request", self.plain(self.later(), host, port)),
        ];
        if u8::try_from(host.len()).is_ok() {
            let code = self.socks_bytes(&socks_name(host, port));
            answers.push(("SOCKS by name", status_of(code)));
        }
        if let Some(address) = literal(&shown) {
            let code = self.socks_bytes(&socks_target(&address.to_string(), port));
            answers.push(("SOCKS by address", status_of(code)));
        }
        let first = answers[0].1;
        let agree = answers.iter().all(|(_, status)| *status == first);
        assert!(agree, "{shown}:{port}: {answers:?}");
        first
    }

    /// The status of a CONNECT to a host that may hold any bytes.
    fn connect_bytes(&self, host: &[u8], port: u16) -> u16 {
        self.count(1);
        let port = format!(":{port}");
        let target = [host, port.as_bytes()].concat();
        let request = [b"CONNECT ", &*target, b" HTTP/1.1\r\nHost: ", &*target];
        let mut client = self.dial();
        client.send(request.concat()).send("\r\n\r\n");
        client.answer_to("CONNECT").status()
    }

    /// The status of a plain request on this connection.
    fn plain(&self, mut client: Client, host: &[u8], port: u16) -> u16 {
        self.count(1);
        let port = if port == 80 {
            String::new()
        } else {
            format!(":{port}")
        };
        let target = [host, port.as_bytes()].concat();
        let request = [b"GET http://", &*target, b"/ HTTP/1.1\r\nHost: ", &*target];
        client.send(request.concat()).send("\r\n\r\n");
        client.answer().status()
    }

    /// A connection on which one request was refused already.
    fn later(&self) -> Client {
        self.count(1);
        let mut client = self.dial();
        let request = format!("GET http://{REFUSED}/ HTTP/1.1\r\nHost: {REFUSED}\r\n\r\n");
        assert_eq!(client.send(request).answer().status(), 403);
        client
    }

    /// The reply code of a SOCKS5 request for a name, whatever its bytes.
    pub(crate) fn socks_by_name(&self, host: impl AsRef<[u8]>, port: u16) -> u8 {
        self.socks_bytes(&socks_name(host.as_ref(), port))
    }

    fn socks_bytes(&self, request: &[u8]) -> u8 {
        self.count(1);
        let mut client = self.dial();
        assert_eq!(client.send([5, 1, 0]).exactly(2), [5, 0]);
        client.send(request).exactly(2)[1]
    }
}

/// The HTTP status that means what a SOCKS5 reply code means.
fn status_of(code: u8) -> u16 {
    match code {
        0 => 200,
        1 => 400,
        2 => 403,
        other => panic!("SOCKS code {other}"),
    }
}

/// The address that a host of an authority is.
fn literal(host: &str) -> Option<IpAddr> {
    let inner = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    match inner {
        Some(inner) => inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse().ok().filter(IpAddr::is_ipv4),
    }
}

impl Bed {
    /// Holds `moat check` and the policy's own `tests:` to the effects of these requests, under
    /// the policy of the last started proxy.
    pub(crate) fn judged(&self, requests: &[(&str, &str)]) {
        for (request, effect) in requests {
            let code = match *effect {
                "allow" => 0,
                "deny" => 2,
                _ => 3,
            };
            assert_eq!(self.check(request), code, "{request}");
        }

        let policy = std::fs::read_to_string(self.directory().join("policy.yaml")).unwrap();
        self.write("tested.yaml", policy + &tests(requests));
        let said = self.command(&["test", "tested.yaml"]);
        assert_eq!(said.code, 0, "{said:?}");
        let held = format!("{} held\n", requests.len());
        assert_eq!(said.stdout, held, "{said:?}");
    }

    /// Makes room for the records of the next proxy.
    pub(crate) fn again(&self) {
        std::fs::remove_file(self.directory().join("audit.jsonl")).unwrap();
    }

    /// None of these is a request: not for `moat check`, not in a policy's own `tests:`.
    pub(crate) fn unreadable(&self, requests: &[&str]) {
        self.write("base.yaml", base_policy());
        let mut check = vec!["check", "--policy", "base.yaml", "--"];
        check.extend(requests);
        let said = self.command(&check);
        assert_eq!(said.code, 64, "{said:?}");
        for request in requests {
            let problem = format!("`{request}` is no request");
            assert!(said.stderr.contains(&problem), "{request}: {said:?}");
        }

        let policy = base_policy();
        let first = policy.lines().count() + 2;
        // As many at once as are shown one by one.
        for some in requests.chunks(20) {
            let rows: Vec<(&str, &str)> = some.iter().map(|request| (*request, "deny")).collect();
            let said = self.refuses(&format!("{policy}{}", tests(&rows)));
            for (at, request) in some.iter().enumerate() {
                let place = format!("loads.yaml:{}:", first + at);
                assert!(said.contains(&place), "{request}: {said}");
            }
        }
    }
}

/// The `tests:` of a policy that say this.
fn tests(requests: &[(&str, &str)]) -> String {
    let rows = requests.iter().map(|(request, effect)| {
        let request = serde_json::to_string(request).unwrap();
        format!("  - {{ request: {request}, expect: {effect} }}\n")
    });
    format!("tests:\n{}", rows.collect::<String>())
}
