//! Too many, too slow, too varied.

use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::bed;
use crate::support::client::Client;
use crate::support::wait::{pace, wait_for};

const GOOD: &str = "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n";

/// Beginnings of what every door waits for the rest of, and what is said at the limit.
const UNFINISHED: [(&[u8], &[u8]); 5] = [
    (
        b"GET http://allowed.test/ HTTP/1.1\r\nX: ",
        b"HTTP/1.1 408 ",
    ),
    (b"CONNECT allowed.test:443 HTTP/1.1\r\n", b"HTTP/1.1 408 "),
    (b"G", b"HTTP/1.1 408 "),
    (&[5], b""),
    (&[5, 1, 0, 5, 1, 0, 3, 12], &[5, 0]),
];

#[test]
fn unfinished_heads_end_at_their_limit_and_delay_nobody() {
    bed(|bed| {
        let moat = bed.moat().flag("--head-timeout", "3s").start();
        let before = moat.descriptors();
        let start = Instant::now();
        let mut slow: Vec<Client> = (0..500).map(|_| moat.dial()).collect();
        moat.count(slow.len());
        for (client, (head, _)) in slow.iter_mut().zip(UNFINISHED.iter().cycle()) {
            client.send(head);
        }
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let good = scope.spawn(|| {
                let mut served = 0;
                while !ended.load(Ordering::Relaxed) {
                    let begin = Instant::now();
                    assert_eq!(moat.get("allowed.test/").status(), 200);
                    assert!(begin.elapsed() < Duration::from_millis(500));
                    served += 1;
                    pace(Duration::from_millis(20));
                }
                served
            });
            for (client, (head, said)) in slow.iter_mut().zip(UNFINISHED.iter().cycle()) {
                let (rest, _) = client.rest();
                assert!(rest.starts_with(said), "{head:?}: {rest:?}");
            }
            ended.store(true, Ordering::Relaxed);
            assert!(good.join().unwrap() > 30);
        });
        let took = start.elapsed();
        assert!(
            took > Duration::from_millis(2900) && took < Duration::from_secs(5),
            "{took:?}"
        );
        drop(slow);
        wait_for("the descriptors", || {
            (moat.descriptors() < before + 50).then_some(())
        });
        moat.finish();
    });
}

#[test]
fn a_head_that_comes_slowly_ends_at_the_same_limit() {
    bed(|bed| {
        let moat = bed.moat().flag("--head-timeout", "1s").start();
        moat.count(1);
        let mut client = moat.dial();
        let start = Instant::now();
        client.send("GET http://allowed.test/ HTTP/1.1\r\n");
        while start.elapsed() < Duration::from_millis(1300) {
            client.send("X: y\r\n");
            pace(Duration::from_millis(50));
        }
        client.send("Host: allowed.test\r\n\r\n");
        let (said, _) = client.rest();
        assert!(said.starts_with(b"HTTP/1.1 408 "), "{said:?}");
        moat.finish();
    });
}

#[test]
fn running_out_of_descriptors_is_survived() {
    bed(|bed| {
        let moat = bed.moat().descriptors(128).start();
        let held: Vec<_> = (0..400)
            .map(|_| TcpStream::connect(moat.address()))
            .collect();
        pace(Duration::from_millis(200));
        let lines = moat.log().lines().count();
        let before = moat.processor_time();
        pace(Duration::from_secs(5));
        let used = moat.processor_time() - before;
        assert!(used < 25, "{used} ticks of 500 in five seconds");
        let said = moat.log().lines().count() - lines;
        assert!(said <= 15, "{said} lines in five seconds:\n{}", moat.log());
        drop(held);
        let begin = Instant::now();
        wait_for("service", || {
            let answer = Client::dial(moat.address()).send(GOOD).answer_or_end()?;
            moat.count(1);
            (answer.status() == 200).then_some(())
        });
        assert!(begin.elapsed() < Duration::from_secs(1));
        moat.finish();
    });
}

#[test]
fn the_soft_limit_of_descriptors_is_raised() {
    bed(|bed| {
        let moat = bed.moat().soft_descriptors(64).start();
        let path = format!("/proc/{}/limits", moat.pid().as_raw_nonzero());
        let limits = std::fs::read_to_string(path).unwrap();
        let line = limits
            .lines()
            .find(|line| line.starts_with("Max open files"))
            .unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[3], words[4], "{line}");
        moat.finish();
    });
}

#[test]
fn refused_names_grow_neither_metrics_nor_memory() {
    bed(|bed| {
        let moat = bed.moat().flag("--metrics-hosts", "10").start();
        // Most on one connection that is kept, so that the case takes seconds.
        let ask = |from: usize, to: usize| {
            let mut kept = moat.dial();
            for at in from..to {
                let host = format!("r{at}.denied.test");
                match at % 10 {
                    0 => assert_eq!(moat.connect(&format!("{host}:443")), 403),
                    1 => assert_eq!(moat.socks(&host, 443), 2),
                    _ => {
                        moat.count(1);
                        kept.send(format!(
                            "GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"
                        ));
                        assert_eq!(kept.answer().status(), 403);
                    }
                }
            }
        };
        ask(0, 2000);
        let lines = moat.admin_get("/metrics").text().lines().count();
        let memory = moat.resident();
        ask(2000, 20_000);
        let metrics = moat.admin_get("/metrics").text();
        assert_eq!(metrics.lines().count(), lines);
        assert!(!metrics.contains("denied.test"), "{metrics}");
        let grown = moat.resident().saturating_sub(memory);
        assert!(grown < 4096, "{grown} KiB more");
        assert_eq!(bed.dns.queries(), []);
        // Reading that many records as JSON takes longer than writing them.
        let file = bed.directory().join("audit.jsonl");
        wait_for("the records", || {
            let lines = std::fs::read_to_string(&file).unwrap();
            (lines.matches("\"event\":\"decision\"").count() == 20_000).then_some(())
        });
        moat.finish();
    });
}

#[test]
fn one_connection_too_many_is_told_to_come_back() {
    bed(|bed| {
        let moat = bed.moat().flag("--max-connections", "4").start();
        let held: Vec<_> = (0..4).map(|_| moat.tunnel("svc.allowed.test:7")).collect();
        assert!(held.iter().all(|(answer, _)| answer.status() == 200));
        // No request was read, so there is no record.
        let answer = moat.dial().send(GOOD).answer();
        assert_eq!(answer.status(), 503, "{}", answer.head);
        assert!(answer.header("retry-after").is_some(), "{}", answer.head);
        drop(held);
        wait_for("room", || {
            let answer = moat.dial().send(GOOD).answer_or_end()?;
            (answer.status() == 200).then(|| moat.count(1))
        });
        moat.finish();
    });
}

#[test]
fn many_tunnels_carry_at_once() {
    bed(|bed| {
        let moat = bed.moat().start();
        let mut clients: Vec<_> = (0..200)
            .map(|_| moat.tunnel("svc.allowed.test:7").1)
            .collect();
        for (at, client) in clients.iter_mut().enumerate() {
            client.send(format!("{at:08}"));
        }
        for (at, client) in clients.iter_mut().enumerate() {
            assert_eq!(client.exactly(8), format!("{at:08}").as_bytes());
        }
        drop(clients);
        moat.finish();
    });
}
