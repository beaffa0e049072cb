//! Raw clients: bytes out, an answer in, and how the connection ended.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};

use super::wait::LIMIT;

/// How a connection stood when reading stopped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum End {
    Closed,
    Reset,
}

/// A connection to the proxy.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    /// Read but not yet used.
    ahead: Vec<u8>,
}

impl Client {
    pub(crate) fn dial(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).unwrap())
    }

    /// A client on a connection that stands already.
    pub(crate) fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            ahead: Vec::new(),
        }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        // The proxy may refuse and close before it has read everything.
        let _ = self.stream.write_all(bytes.as_ref());
        self
    }

    /// Tells the proxy that nothing more will be sent.
    pub(crate) fn half_close(&mut self) -> &mut Self {
        self.stream.shutdown(Shutdown::Write).unwrap();
        self
    }

    /// Reads one whole HTTP answer, by its framing.
    pub(crate) fn answer(&mut self) -> Answer {
        self.answer_to("GET")
    }

    /// Reads one whole answer to a request of `method`.
    pub(crate) fn answer_to(&mut self, method: &str) -> Answer {
        let mut answer = Answer {
            head: self.head(),
            body: Vec::new(),
        };
        let status = answer.status();
        let tunnel = method == "CONNECT" && status == 200;
        if tunnel || method == "HEAD" || status < 200 || matches!(status, 204 | 304) {
            return answer;
        }
        answer.body = if answer.header("transfer-encoding").is_some() {
            self.chunks()
        } else if let Some(length) = answer.header("content-length") {
            let length = length.parse().unwrap();
            self.exactly(length)
        } else {
            self.rest().0
        };
        answer
    }

    /// Reads one whole answer, unless the connection ends before its first byte.
    pub(crate) fn answer_or_end(&mut self) -> Option<Answer> {
        if self.ahead.is_empty() && self.more().is_some() {
            return None;
        }
        Some(self.answer())
    }

    /// Reads up to and with the empty line.
    pub(crate) fn head(&mut self) -> String {
        loop {
            if let Some(at) = self.ahead.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = self.ahead.drain(..at + 4).collect::<Vec<_>>();
                return String::from_utf8_lossy(&head).into_owned();
            }
            assert!(self.more().is_none(), "no whole head: {:?}", self.text());
        }
    }

    /// Reads `count` bytes.
    pub(crate) fn exactly(&mut self, count: usize) -> Vec<u8> {
        while self.ahead.len() < count {
            assert!(
                self.more().is_none(),
                "fewer than {count} bytes: {:?}",
                self.text()
            );
        }
        self.ahead.drain(..count).collect()
    }

    /// Reads one byte, unless the connection ends before it.
    pub(crate) fn byte_or_end(&mut self) -> Option<u8> {
        if self.ahead.is_empty() && self.more().is_some() {
            return None;
        }
        Some(self.exactly(1)[0])
    }

    fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let line = self.line();
            let size = usize::from_str_radix(line.trim(), 16).unwrap();
            if size == 0 {
                while self.line() != "\r\n" {}
                return body;
            }
            body.extend(self.exactly(size));
            self.line();
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        while !line.ends_with('\n') {
            line.push(char::from(self.exactly(1)[0]));
        }
        line
    }

    /// Reads to the end.
    pub(crate) fn rest(&mut self) -> (Vec<u8>, End) {
        loop {
            if let Some(end) = self.more() {
                return (std::mem::take(&mut self.ahead), end);
            }
        }
    }

    /// The end, when it has come; a connection that stays open fails the case.
    fn more(&mut self) -> Option<End> {
        let mut buffer = [0; 16384];
        match self.stream.read(&mut buffer) {
            Ok(0) => Some(End::Closed),
            Ok(count) => {
                self.ahead.extend_from_slice(&buffer[..count]);
                None
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Some(End::Reset),
            Err(error) => panic!("still open after {LIMIT:?} ({error}): {:?}", self.text()),
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.ahead).into_owned()
    }
}

/// An HTTP answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// Status line, headers and the empty line.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        let word = self.head.split(' ').nth(1).unwrap_or_default();
        word.parse()
            .unwrap_or_else(|_| panic!("no status: {:?}", self.head))
    }

    /// The status line after the status.
    pub(crate) fn reason(&self) -> &str {
        let line = self.head.lines().next().unwrap_or_default();
        line.splitn(3, ' ').nth(2).unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1);
        let mut fields = lines.filter_map(|line| line.split_once(':'));
        fields
            .find(|(own, _)| own.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// The target of a SOCKS5 request as it goes out.
pub(crate) fn socks_target(host: &str, port: u16) -> Vec<u8> {
    let mut bytes = vec![5, 1, 0];
    match host.parse() {
        Ok(IpAddr::V4(address)) => {
            bytes.push(1);
            bytes.extend(address.octets());
        }
        Ok(IpAddr::V6(address)) => {
            bytes.push(4);
            bytes.extend(address.octets());
        }
        Err(_) => return socks_name(host.as_bytes(), port),
    }
    bytes.extend(port.to_be_bytes());
    bytes
}

/// The same with the host as a name, whatever its bytes.
pub(crate) fn socks_name(host: &[u8], port: u16) -> Vec<u8> {
    let length = u8::try_from(host.len()).unwrap();
    [&[5, 1, 0, 3, length], host, &port.to_be_bytes()].concat()
}
