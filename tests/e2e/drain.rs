//! The end of a proxy.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::bed;
use crate::support::client::End;
use crate::support::wait::wait_for;

#[test]
fn a_drain_lets_open_tunnels_end_and_takes_no_new_ones() {
    bed(|bed| {
        let mut moat = bed.moat().flag("--drain", "30s").start();
        let (_, mut client) = moat.tunnel("svc.allowed.test:7");
        moat.signal(Signal::TERM);
        wait_for("readiness to fail", || {
            (moat.admin_get("/readyz").status() == 503).then_some(())
        });
        wait_for("the listener to close", || {
            TcpStream::connect(moat.address()).err()
        });
        assert_eq!(client.send("still here").exactly(10), b"still here");
        drop(client);
        assert!(moat.wait_exit().success());
        let last = moat.records().pop().unwrap();
        assert_eq!(last["event"], "stop", "{last}");
        moat.wait_record("close", |record| record["host"] == "svc.allowed.test");
    });
}

#[test]
fn a_drain_cuts_what_is_left_at_its_limit() {
    bed(|bed| {
        let mut moat = bed.moat().flag("--drain", "500ms").start();
        let (_, mut client) = moat.tunnel("svc.allowed.test:7");
        let start = Instant::now();
        moat.signal(Signal::TERM);
        assert_eq!(client.rest().1, End::Reset);
        assert!(moat.wait_exit().success());
        let took = start.elapsed();
        assert!(
            took > Duration::from_millis(400) && took < Duration::from_secs(3),
            "{took:?}"
        );
        let close = moat.wait_record("close", |_| true);
        assert_eq!(close["cause"], "shutdown", "{close}");
    });
}

#[test]
fn a_second_signal_ends_at_once() {
    bed(|bed| {
        let mut moat = bed.moat().flag("--drain", "60s").start();
        let (_, mut client) = moat.tunnel("svc.allowed.test:7");
        moat.signal(Signal::TERM);
        wait_for("the listener to close", || {
            TcpStream::connect(moat.address()).err()
        });
        let start = Instant::now();
        moat.signal(Signal::TERM);
        moat.wait_exit();
        assert_eq!(client.rest().1, End::Reset);
        assert!(start.elapsed() < Duration::from_secs(2));
    });
}

#[test]
fn a_drain_under_load_loses_no_request() {
    bed(|bed| {
        let mut moat = bed.moat().flag("--drain", "10s").start();
        let address = moat.address();
        let clients: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(move || {
                    let request = "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n";
                    let mut served = 0;
                    while let Ok(stream) = TcpStream::connect(address) {
                        let mut client = crate::support::client::Client::over(stream);
                        client.send(request);
                        // Once accepted, a request is answered or the socket ends untouched.
                        let Some(answer) = client.answer_or_end() else {
                            break;
                        };
                        assert!([200, 503].contains(&answer.status()), "{}", answer.head);
                        served += 1;
                    }
                    served
                })
            })
            .collect();
        wait_for("some load", || {
            (bed.origins.requests().len() > 50).then_some(())
        });
        moat.signal(Signal::TERM);
        assert!(moat.wait_exit().success());
        let served: usize = clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .sum();
        assert!(served > 50, "{served}");
    });
}
