//! What the fuzz targets try, as functions that the tests run too over the committed corpus.
//!
//! Each takes any bytes and answers with the property that did not hold.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;
use moat_policy::host::Host;
use moat_policy::port::Port;
use moat_policy::request::Target;
use moat_policy::verdict::{Grant, SniRule, TlsRule};
use tokio::io::{AsyncRead, ReadBuf};

use crate::forward::Order;
use crate::gate::Gate;
use crate::greeting::{Greeting, Judged, Progress};
use crate::head::{self, Framing, Head};
use crate::hello;
use crate::target::{self, Absolute};

/// A property that did not hold, with the input that broke it.
pub type Broken = String;

/// A head ends at the same byte however it arrives; one that passes can be read in one way; and
/// its body ends at the same byte however it arrives.
pub fn head(data: &[u8]) -> Result<(), Broken> {
    let whole = end_in_steps(data, data.len().max(1));
    let bytewise = end_in_steps(data, 1);
    if whole != bytewise && (whole.is_ok() || bytewise.is_ok()) {
        return Err(format!("{data:?} ends at {whole:?} or {bytewise:?}"));
    }
    let Ok(Some(end)) = whole else {
        return Ok(());
    };
    let Some((text, behind)) = data.split_at_checked(end) else {
        return Err(format!("{data:?} ends behind its end"));
    };
    let Ok(head) = head::check(text) else {
        return Ok(());
    };
    one_reading(text, &head)?;
    let order = Order::new(text, &head);
    rewritten(text, &order)?;
    let all = pass(behind, head.body, usize::MAX);
    for step in [1, 7] {
        let pieces = pass(behind, head.body, step);
        if all.1 != pieces.1 || (all.1.is_some() && all.0 != pieces.0) {
            return Err(format!("{data:?} passes {all:?} or {pieces:?}"));
        }
    }
    Ok(())
}

/// A target that is read has one spelling, which is read as the same target.
pub fn target(data: &[u8]) -> Result<(), Broken> {
    let Ok(text) = std::str::from_utf8(data) else {
        return Ok(());
    };
    if let Ok(target) = target::parse_authority(text) {
        let again = target::parse_authority(&target.to_string());
        let agrees = target::agree_authority(&target, text).is_ok();
        if again.as_ref().ok() != Some(&target) || !agrees || text.contains('@') {
            return Err(format!("{text:?} is read as {target}"));
        }
    }
    if let Ok(Absolute { target, rest }) = target::parse_absolute(text) {
        let url = format!("http://{target}{rest}");
        let again = target::parse_absolute(&url);
        let same = again.is_ok_and(|again| again.target == target && again.rest == rest);
        let host = text.strip_suffix(rest).unwrap_or_default();
        if !same || host.contains('@') || !(rest.is_empty() || rest.starts_with(['/', '?'])) {
            return Err(format!("{text:?} is read as {url}"));
        }
    }
    Ok(())
}

/// A hello is read alike however it arrives, and what follows it changes nothing.
pub fn hello(data: &[u8]) -> Result<(), Broken> {
    let whole = hello::read(data);
    let step = (data.len() / 32).max(1);
    let ends = (0..data.len()).step_by(step).chain([data.len()]);
    let mut reader = hello::Reader::default();
    let in_parts = ends
        .filter_map(|end| data.get(..end))
        .map(|part| reader.read(part))
        .find(|read| !matches!(read, Ok(None)))
        .unwrap_or(Ok(None));
    if whole == in_parts {
        Ok(())
    } else {
        Err(format!("{data:?} is read as {whole:?} or {in_parts:?}"))
    }
}

/// The first bytes of a tunnel are judged alike however they arrive, under every rule.
pub fn greeting(data: &[u8]) -> Result<(), Broken> {
    let Ok(host) = Host::parse(b"allowed.test") else {
        return Err("the host is none".to_owned());
    };
    for (port, tls, sni) in [
        (Port::HTTPS, TlsRule::Require, SniRule::Match),
        (Port::HTTPS, TlsRule::Require, SniRule::Any),
        (Port::HTTP, TlsRule::Any, SniRule::Match),
        (Port::HTTP, TlsRule::Any, SniRule::Any),
    ] {
        let greeting = Greeting {
            target: &Target {
                host: host.clone(),
                port,
            },
            grant: Grant {
                tls,
                sni,
                until: None,
            },
            allowed: &|_| false,
        };
        let whole = judged(&greeting, data, data.len());
        let step = (data.len() / 32).max(1);
        let in_parts = judged(&greeting, data, step);
        if whole != in_parts {
            return Err(format!("{data:?} is judged {whole} or {in_parts}"));
        }
    }
    Ok(())
}

