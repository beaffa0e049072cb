use std::rc::Rc;
use std::sync::Arc;

use super::Visit;
use crate::metrics::Door;
use crate::metrics::gather::Gatherer;
use crate::testing;

#[test]
fn a_panic_in_one_connection_is_counted_and_ends_no_other() {
    let (worker, _records) = testing::worker(testing::policy(&["a.test"]), testing::config(), &[]);
    let place = || worker.shared.connections.enter(0).unwrap();
    let faulty = Visit::begin(&worker, Door::Tcp, place());
    let other = Visit::begin(&worker, Door::Tcp, place());
    testing::local(async move {
        let faulty = tokio::task::spawn_local(async move {
            let _visit = faulty;
            panic!("a fault");
        });
        assert!(faulty.await.unwrap_err().is_panic());
        assert_eq!(Rc::clone(&other.worker).shared.connections.open(), 1);
        drop(other);
    });
    let gatherer = Gatherer::new(Arc::clone(&worker.shared)).unwrap();
    let text = String::from_utf8(gatherer.text().unwrap()).unwrap();
    assert!(text.contains("\nmoat_panics_total 1\n"), "{text}");
    assert!(text.contains("\nmoat_connections_active 0\n"), "{text}");
}
