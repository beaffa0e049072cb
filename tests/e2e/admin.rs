//! The admin listener: read only, and never through the proxy.

use crate::support::bed;
use crate::support::client::Client;
use crate::support::wait::wait_for;

#[test]
fn it_answers_alive_ready_and_metrics() {
    bed(|bed| {
        let moat = bed.moat().start();
        assert_eq!(moat.admin_get("/livez").status(), 200);
        // It is bound before every worker accepts.
        wait_for("readiness", || {
            (moat.admin_get("/readyz").status() == 200).then_some(())
        });
        assert_eq!(moat.connect("denied.test:443"), 403);
        assert_eq!(moat.connect("allowed.test:443"), 200);
        let metrics = moat.admin_get("/metrics");
        assert_eq!(metrics.status(), 200);
        assert!(
            metrics
                .header("content-type")
                .unwrap()
                .starts_with("text/plain")
        );
        for line in metrics.text().lines().filter(|line| !line.starts_with('#')) {
            assert!(line.starts_with("moat_"), "{line}");
        }
        assert!(!metrics.text().contains(".test"), "{}", metrics.text());
        moat.finish();
    });
}

#[test]
fn it_changes_nothing() {
    bed(|bed| {
        let moat = bed.moat().start();
        assert_eq!(moat.admin_get("/elsewhere").status(), 404);
        for method in ["POST", "PUT", "DELETE"] {
            let request =
                format!("{method} /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
            let status = Client::dial(moat.admin()).send(request).answer().status();
            assert!([400, 404, 405].contains(&status), "{method}: {status}");
        }
        let connect = "CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n";
        let answer = Client::dial(moat.admin()).send(connect).answer();
        assert!(answer.status() >= 400, "{}", answer.head);
        assert_eq!(bed.origins.connections(), 0);
        moat.finish();
    });
}

#[test]
fn metrics_count_what_happened() {
    bed(|bed| {
        let moat = bed.moat().start();
        let before = moat.metric("moat_connections_total");
        assert_eq!(moat.connect("denied.test:443"), 403);
        assert_eq!(moat.connect("mal.test:443"), 403);
        assert_eq!(moat.get("allowed.test/").status(), 200);
        let judged = moat.metric("moat_connections_total") - before;
        assert!(
            judged > 2.5,
            "{judged}: {}",
            moat.admin_get("/metrics").text()
        );
        assert!(moat.metric("moat_refused_total") >= 2.0);
        assert!(moat.metric("moat_records_lost_total").abs() < 0.5);
        moat.finish();
    });
}
