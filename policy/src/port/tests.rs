use super::{Port, PortSet};

fn port(number: u16) -> Port {
    Port::from_number(number).unwrap()
}

#[test]
fn parses_only_plain_decimal_ports() {
    for (text, want) in [("1", 1), ("80", 80), ("443", 443), ("65535", 65535)] {
        assert_eq!(Port::parse(text).map(Port::number), Some(want), "{text}");
    }
    for text in [
        "", "0", "00", "080", "+80", "-1", "65536", "99999", "8 0", "0x50", "８０",
    ] {
        assert_eq!(Port::parse(text), None, "{text}");
    }
}

#[test]
fn merges_ranges_that_touch_or_overlap() {
    let set = PortSet::from_ranges([
        (port(90), port(95)),
        (port(22), port(22)),
        (port(80), port(89)),
        (port(93), port(99)),
        (port(5), port(4)),
    ]);
    assert_eq!(set.to_string(), "22,80-99");
    assert!(set.contains(port(22)) && set.contains(port(80)) && set.contains(port(99)));
    assert!(!set.contains(port(21)) && !set.contains(port(100)) && !set.contains(port(4)));
}

#[test]
fn a_set_covers_what_lies_within_single_ranges_of_it() {
    let set = |ranges: &[(u16, u16)]| {
        PortSet::from_ranges(ranges.iter().map(|&(low, high)| (port(low), port(high))))
    };
    let wide = set(&[(22, 22), (80, 99), (443, 443)]);
    assert!(wide.covers(&set(&[])) && wide.covers(&wide));
    assert!(wide.covers(&set(&[(22, 22), (85, 99)])));
    for (low, high) in [
        (21, 22),
        (22, 23),
        (79, 80),
        (99, 100),
        (90, 443),
        (444, 444),
    ] {
        assert!(!wide.covers(&set(&[(low, high)])), "{low}-{high}");
    }
    assert!(PortSet::all().covers(&wide) && !wide.covers(&PortSet::all()));
}

#[test]
fn the_whole_range_is_written_as_a_star() {
    assert_eq!(PortSet::all().to_string(), "*");
    assert_eq!(
        PortSet::from_ranges([(port(1), port(u16::MAX))]),
        PortSet::all()
    );
    assert!(PortSet::default().is_empty());
}
