use std::net::{IpAddr, Ipv4Addr};

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::{Key, MAX_IDLE, MAX_PER_KEY, MAX_TOTAL, Pool, Upstream};
use crate::client::ClientStream;
use crate::testing::{self, local};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn pool() -> Pool {
    let (worker, _) = testing::worker(testing::policy(&["a.test"]), testing::config(), &[]);
    worker.pool.clone()
}

fn key(host: &str, generation: u64) -> Key {
    Key {
        target: testing::target(host),
        generation,
    }
}

/// A connection that is ready, and the origin's end of it.
async fn upstream() -> (Upstream, TcpStream) {
    let (near, far) = testing::client().await;
    let ClientStream::Tcp(near) = near else {
        panic!("a client by TCP");
    };
    let mut upstream = Upstream::new(near, HERE).await.unwrap();
    upstream.ready().await;
    (upstream, far)
}

#[test]
fn finds_a_connection_only_under_its_key_and_a_checked_address() {
    local(async {
        let pool = pool();
        let (upstream, _far) = upstream().await;
        pool.give_back(key("a.test:80", 1), upstream);
        assert!(pool.take(&key("b.test:80", 1), |_| true).is_none());
        assert!(pool.take(&key("a.test:81", 1), |_| true).is_none());
        assert!(pool.take(&key("a.test:80", 2), |_| true).is_none());
        assert!(pool.take(&key("a.test:80", 1), |one| one != HERE).is_none());
        assert!(pool.take(&key("a.test:80", 1), |one| one == HERE).is_some());
        assert!(pool.take(&key("a.test:80", 1), |_| true).is_none());
        assert_eq!(pool.len(), 0);
    });
}

#[test]
fn never_gives_out_a_connection_that_the_origin_has_closed() {
    local(async {
        let pool = pool();
        let (upstream, far) = upstream().await;
        pool.give_back(key("a.test:80", 1), upstream);
        drop(far);
        // The connection's own task sees the end before this one goes on twice.
        while pool.len() > 0 {
            tokio::task::yield_now().await;
            let taken = pool.take(&key("a.test:80", 1), |_| false);
            assert!(taken.is_none());
        }
    });
}

#[test]
fn keeps_no_more_than_its_limits() {
    local(async {
        let pool = pool();
        let mut far = Vec::new();
        for _ in 0..=MAX_PER_KEY {
            let (upstream, end) = upstream().await;
            far.push(end);
            pool.give_back(key("a.test:80", 1), upstream);
        }
        assert_eq!(pool.len(), MAX_PER_KEY);
        for number in 0..MAX_TOTAL {
            let (upstream, end) = upstream().await;
            far.push(end);
            pool.give_back(key(&format!("n{number}.test:80"), 1), upstream);
        }
        assert_eq!(pool.len(), MAX_TOTAL);
    });
}

#[test]
fn closes_what_has_waited_too_long() {
    // With the clock paused, time goes on to the next timer whenever nothing else can happen.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let start = Instant::now();
        let pool = pool();
        let (upstream, mut far) = upstream().await;
        pool.give_back(key("a.test:80", 1), upstream);
        assert_eq!(far.read(&mut [0]).await.unwrap(), 0);
        assert!(start.elapsed() >= MAX_IDLE);
        assert_eq!(pool.len(), 0);
    });
}
