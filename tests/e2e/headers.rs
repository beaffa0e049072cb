//! Headers that mean one hop only.

use crate::support::bed;
use crate::support::origin::After;

#[test]
fn proxy_credentials_stay_at_the_proxy() {
    bed(|bed| {
        let moat = bed.moat().start();
        let secret = "Basic dTpzZWNyZXQ=";
        let answer = moat.raw(format!(
            "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\
             Proxy-Authorization: {secret}\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\n\
             Keep-Alive: 5\r\nAuthorization: Bearer own\r\n\r\n"
        ));
        assert_eq!(answer.status(), 200);
        let request = &bed.origins.requests()[0];
        for name in [
            "proxy-authorization",
            "proxy-connection",
            "te",
            "keep-alive",
            "via",
        ] {
            assert_eq!(request.header(name), None, "{name}");
        }
        assert_eq!(request.header("authorization"), Some("Bearer own"));
        let records = format!("{:?}", moat.records());
        for text in [moat.log(), records] {
            assert!(
                !text.contains("dTpzZWNyZXQ") && !text.contains("Bearer"),
                "{text}"
            );
        }
        moat.finish();
    });
}

#[test]
fn headers_that_connection_names_are_removed_both_ways() {
    bed(|bed| {
        let answer = "HTTP/1.1 200 OK\r\nConnection: X-Back, keep-alive\r\nX-Back: 1\r\n\
                      Keep-Alive: timeout=5\r\nX-End: 2\r\nContent-Length: 2\r\n\r\nok";
        bed.origins.answer("/", answer, After::Keep);
        let moat = bed.moat().start();
        let answer = moat.raw(
            "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\
             Connection: X-Hop, keep-alive\r\nX-Hop: 1\r\nX-End: 2\r\n\r\n",
        );
        let request = &bed.origins.requests()[0];
        assert_eq!(request.header("x-hop"), None);
        assert_eq!(request.header("x-end"), Some("2"));
        assert_eq!(answer.header("x-back"), None);
        assert_eq!(answer.header("keep-alive"), None);
        assert_eq!(answer.header("x-end"), Some("2"));
        moat.finish();
    });
}

#[test]
fn an_origin_cannot_speak_for_the_proxy() {
    bed(|bed| {
        let answer = "HTTP/1.1 200 OK\r\nMoat-Decision: deny\r\nProxy-Status: moat; error=x\r\n\
                      Content-Length: 2\r\n\r\nok";
        bed.origins.answer("/", answer, After::Keep);
        let moat = bed.moat().start();
        let answer = moat.get("allowed.test/");
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.header("moat-decision"), None);
        assert_eq!(answer.header("proxy-status"), None);
        moat.finish();
    });
}
