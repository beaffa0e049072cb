use std::rc::Rc;

use super::Drain;

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

#[test]
fn tells_those_who_wait_and_those_who_come_late() {
    block_on(async {
        let drain = Drain::default();
        let waiting = drain.begun();
        tokio::pin!(waiting);
        tokio::select! {
            biased;
            () = &mut waiting => panic!("nothing has begun"),
            () = std::future::ready(()) => {}
        }
        drain.begin();
        waiting.await;
        drain.begun().await;
        assert!(drain.has_begun());
    });
}

#[test]
fn is_empty_once_the_last_guest_has_left() {
    block_on(async {
        let drain = Rc::new(Drain::default());
        drain.empty().await;
        let (first, second) = (drain.enter(), drain.enter());
        drop(first);
        let empty = drain.empty();
        tokio::pin!(empty);
        tokio::select! {
            biased;
            () = &mut empty => panic!("one is left"),
            () = std::future::ready(()) => {}
        }
        drop(second);
        empty.await;
    });
}
