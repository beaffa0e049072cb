use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use moat_policy::host::HostName;
use tokio::time::Instant;

use super::super::{Answer, Failure};
use super::{Cache, HALF};

fn name(n: usize) -> HostName {
    HostName::parse(&format!("n{n}.test")).unwrap()
}

fn found() -> Arc<[IpAddr]> {
    Arc::from(["192.0.2.1".parse::<IpAddr>().unwrap()])
}

/// For how many seconds an answer with this time to live is given.
fn kept(answer: &Answer, ttl: u64) -> u64 {
    let (mut cache, now) = (Cache::default(), Instant::now());
    cache.put(name(0), answer.clone(), Duration::from_secs(ttl), now);
    let holds = |second: &u64| {
        let at = now + Duration::from_secs(*second);
        cache.get(&name(0), at).is_some()
    };
    (0..1000).take_while(holds).count() as u64
}

#[test]
fn a_time_to_live_is_honoured_within_bounds() {
    assert_eq!(kept(&Ok(found()), 60), 60);
    assert_eq!(kept(&Ok(found()), 0), 1);
    assert_eq!(kept(&Ok(found()), 86_400), 300);
}

#[test]
fn a_failure_is_kept_two_seconds_at_most() {
    assert_eq!(kept(&Err(Failure::NoSuchName), 3600), 2);
    assert_eq!(kept(&Err(Failure::Servers), 0), 1);
}

#[test]
fn the_cache_is_bounded_and_keeps_what_is_used() {
    let (mut cache, now) = (Cache::default(), Instant::now());
    for n in 0..HALF * 5 {
        cache.put(name(n), Ok(found()), Duration::from_mins(1), now);
        assert!(cache.get(&name(0), now).is_some(), "after {n}");
        assert!(cache.young.len() + cache.old.len() <= 2 * HALF);
    }
    assert!(cache.get(&name(1), now).is_none());
}
