//! Random, broken and truncated input leaves the proxy serving.

use std::thread;

use crate::support::bed;
use crate::support::client::Client;

/// Heads to break; none of them reaches an origin even when whole.
const SEEDS: [&[u8]; 6] = [
    b"CONNECT denied.test:443 HTTP/1.1\r\nHost: denied.test:443\r\n\r\n",
    b"GET http://denied.test/a?b HTTP/1.1\r\nHost: denied.test\r\nAccept: */*\r\n\r\n",
    b"POST http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"\x05\x01\x00\x05\x01\x00\x03\x0bdenied.test\x01\xbb",
    b"\x16\x03\x01\x00\x2e\x01\x00\x00\x2a\x03\x03",
    b"GET / HTTP/1.1\r\nHost: denied.test\r\n\r\n",
];

/// A small generator with a fixed start, so that a failure comes again.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap()
    }

    /// One seed, with bytes changed, put in or taken out, and often cut short.
    fn head(&mut self) -> Vec<u8> {
        if self.below(10) == 0 {
            return (0..=self.below(300)).map(|_| self.byte()).collect();
        }
        let mut head = SEEDS[self.below(SEEDS.len())].to_vec();
        for _ in 0..self.below(4) {
            let at = self.below(head.len());
            match self.below(3) {
                0 => head[at] = self.byte(),
                1 => head.insert(at, self.byte()),
                _ => {
                    head.remove(at);
                }
            }
        }
        if self.below(2) == 0 {
            head.truncate(self.below(head.len()));
        }
        head
    }
}

#[test]
fn ten_thousand_broken_heads_leave_it_serving() {
    bed(|bed| {
        let moat = bed.moat().start();
        let address = moat.address();
        let threads: Vec<_> = (1..=4)
            .map(|start| {
                thread::spawn(move || {
                    let mut chance = Chance(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(start));
                    for _ in 0..2500 {
                        let mut client = Client::dial(address);
                        client.send(chance.head());
                        let _ = client.stream.shutdown(std::net::Shutdown::Write);
                        client.rest();
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(moat.get("allowed.test/").status(), 200);
        assert_eq!(bed.origins.connections(), 1);
        let log = moat.log();
        assert!(!log.contains("panic"), "{log}");
        assert!(log.lines().count() < 100, "{log}");
    });
}
