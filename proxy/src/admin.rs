//! The admin listener: metrics, liveness and readiness, for reading only.
//!
//! It changes nothing, so it may be scraped from outside when it is bound so. Through the proxy
//! itself it cannot be reached, being one of its own listeners.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Semaphore;

use crate::error::{BindError, RunError};
use crate::metrics::gather::Gatherer;
use crate::worker::Shared;

mod health;

/// Connections at a time; others wait in the backlog.
const CONNECTIONS: usize = 32;
/// The whole of a connection: one request and its answer.
const LIMIT: Duration = Duration::from_secs(10);
/// Its request's head: short, so that neighbours who send half of one cannot hold every place and
/// make a probe fail.
const HEAD_LIMIT: Duration = Duration::from_secs(2);
/// Between two attempts to accept after a failure.
const BACK_OFF: Duration = Duration::from_millis(200);
const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// What the answers are made from.
struct Admin {
    shared: Arc<Shared>,
    gatherer: Gatherer,
}

/// Binds the admin address; port 0 picks one.
pub(crate) fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), BindError> {
    let failed = |source| BindError::Admin { address, source };
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// Serves, and never ends by itself.
pub(crate) async fn run(
    listener: TcpListener,
    shared: Arc<Shared>,
) -> Result<Infallible, RunError> {
    let failed = |source| RunError::Start {
        what: "the admin listener",
        source,
    };
    let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
    let gatherer = Gatherer::new(Arc::clone(&shared));
    let gatherer = gatherer.map_err(|error| failed(std::io::Error::other(error)))?;
    let admin = Arc::new(Admin { shared, gatherer });
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let place = Arc::clone(&places).acquire_owned().await;
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(BACK_OFF).await;
            continue;
        };
        let admin = Arc::clone(&admin);
        tokio::spawn(async move {
            let _place = place;
            let answer = service_fn(|request| {
                let answer = admin.answer(&request);
                async { Ok::<_, Infallible>(answer) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_LIMIT)
                .keep_alive(false)
                .max_buf_size(16 << 10)
                .serve_connection(TokioIo::new(stream), answer);
            // Whoever asks badly or slowly gets no answer; nothing depends on it.
            drop(tokio::time::timeout(LIMIT, connection).await);
        });
    }
}

impl Admin {
    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let known = matches!(request.uri().path(), "/metrics" | "/livez" | "/readyz");
        if !known {
            let body = "there are /metrics, /livez and /readyz\n";
            return respond(StatusCode::NOT_FOUND, TEXT, body);
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut response = respond(
                StatusCode::METHOD_NOT_ALLOWED,
                TEXT,
                "this listener is for reading only\n",
            );
            let allowed = HeaderValue::from_static("GET, HEAD");
            response.headers_mut().insert(ALLOW, allowed);
            return response;
        }
        match request.uri().path() {
            "/metrics" => match self.gatherer.text() {
                Ok(text) => respond(StatusCode::OK, Gatherer::CONTENT_TYPE, text),
                Err(error) => {
                    tracing::error!(%error, "cannot gather the metrics");
                    let body = "the metrics cannot be gathered\n";
                    respond(StatusCode::INTERNAL_SERVER_ERROR, TEXT, body)
                }
            },
            "/livez" => respond(StatusCode::OK, TEXT, "alive\n"),
            _ => self.readiness(wants_json(request)),
        }
    }

    fn readiness(&self, as_json: bool) -> Response<Full<Bytes>> {
        let health = health::Health::take(&self.shared);
        let status = if health.ready {
            StatusCode::OK
        } else {
            StatusCode::SERVICE_UNAVAILABLE
        };
        match serde_json::to_vec(&health) {
            Ok(body) if as_json => respond(status, JSON, body),
            Ok(_) | Err(_) => respond(status, TEXT, health.to_string()),
        }
    }
}

fn wants_json(request: &Request<Incoming>) -> bool {
    let accepted = request.headers().get_all(ACCEPT).iter();
    accepted
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|kind| kind.trim().starts_with(JSON))
}

fn respond(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<Bytes>,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
