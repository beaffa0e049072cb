//! The addresses of this host, as they come and go.

use crate::support::namespace::ip;
use crate::support::wait::wait_for;
use crate::support::{bed, socket};

#[test]
fn an_address_that_becomes_this_hosts_own_is_guarded_from_then_on() {
    bed(|bed| {
        let address = "93.184.216.34";
        let _origin = socket::listen(format!("{address}:7").parse().unwrap());
        bed.dns.set("svc.allowed.test", &format!("A {address}"));
        let moat = bed.moat().start();
        let connect = || moat.connect("svc.allowed.test:7");
        assert_eq!(connect(), 200);
        // The kernel says so at once; a proxy that only looked from time to time would be late.
        ip(&format!("address add {address}/32 dev lo"));
        wait_for("the address to be guarded", || {
            (connect() == 403).then_some(())
        });
        let told = moat.tunnel("svc.allowed.test:7").0.text();
        assert!(told.contains("own addresses are guarded"), "{told}");
        assert_eq!(moat.decision("svc.allowed.test")["cause"], "policy");
        let guarded = |record: &serde_json::Value| record["cause"] == "guarded";
        let record = moat.wait_record("decision", guarded);
        assert_eq!(record["address"], address, "{record}");
        ip(&format!("address del {address}/32 dev lo"));
        wait_for("the address to be free again", || {
            (connect() == 200).then_some(())
        });
        moat.finish();
    });
}