fn judged(greeting: &Greeting<'_>, data: &[u8], step: usize) -> String {
    let mut progress = Progress::default();
    let parts = (0..data.len()).step_by(step.max(1));
    let parts = parts.filter_map(|end| data.get(..end));
    let mut verdicts = parts
        .map(|part| (part, false))
        .chain([(data, true)])
        .map(|(part, ended)| greeting.judge(&mut progress, part, ended))
        .filter(|verdict| !matches!(verdict, Judged::More));
    format!("{:?}", verdicts.next())
}

fn end_in_steps(data: &[u8], step: usize) -> Result<Option<usize>, u16> {
    let mut scanned = 0;
    let mut end = step.min(data.len());
    loop {
        let part = data.get(..end).unwrap_or_default();
        match head::end_of_lines(part, &mut scanned) {
            Ok(None) if end < data.len() => end = (end + step).min(data.len()),
            outcome => return outcome.map_err(|refusal| refusal.status),
        }
    }
}

/// What passed says the same to a reader who knows only lines and colons.
fn one_reading(text: &[u8], head: &Head<'_>) -> Result<(), Broken> {
    let lines = String::from_utf8_lossy(text);
    let mut lines = lines.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let names: Vec<String> = lines
        .take_while(|line| !line.is_empty())
        .map(|line| {
            line.split(':')
                .next()
                .unwrap_or_default()
                .to_ascii_lowercase()
        })
        .collect();
    let count = |name: &str| names.iter().filter(|found| *found == name).count();
    let start = format!("{} {} HTTP/1.", head.method, head.target);
    let certain = first.starts_with(&start)
        && first.len() == start.len() + 1
        && count("host") <= 1
        && count("content-length") + count("transfer-encoding") <= 1
        && count("host") == usize::from(head.host.is_some())
        && (head.body != Framing::Chunked || count("transfer-encoding") == 1)
        && !names.iter().any(|name| name.contains([' ', '\t']))
        && names.len() <= head::MAX_HEADERS;
    if certain {
        Ok(())
    } else {
        Err(format!(
            "{head:?} is read from {:?}",
            String::from_utf8_lossy(text)
        ))
    }
}

/// The head for the origin differs in its target alone.
fn rewritten(text: &[u8], order: &Order) -> Result<(), Broken> {
    let Some(sent) = order.head() else {
        return Ok(());
    };
    let behind = |text: &[u8]| text.iter().position(|&byte| byte == b'\r');
    let (Some(from), Some(to)) = (behind(text), behind(sent)) else {
        return Err(format!("{order:?} has no line"));
    };
    let origin_form =
        head::check(sent).is_ok_and(|head| head.target.starts_with('/') || head.target == "*");
    if text.get(from..) == sent.get(to..) && origin_form {
        Ok(())
    } else {
        Err(format!(
            "{order:?} is read from {:?}",
            String::from_utf8_lossy(text)
        ))
    }
}

/// What comes through a gate, and how much stays behind it unless it met a fault.
fn pass(behind: &[u8], framing: Framing, step: usize) -> (Vec<u8>, Option<usize>) {
    let stream = Trickle { data: behind, step };
    let mut gate = Gate::new(stream, BytesMut::new(), b"", framing);
    let mut cx = Context::from_waker(Waker::noop());
    let mut passed = Vec::new();
    let mut buffer = [0; 512];
    loop {
        let mut buffer = ReadBuf::new(&mut buffer);
        match Pin::new(&mut gate).poll_read(&mut cx, &mut buffer) {
            Poll::Ready(Ok(())) if buffer.filled().is_empty() => break,
            Poll::Ready(Ok(())) => passed.extend_from_slice(buffer.filled()),
            Poll::Ready(Err(_)) | Poll::Pending => return (passed, None),
        }
    }
    let (stream, bytes) = gate.into_inner();
    (passed, Some(bytes.len() + stream.data.len()))
}

/// Bytes that arrive in steps, and then an end.
struct Trickle<'a> {
    data: &'a [u8],
    step: usize,
}

impl AsyncRead for Trickle<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = self.step.min(self.data.len()).min(buf.remaining());
        if let Some((now, later)) = self.data.split_at_checked(count) {
            buf.put_slice(now);
            self.data = later;
        }
        Poll::Ready(Ok(()))
    }
}
