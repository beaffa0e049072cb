//! Origin servers that keep every byte that reaches them.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use super::socket;
use super::tls::Authority;

/// What is left of a connection after an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum After {
    /// The next request may follow.
    Keep,
    /// The connection ends.
    Close,
}

/// Both directions of a connection, plain or TLS.
pub(crate) trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

type Handler = Arc<dyn Fn(&mut dyn Stream, &Request) -> After + Send + Sync>;

/// One request as an origin read it.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The origin's own address.
    pub(crate) origin: SocketAddr,
    pub(crate) method: String,
    /// The request target, byte by byte.
    pub(crate) target: String,
    pub(crate) version: String,
    /// The lines of the head without the request line.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The first value of a header, whatever its case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

/// The bytes of one connection, as they came in.
#[derive(Clone, Debug)]
struct Arrival {
    origin: SocketAddr,
    bytes: Arc<Mutex<Vec<u8>>>,
}

#[derive(Default)]
struct State {
    arrivals: Vec<Arrival>,
    requests: Vec<Request>,
    handlers: HashMap<String, Handler>,
}

impl State {
    fn handler(&self, path: &str) -> Option<Handler> {
        let below = || {
            let mut all = self.handlers.iter();
            all.find(|(own, _)| own.len() > 1 && own.ends_with('/') && path.starts_with(*own))
        };
        let exact = self.handlers.get_key_value(path);
        exact.or_else(below).map(|(_, handler)| Arc::clone(handler))
    }
}

/// All origins of a case; clones speak of the same ones.
#[derive(Clone)]
pub(crate) struct Origins {
    address: IpAddr,
    authority: Authority,
    state: Arc<Mutex<State>>,
}

impl Origins {
    /// HTTP on 80, TLS on 443 and echo on 7 of `address`.
    pub(crate) fn start(address: IpAddr, authority: &Authority) -> Self {
        let origins = Self {
            address,
            authority: authority.clone(),
            state: Arc::default(),
        };
        origins.http(SocketAddr::new(address, 80));
        origins.https(SocketAddr::new(address, 443));
        origins.tcp(7, echo);
        origins
    }

    /// One more HTTP origin.
    pub(crate) fn http(&self, address: SocketAddr) {
        let own = self.clone();
        self.serve(address, move |tap| own.speak(tap, address));
    }

    /// One more HTTP origin behind TLS.
    pub(crate) fn https(&self, address: SocketAddr) {
        let own = self.clone();
        self.serve(address, move |tap| {
            own.speak(own.authority.accept(tap), address);
        });
    }

    /// A server of another kind on a port of the usual address.
    pub(crate) fn tcp(&self, port: u16, serve: impl Fn(Tap) + Send + Sync + 'static) {
        self.serve(SocketAddr::new(self.address, port), serve);
    }

