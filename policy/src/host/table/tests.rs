use std::num::NonZero;

use super::row::{Row, Rows};

#[test]
fn a_row_is_one_cache_line() {
    assert_eq!(size_of::<Row<(NonZero<u32>, u32)>>(), 64);
}

#[test]
fn short_and_long_texts_are_found_by_themselves_alone() {
    let text = |length: usize| "x".repeat(length);
    let mut rows: Rows<u32> = Rows::new();
    for length in (0..=256).step_by(2) {
        rows.row(&text(length)).exact = u32::try_from(length).ok();
    }
    let rows = rows.map(|globs| globs, |place| Some(place + 1));
    for length in 0..=256 {
        let found = rows.find(text(length).as_bytes()).and_then(|row| row.exact);
        let want = (length % 2 == 0).then_some(length + 1);
        assert_eq!(found.map(|place| place as usize), want);
    }
}
