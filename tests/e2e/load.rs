//! Too many, too slow, too varied.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::support::client::Client;
use crate::support::wait::{pace, wait_for};
use crate::support::{Moat, bed};

const GOOD: &str = "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n";

#[test]
fn unfinished_heads_end_at_their_limit_and_delay_nobody() {
    bed(|bed| {
        let moat = bed.moat().flag("--head-timeout", "1s").start();
        let start = Instant::now();
        let mut slow: Vec<Client> = (0..500).map(|_| moat.dial()).collect();
        for client in &mut slow {
            client.send("GET http://allowed.test/ HTTP/1.1\r\nX: ");
        }
        for _ in 0..20 {
            let begin = Instant::now();
            assert_eq!(
                Client::dial(moat.address()).send(GOOD).answer().status(),
                200
            );
            assert!(begin.elapsed() < Duration::from_millis(500));
        }
        for client in &mut slow {
            let (said, _) = client.rest();
            assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 408 "));
        }
        let took = start.elapsed();
        assert!(
            took > Duration::from_millis(900) && took < Duration::from_secs(4),
            "{took:?}"
        );
    });
}

#[test]
fn running_out_of_descriptors_is_survived() {
    bed(|bed| {
        let moat = bed.moat().descriptors(128).start();
        let held: Vec<_> = (0..400)
            .map(|_| TcpStream::connect(moat.address()))
            .collect();
        let before = processor_time(&moat);
        pace(Duration::from_secs(1));
        let used = processor_time(&moat) - before;
        assert!(used < 30, "{used} ticks of a hundred in a second");
        assert!(moat.log().lines().count() < 40, "{}", moat.log());
        drop(held);
        let begin = Instant::now();
        wait_for("service", || {
            let answer = Client::dial(moat.address()).send(GOOD).answer_or_end()?;
            (answer.status() == 200).then_some(())
        });
        assert!(begin.elapsed() < Duration::from_secs(1));
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
        let moat = bed.moat().start();
        let mut client = moat.dial();
        let mut ask = |from: usize, to: usize| {
            for at in from..to {
                moat.count(1);
                let host = format!("r{at}.denied.test");
                client.send(format!(
                    "GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"
                ));
                assert_eq!(client.answer().status(), 403);
            }
        };
        ask(0, 1000);
        let lines = moat.admin_get("/metrics").text().lines().count();
        let memory = resident(&moat);
        ask(1000, 6000);
        assert_eq!(moat.admin_get("/metrics").text().lines().count(), lines);
        let grown = resident(&moat).saturating_sub(memory);
        assert!(grown < 4096, "{grown} KiB more");
        moat.finish();
    });
}

#[test]
fn one_connection_too_many_is_told_to_come_back() {
    bed(|bed| {
        let moat = bed.moat().flag("--max-connections", "4").start();
        let held: Vec<_> = (0..4).map(|_| moat.tunnel("svc.allowed.test:7")).collect();
        assert!(held.iter().all(|(answer, _)| answer.status() == 200));
        let answer = Client::dial(moat.address()).send(GOOD).answer();
        assert_eq!(answer.status(), 503, "{}", answer.head);
        assert!(answer.header("retry-after").is_some(), "{}", answer.head);
        drop(held);
        wait_for("room", || {
            let answer = Client::dial(moat.address()).send(GOOD).answer_or_end()?;
            (answer.status() == 200).then_some(())
        });
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

/// Processor time used so far, in hundredths of a second.
fn processor_time(moat: &Moat) -> u64 {
    let stat = format!("/proc/{}/stat", moat.pid().as_raw_nonzero());
    let text = std::fs::read_to_string(stat).unwrap();
    let (_, rest) = text.rsplit_once(')').unwrap();
    let words: Vec<&str> = rest.split_whitespace().collect();
    words[11].parse::<u64>().unwrap() + words[12].parse::<u64>().unwrap()
}

/// Resident memory, in KiB.
fn resident(moat: &Moat) -> u64 {
    let status = format!("/proc/{}/status", moat.pid().as_raw_nonzero());
    let text = std::fs::read_to_string(status).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
