use std::net::IpAddr;

use ipnet::IpNet;
use proptest::prelude::{Strategy, any, prop_oneof, proptest};

use super::{Fit, RangeTable};

fn found(table: &RangeTable, address: &str) -> Vec<(u32, Fit)> {
    let mut found = Vec::new();
    table.each(address.parse().unwrap(), |place, fit| {
        found.push((place, fit));
    });
    found
}

#[test]
fn finds_every_range_from_the_widest_to_the_address_itself() {
    let mut table = RangeTable::default();
    for (place, range) in [
        "10.1.2.3/32",
        "0.0.0.0/0",
        "10.0.0.0/8",
        "10.1.2.2/31",
        "10.128.0.0/9",
        "::/0",
        "a01:203::/128",
    ]
    .iter()
    .enumerate()
    {
        let place = u32::try_from(place).unwrap();
        assert_eq!(table.file(&range.parse().unwrap(), place), place, "{range}");
    }
    assert_eq!(table.file(&"10.0.0.0/8".parse().unwrap(), 99), 2);
    let wider = |place| (place, Fit::Wider);
    assert_eq!(
        found(&table, "10.1.2.3"),
        [wider(1), wider(2), wider(3), (0, Fit::Literal)]
    );
    assert_eq!(found(&table, "10.1.2.2"), [wider(1), wider(2), wider(3)]);
    assert_eq!(found(&table, "10.255.0.1"), [wider(1), wider(2), wider(4)]);
    assert_eq!(found(&table, "11.0.0.0"), [wider(1)]);
    assert_eq!(found(&table, "a01:203::"), [wider(5), (6, Fit::Literal)]);
}

/// Addresses and prefixes close to one another, in both families.
fn near() -> impl Strategy<Value = (IpAddr, u8)> {
    let v4 = (any::<u8>(), any::<u8>(), 0..=32_u8)
        .prop_map(|(a, b, length)| (IpAddr::from([10, a & 3, 0, b]), length));
    let v6 = (any::<u8>(), any::<u8>(), 0..=128_u8).prop_map(|(a, b, length)| {
        let mut octets = [0; 16];
        octets[0] = 0x20;
        octets[7] = a & 3;
        octets[15] = b;
        (IpAddr::from(octets), length)
    });
    prop_oneof![v4, v6]
}

proptest! {
    #[test]
    fn agrees_with_asking_every_range(
        ranges in proptest::collection::vec(near(), 0..40),
        addresses in proptest::collection::vec(near(), 1..40),
    ) {
        let ranges: Vec<IpNet> = ranges
            .into_iter()
            .map(|(address, length)| IpNet::new(address, length).unwrap().trunc())
            .collect();
        let mut table = RangeTable::default();
        let places: Vec<u32> = ranges
            .iter()
            .enumerate()
            .map(|(index, range)| table.file(range, u32::try_from(index).unwrap()))
            .collect();
        for (address, _) in addresses {
            let mut want: Vec<u32> = ranges
                .iter()
                .zip(&places)
                .filter(|(range, _)| range.contains(&address))
                .map(|(_, place)| *place)
                .collect();
            want.sort_unstable();
            want.dedup();
            let mut got = Vec::new();
            table.each(address, |place, _| got.push(place));
            got.sort_unstable();
            assert_eq!(got, want);
        }
    }
}
