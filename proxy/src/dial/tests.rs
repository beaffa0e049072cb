use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use moat_policy::record::Cause;
use tokio::time::Instant;

use super::race::{self, Lost};
use super::refusal;

const LIMIT: Duration = Duration::from_secs(3);

fn address(n: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, n], 443))
}

/// How an attempt at an address goes, in a world where time jumps.
#[derive(Clone, Copy)]
enum Goes {
    Connects(u64),
    Fails(u64),
    Hangs,
}

/// Runs a race and gives who won or what was lost, after how many milliseconds, and when each
/// attempt began.
fn run(goes: &[Goes]) -> (Result<u8, Lost>, u128, Vec<u128>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::time::pause();
        let begun = Instant::now();
        let starts = RefCell::new(Vec::new());
        let connect = |address: SocketAddr| -> Pin<Box<dyn Future<Output = io::Result<()>>>> {
            starts.borrow_mut().push(begun.elapsed().as_millis());
            let n = match address.ip() {
                std::net::IpAddr::V4(ip) => ip.octets()[3],
                std::net::IpAddr::V6(_) => 0,
            };
            let goes = goes[usize::from(n)];
            Box::pin(async move {
                let (after, result) = match goes {
                    Goes::Connects(after) => (after, Ok(())),
                    Goes::Fails(after) => (after, Err(io::ErrorKind::ConnectionRefused.into())),
                    Goes::Hangs => (u64::from(u32::MAX), Ok(())),
                };
                tokio::time::sleep(Duration::from_millis(after)).await;
                result
            })
        };
        let addresses: Vec<_> = (0..goes.len())
            .map(|n| address(u8::try_from(n).unwrap()))
            .collect();
        let won = race::run(&addresses, connect, LIMIT).await;
        let won = won.map(|((), address)| match address.ip() {
            std::net::IpAddr::V4(ip) => ip.octets()[3],
            std::net::IpAddr::V6(_) => 0,
        });
        (won, begun.elapsed().as_millis(), starts.take())
    })
}

#[test]
fn the_first_address_that_connects_wins() {
    let (won, took, starts) = run(&[Goes::Connects(10), Goes::Connects(0)]);
    assert_eq!((won.unwrap(), starts), (0, vec![0]));
    assert!(took <= 12);
}

#[test]
fn an_address_that_hangs_costs_a_quarter_of_a_second() {
    let (won, took, _) = run(&[Goes::Hangs, Goes::Connects(5)]);
    assert_eq!(won.unwrap(), 1);
    assert!((250..300).contains(&took), "{took}");
}

#[test]
fn a_failure_starts_the_next_attempt_at_once() {
    let (won, took, starts) = run(&[Goes::Hangs, Goes::Fails(0), Goes::Connects(1)]);
    assert_eq!(won.unwrap(), 2);
    assert_eq!(starts.len(), 3);
    assert!(took < 300, "{took}");
}

#[test]
fn a_slow_first_address_may_still_win() {
    let (won, took, _) = run(&[Goes::Connects(400), Goes::Hangs]);
    assert_eq!(won.unwrap(), 0);
    assert!(took < 450, "{took}");
}

#[test]
fn one_limit_holds_for_all_addresses() {
    let (won, took, _) = run(&[Goes::Hangs, Goes::Hangs, Goes::Hangs, Goes::Hangs]);
    let lost = won.unwrap_err();
    assert!((3000..3050).contains(&took), "{took}");
    let told = refusal(&lost);
    assert_eq!((told.cause, told.status), (Cause::Timeout, 504));
}

#[test]
fn all_failures_end_at_once_with_the_first_of_them() {
    let (won, took, _) = run(&[Goes::Fails(1), Goes::Fails(1)]);
    assert_eq!(won.unwrap_err().address, address(0));
    assert!(took < 50, "{took}");
}

#[test]
fn an_errno_becomes_a_cause_and_a_status() {
    use rustix::io::Errno;
    let of = |errno: Errno| {
        let told = refusal(&Lost::new(address(1), errno.into()));
        assert_eq!(told.address, Some(address(1).ip()));
        (told.cause, told.status)
    };
    assert_eq!(of(Errno::CONNREFUSED), (Cause::Connect, 502));
    assert_eq!(of(Errno::NETUNREACH), (Cause::Connect, 502));
    assert_eq!(of(Errno::TIMEDOUT), (Cause::Timeout, 504));
    assert_eq!(of(Errno::MFILE), (Cause::Limit, 503));
    assert_eq!(of(Errno::ADDRNOTAVAIL), (Cause::Limit, 503));
}
