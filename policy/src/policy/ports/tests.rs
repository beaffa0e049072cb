use super::{Cell, NONE, PortTable, PortTableBuilder};
use crate::entry::parse_ports;
use crate::port::{Port, PortSet};

fn deny(rank: u32) -> Cell {
    Cell {
        deny: rank,
        ..Cell::EMPTY
    }
}

fn allow(rank: u32) -> Cell {
    Cell {
        allow: rank,
        ..Cell::EMPTY
    }
}

fn ports(text: &str) -> PortSet {
    parse_ports(text).unwrap()
}

fn ranks(table: &PortTable, map: super::Answer, port: u16) -> Option<(u32, u32)> {
    let (cell, _) = table.find(map, Port::from_number(port).unwrap());
    let cell = cell?;
    Some((cell.deny, cell.allow))
}

#[test]
fn every_port_has_the_lowest_rank_of_each_kind() {
    let mut builder = PortTableBuilder::default();
    let (all, web, low, last) = (ports("*"), ports("80,443"), ports("1-100"), ports("65535"));
    let map = builder.file(&[
        (allow(7), &all),
        (allow(3), &web),
        (deny(5), &low),
        (deny(4), &last),
        (allow(9), &low),
    ]);
    let table = builder.build();
    assert_eq!(ranks(&table, map, 1), Some((5, 7)));
    assert_eq!(ranks(&table, map, 80), Some((5, 3)));
    assert_eq!(ranks(&table, map, 101), Some((NONE, 7)));
    assert_eq!(ranks(&table, map, 443), Some((NONE, 3)));
    assert_eq!(ranks(&table, map, 65535), Some((4, 7)));
}

#[test]
fn keys_with_the_same_ports_share_their_cut() {
    let mut builder = PortTableBuilder::default();
    let web = PortSet::web();
    let maps: Vec<_> = (0..100)
        .map(|rank| builder.file(&[(allow(rank), &web)]))
        .collect();
    let table = builder.build();
    assert_eq!(table.cuts.len(), 1);
    for (rank, map) in (0..).zip(maps) {
        assert_eq!(ranks(&table, map, 443), Some((NONE, rank)));
        assert_eq!(ranks(&table, map, 444), None);
    }
}

#[test]
fn a_hundred_thousand_entries_of_one_key_are_as_many_intervals_as_there_are_ports() {
    let mut builder = PortTableBuilder::default();
    let sets: Vec<PortSet> = (0..100_000_u32)
        .map(|n| ports(&(n % 60_000 + 1).to_string()))
        .collect();
    let entries: Vec<_> = (0..).map(allow).zip(&sets).collect();
    let map = builder.file(&entries);
    let table = builder.build();
    assert_eq!(ranks(&table, map, 60_000), Some((NONE, 59_999)));
    assert_eq!(ranks(&table, map, 1), Some((NONE, 0)));
    assert_eq!(ranks(&table, map, 60_001), None);
}
