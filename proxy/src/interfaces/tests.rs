use std::time::Duration;

use super::{Interfaces, changes, read};
use crate::testing::local;

fn holds(interfaces: &Interfaces, address: &str) -> bool {
    interfaces.hold(address.parse().unwrap())
}

#[test]
fn the_addresses_of_this_host_are_known_in_both_spellings() {
    let interfaces = Interfaces::new().unwrap();
    assert!(holds(&interfaces, "127.0.0.1"));
    assert!(holds(&interfaces, "::ffff:127.0.0.1"));
    assert!(!holds(&interfaces, "192.0.2.1"));
    for address in read().unwrap() {
        assert!(interfaces.hold(address), "{address}");
    }
}

#[test]
fn following_begins_with_what_is_true_now() {
    local(async {
        assert!(changes().is_ok());
        let interfaces = Interfaces::new().unwrap();
        interfaces.addresses.store(Vec::new().into());
        assert!(!holds(&interfaces, "127.0.0.1"));
        // It never ends; its first turn is enough.
        let turn = tokio::time::timeout(Duration::from_millis(1), interfaces.follow()).await;
        assert!(turn.is_err());
        assert!(holds(&interfaces, "127.0.0.1"));
    });
}