    /// A server of another kind.
    pub(crate) fn serve(&self, at: SocketAddr, serve: impl Fn(Tap) + Send + Sync + 'static) {
        let listener = socket::listen(at);
        let state = Arc::clone(&self.state);
        let serve = Arc::new(serve);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let bytes = Arc::<Mutex<Vec<u8>>>::default();
                let arrival = Arrival {
                    origin: at,
                    bytes: Arc::clone(&bytes),
                };
                state.lock().unwrap().arrivals.push(arrival);
                let serve = Arc::clone(&serve);
                thread::spawn(move || serve(Tap { stream, bytes }));
            }
        });
    }

    /// Answers requests for `path` in its own way; one that ends in `/` stands for all below it.
    pub(crate) fn on(
        &self,
        path: &str,
        handler: impl Fn(&mut dyn Stream, &Request) -> After + Send + Sync + 'static,
    ) {
        self.state
            .lock()
            .unwrap()
            .handlers
            .insert(path.to_owned(), Arc::new(handler));
    }

    /// Answers requests for `path` with these bytes.
    pub(crate) fn answer(&self, path: &str, bytes: &str, after: After) {
        let bytes = bytes.as_bytes().to_vec();
        self.on(path, move |stream, _| {
            let _ = stream.write_all(&bytes);
            after
        });
    }

    /// The requests that were read so far, plain and inside TLS.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.state.lock().unwrap().requests.clone()
    }

    /// What arrived at a port of the usual address, one item per connection.
    pub(crate) fn arrived(&self, port: u16) -> Vec<Vec<u8>> {
        let state = self.state.lock().unwrap();
        let ours = state
            .arrivals
            .iter()
            .filter(|arrival| arrival.origin.port() == port);
        ours.map(|arrival| arrival.bytes.lock().unwrap().clone())
            .collect()
    }

    /// Starts its memory of connections and requests anew.
    pub(crate) fn forget(&self) {
        let mut state = self.state.lock().unwrap();
        state.arrivals.clear();
        state.requests.clear();
    }

    /// How many connections all origins have seen.
    pub(crate) fn connections(&self) -> usize {
        self.state.lock().unwrap().arrivals.len()
    }

    /// Every byte that reached any origin, as text.
    pub(crate) fn everything(&self) -> String {
        let state = self.state.lock().unwrap();
        let all = state
            .arrivals
            .iter()
            .map(|arrival| arrival.bytes.lock().unwrap().clone());
        String::from_utf8_lossy(&all.collect::<Vec<_>>().concat()).into_owned()
    }

    fn speak(&self, mut stream: impl Stream, origin: SocketAddr) {
        while let Ok(Some(mut request)) = read_head(&mut stream, origin) {
            let expects = request.header("expect").is_some();
            if expects && stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").is_err() {
                return;
            }
            let Ok(body) = read_body(&mut stream, &request) else {
                return;
            };
            request.body = body;
            let mut state = self.state.lock().unwrap();
            state.requests.push(request.clone());
            let handler = state.handler(request.path());
            drop(state);
            let after = match handler {
                Some(own) => own(&mut stream, &request),
                None => default_answer(&mut stream, &request),
            };
            let _ = stream.flush();
            if after == After::Close {
                return;
            }
        }
    }
}

fn default_answer(stream: &mut dyn Stream, request: &Request) -> After {
    let host = request.header("host").unwrap_or_default();
    let size = request.body.len();
    let body = format!("origin {} host {host} read {size}\n", request.origin);
    let body_bytes = if request.method == "HEAD" {
        ""
    } else {
        body.as_str()
    };
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body_bytes}");
    if stream.write_all(head.as_bytes()).is_err() {
        return After::Close;
    }
    After::Keep
}

fn read_head(stream: &mut dyn Stream, origin: SocketAddr) -> io::Result<Option<Request>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte)? == 0 {
            return Ok(None);
        }
        head.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let mut lines = text.trim_end_matches("\r\n").split("\r\n");
    let mut words = lines
        .next()
        .unwrap_or_default()
        .splitn(3, ' ')
        .map(str::to_owned);
    let [method, target, version] = [0; 3].map(|_| words.next().unwrap_or_default());
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        (name.to_owned(), value.trim().to_owned())
    });
    let headers = headers.collect();
    Ok(Some(Request {
        origin,
        method,
        target,
        version,
        headers,
        body: Vec::new(),
    }))
}

fn read_body(stream: &mut dyn Stream, request: &Request) -> io::Result<Vec<u8>> {
    if request.header("transfer-encoding").is_some() {
        return read_chunks(stream);
    }
    let length = request
        .header("content-length")
        .map_or(0, |value| value.parse().unwrap_or(0));
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(body)
}

fn read_chunks(stream: &mut dyn Stream) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(stream)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(io::Error::other)?;
        let start = body.len();
        body.resize(start + size, 0);
        stream.read_exact(&mut body[start..])?;
        if size == 0 {
            while !read_line(stream)?.is_empty() {}
            return Ok(body);
        }
        read_line(stream)?;
    }
}

fn read_line(stream: &mut dyn Stream) -> io::Result<String> {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        line.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

/// A connection that remembers what came in.
pub(crate) struct Tap {
    pub(crate) stream: TcpStream,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Read for Tap {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.bytes
            .lock()
            .unwrap()
            .extend_from_slice(&buffer[..count]);
        Ok(count)
    }
}

impl Write for Tap {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Sends back what comes in, until the other side ends.
pub(crate) fn echo(mut tap: Tap) {
    let mut buffer = [0; 16384];
    while let Ok(count) = tap.read(&mut buffer) {
        if count == 0 || tap.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}
