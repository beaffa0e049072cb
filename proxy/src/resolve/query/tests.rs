use std::time::Duration;

use hickory_resolver::proto::rr::rdata::{A, CNAME};
use hickory_resolver::proto::rr::{Name, RData, Record};

use super::super::{Answer, Failure};
use super::{Family, MAX_ALIASES, combine, follow};

/// What becomes of these records as the only answer.
pub(crate) fn follow_all(asked: &str, records: &[Record]) -> Answer {
    let (addresses, ttl) = follow(&Name::from_ascii(asked).unwrap(), records).unwrap();
    let one = Family {
        addresses: Ok(addresses),
        ttl,
    };
    combine(one, Family::failed(Failure::NoAddress)).answer
}

fn chain(length: usize) -> Vec<Record> {
    let at = |n: usize| Name::from_ascii(format!("n{n}.test.")).unwrap();
    let mut records: Vec<Record> = (0..length)
        .map(|n| Record::from_rdata(at(n), 30, RData::CNAME(CNAME(at(n + 1)))))
        .collect();
    let data = RData::A(A::new(192, 0, 2, 1));
    records.push(Record::from_rdata(at(length), 60, data));
    records
}

#[test]
fn a_chain_of_aliases_ends_at_its_limit_with_the_least_ttl() {
    let asked = Name::from_ascii("N0.test.").unwrap();
    let (addresses, ttl) = follow(&asked, &chain(MAX_ALIASES)).unwrap();
    assert_eq!(
        addresses,
        ["192.0.2.1".parse::<std::net::IpAddr>().unwrap()]
    );
    assert_eq!(ttl, Duration::from_secs(30));
    let longer = follow(&asked, &chain(MAX_ALIASES + 1));
    assert_eq!(longer, Err(Failure::Aliases));
}

#[test]
fn a_circle_of_aliases_ends() {
    let at = |text| Name::from_ascii(text).unwrap();
    let alias = |from, to| Record::from_rdata(at(from), 60, RData::CNAME(CNAME(at(to))));
    let records = [alias("a.test.", "b.test."), alias("b.test.", "a.test.")];
    assert_eq!(follow(&at("a.test."), &records), Err(Failure::Aliases));
    assert_eq!(follow(&at("c.test."), &records), Err(Failure::NoAddress));
}

#[test]
fn not_knowing_counts_more_than_knowing_that_there_is_none() {
    for (one, other, said) in [
        (Failure::NoAddress, Failure::TimedOut, Failure::TimedOut),
        (Failure::Servers, Failure::NoSuchName, Failure::Servers),
        (Failure::NoSuchName, Failure::NoAddress, Failure::NoSuchName),
    ] {
        let found = combine(Family::failed(one), Family::failed(other));
        assert_eq!(found.answer, Err(said));
    }
}
