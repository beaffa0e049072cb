//! One plain request as its head asks for it, before any policy is asked.

use bytes::BytesMut;
use http::HeaderValue;
use http::uri::PathAndQuery;
use moat_policy::port::Port;
use moat_policy::request::Target;

use crate::head::{Framing, Head, Version};
use crate::refusal::Refusal;
use crate::reply::Form;
use crate::target;

/// The methods that records name (the IANA registry of HTTP methods); others are `OTHER` there.
const METHODS: [&str; 39] = [
    "GET",
    "POST",
    "HEAD",
    "PUT",
    "DELETE",
    "OPTIONS",
    "PATCH",
    "TRACE",
    "CONNECT",
    "ACL",
    "BASELINE-CONTROL",
    "BIND",
    "CHECKIN",
    "CHECKOUT",
    "COPY",
    "LABEL",
    "LINK",
    "LOCK",
    "MERGE",
    "MKACTIVITY",
    "MKCALENDAR",
    "MKCOL",
    "MKREDIRECTREF",
    "MKWORKSPACE",
    "MOVE",
    "ORDERPATCH",
    "PRI",
    "PROPFIND",
    "PROPPATCH",
    "QUERY",
    "REBIND",
    "REPORT",
    "SEARCH",
    "UNBIND",
    "UNCHECKOUT",
    "UNLINK",
    "UNLOCK",
    "UPDATE",
    "UPDATEREDIRECTREF",
];

/// A request in the words of this door.
#[derive(Debug)]
pub(crate) struct Order {
    /// Where to, or why not, with the target as far as it could be read.
    pub(super) target: Result<Target, (Option<Target>, Refusal)>,
    /// The head with its target in origin form, otherwise as sent.
    pub(super) head: BytesMut,
    /// The path without the query; `None` for `*`.
    pub(super) path: Option<Box<str>>,
    /// The method as sent.
    pub(super) method: Box<str>,
    pub(super) version: Version,
    pub(super) body: Framing,
    pub(super) expects: bool,
    pub(super) persists: bool,
    pub(super) websocket: bool,
    pub(super) form: Form,
}

impl Order {
    /// Reads target and Host. `text` is the head that `head` was read from.
    pub(crate) fn new(text: &[u8], head: &Head<'_>) -> Self {
        let mut order = Self {
            target: Err((None, Refusal::malformed("no target"))),
            head: BytesMut::new(),
            path: None,
            method: head.method.into(),
            version: head.version,
            body: head.body,
            expects: head.expects,
            persists: head.persists,
            websocket: head.websocket,
            form: match head.method {
                "HEAD" => Form::Bare,
                _ if head.json => Form::Json,
                _ => Form::Text,
            },
        };
        order.target = order.read(text, head);
        order
    }

    /// The head for the origin, if the request can be served.
    pub(crate) fn head(&self) -> Option<&[u8]> {
        self.target.is_ok().then_some(&self.head)
    }

    /// The method as records may name it.
    pub(super) fn registered(&self) -> &'static str {
        METHODS
            .iter()
            .copied()
            .find(|method| *method == &*self.method)
            .unwrap_or("OTHER")
    }

    fn read(&mut self, text: &[u8], head: &Head<'_>) -> Result<Target, (Option<Target>, Refusal)> {
        let absolute = target::parse_absolute(head.target).map_err(|fault| (None, fault))?;
        let fault = match head.host {
            None if head.version == Version::Http11 => Some(Refusal::malformed(
                "a request of HTTP/1.1 must have a Host header",
            )),
            None => None,
            Some(host) => target::agree_absolute(&absolute.target, host).err(),
        };
        if let Some(fault) = fault {
            return Err((Some(absolute.target), fault));
        }
        let origin = match absolute.rest {
            "" if head.method == "OPTIONS" => "*".to_owned(),
            rest if rest.starts_with('/') => rest.to_owned(),
            rest => format!("/{rest}"),
        };
        if origin != "*" {
            if PathAndQuery::try_from(origin.as_str()).is_err() {
                let fault = Refusal::malformed("a byte that no path can hold");
                return Err((Some(absolute.target), fault));
            }
            self.path = Some(absolute.path().into());
        }
        let behind = text
            .get(head.method.len() + 1 + head.target.len()..)
            .unwrap_or_default();
        let length = head.method.len() + 1 + origin.len() + behind.len();
        self.head = BytesMut::with_capacity(length);
        self.head.extend_from_slice(head.method.as_bytes());
        self.head.extend_from_slice(b" ");
        self.head.extend_from_slice(origin.as_bytes());
        self.head.extend_from_slice(behind);
        Ok(absolute.target)
    }
}

/// The Host header for a target: what leaves names what was approved.
pub(super) fn host(target: &Target) -> Result<HeaderValue, Refusal> {
    let text = if target.port == Port::HTTP {
        target.host.to_string()
    } else {
        target.to_string()
    };
    HeaderValue::try_from(text).map_err(|_| Refusal::malformed("the host is malformed"))
}
