//! The naive matcher: every entry in turn, with nothing compiled.

use std::net::IpAddr;
use std::sync::Arc;

use moat_policy::address::{classify, is_localhost_name, is_metadata_name};
use moat_policy::entry::{Entry, EntryList};
use moat_policy::host::{Host, Pattern};
use moat_policy::http::{Match, RequestPath};
use moat_policy::policy::Defaults;
use moat_policy::port::Port;
use moat_policy::request::{Request, Surface, Wire};
use moat_policy::verdict::{Basis, Effect, Grant, Layer, Rule, SniRule, TlsRule};

/// Whether a label matches a pattern in which each `*` is one or more characters.
fn label(pattern: &[u8], text: &[u8]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => (1..=text.len()).any(|n| label(rest, &text[n..])),
        Some((byte, rest)) => text.first() == Some(byte) && label(rest, &text[1..]),
    }
}

/// Whether a glob matches a name, label by label.
fn glob(pattern: &str, name: &str) -> bool {
    let names: Vec<&str> = name.split('.').collect();
    let (least, most, rest) = match (pattern.strip_prefix("**."), pattern.strip_prefix("*.")) {
        (Some(rest), _) => (0, names.len(), rest),
        (None, Some(rest)) => (1, names.len(), rest),
        (None, None) => (0, 0, pattern),
    };
    let labels: Vec<&str> = rest.split('.').collect();
    (least..=most).any(|skipped| {
        let names = names.get(skipped..).unwrap_or_default();
        names.len() == labels.len()
            && labels
                .iter()
                .zip(names)
                .all(|(pattern, text)| label(pattern.as_bytes(), text.as_bytes()))
    })
}

/// Whether a pattern of names matches a name.
pub(crate) fn matches_name(pattern: &Pattern, name: &str) -> bool {
    let below = |tail: &str| {
        name.strip_suffix(tail)
            .is_some_and(|front| front.ends_with('.'))
    };
    match pattern {
        Pattern::AnyName => true,
        Pattern::Exact(exact) => name == exact.as_str(),
        Pattern::Below(tail) => below(tail.as_str()),
        Pattern::AtOrBelow(tail) => name == tail.as_str() || below(tail.as_str()),
        Pattern::Glob(text) => glob(text, name),
        Pattern::Range(_) | Pattern::Localhost => false,
    }
}

/// Patterns with their last bytes, so that most are told from a name by one comparison: 400 million
/// pairs are asked.
pub(crate) struct Endings(Vec<(u128, u128)>);

impl Endings {
    pub(crate) fn new<'p>(patterns: impl Iterator<Item = &'p Pattern>) -> Self {
        let ending = |pattern: &Pattern| {
            let text = pattern.to_string();
            // What follows the last star and its dot is literal.
            let literal = text.rsplit('*').next().unwrap().trim_start_matches('.');
            let unused = 16_usize.saturating_sub(literal.len()) * 8;
            let mask = u128::MAX.checked_shr(u32::try_from(unused).unwrap());
            let mask = mask.unwrap_or(0);
            (mask, last_bytes(literal) & mask)
        };
        Self(patterns.map(ending).collect())
    }

    /// The first pattern that matches the name, every pattern in turn.
    pub(crate) fn first(&self, name: &str, matches: impl Fn(usize) -> bool) -> Option<usize> {
        let last = last_bytes(name);
        for (index, &(mask, ending)) in self.0.iter().enumerate() {
            if last & mask == ending && matches(index) {
                return Some(index);
            }
        }
        None
    }
}

/// The last 16 bytes of a text as a number.
fn last_bytes(text: &str) -> u128 {
    text.bytes()
        .fold(0, |number, byte| number << 8 | u128::from(byte))
}

fn is_localhost(address: IpAddr) -> bool {
    ["127.0.0.1", "::1"]
        .iter()
        .any(|text| *text == address.to_string())
}

fn matches_address(pattern: &Pattern, address: IpAddr) -> bool {
    match pattern {
        Pattern::Localhost => is_localhost(address),
        Pattern::Range(range) if is_localhost(address) => ["127.0.0.1", "::1"]
            .iter()
            .any(|text| range.contains(&text.parse::<IpAddr>().unwrap())),
        Pattern::Range(range) => range.contains(&address),
        Pattern::Exact(_)
        | Pattern::Below(_)
        | Pattern::AtOrBelow(_)
        | Pattern::Glob(_)
        | Pattern::AnyName => false,
    }
}

fn matches(pattern: &Pattern, host: &Host) -> bool {
    match host {
        Host::Name(name) if is_localhost_name(name) => {
            matches_address(pattern, IpAddr::from([127, 0, 0, 1]))
        }
        Host::Name(name) => matches_name(pattern, name.as_str()),
        Host::Address(address) => matches_address(pattern, *address),
    }
}

fn applies(list: &EntryList, entry: &Entry, request: &Request<'_>) -> bool {
    let Request { target, .. } = request;
    let surface = list.surface == Surface::Net || request.surface == Surface::Fetch;
    let excluded = list.exclusions.iter().any(|exclusion| {
        exclusion.ports.contains(target.port) && matches(&exclusion.pattern, &target.host)
    });
    let path = request.path.map(RequestPath::new);
    let http = entry
        .http
        .as_ref()
        .map_or(Match::Yes, |http| http.judge(request.method, path.as_ref()));
    let http = http == Match::Yes || http == Match::Unknown && list.effect == Effect::Deny;
    surface
        && !excluded
        && http
        && entry.until.is_none_or(|until| request.now < until)
        && entry.ports.contains(target.port)
        && matches(&entry.pattern, &target.host)
}

/// What [`moat_policy::policy::Policy::decide`] must say.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) effect: Effect,
    pub(crate) basis: Basis,
    pub(crate) rule: Option<Arc<Rule>>,
    pub(crate) grant: Option<Grant>,
}

/// Judges a request by asking every entry.
pub(crate) fn decide(lists: &[EntryList], defaults: Defaults, request: &Request<'_>) -> Answer {
    let metadata = matches!(&request.target.host, Host::Name(name) if is_metadata_name(name));
    let mut found: Vec<(&EntryList, &Entry)> = Vec::new();
    for layer in [Layer::Machine, Layer::Bundle, Layer::User, Layer::Project] {
        for list in lists.iter().filter(|list| list.layer == layer) {
            found.extend(
                list.entries
                    .iter()
                    .filter(|entry| applies(list, entry, request))
                    .filter(|entry| {
                        !metadata
                            || list.effect == Effect::Deny
                            || matches!(entry.pattern, Pattern::Exact(_))
                    })
                    .map(|entry| (list, entry)),
            );
        }
    }
    let first = |effect| found.iter().find(|(list, _)| list.effect == effect);
    let project_ask = found
        .iter()
        .find(|(list, _)| list.effect == Effect::Ask && list.layer == Layer::Project);
    let (ask, allow) = (first(Effect::Ask), first(Effect::Allow));
    let trusted_ask = ask.filter(|(ask, _)| allow.is_none_or(|(allow, _)| ask.layer > allow.layer));
    let deciding = first(Effect::Deny)
        .or(project_ask)
        .or(trusted_ask)
        .or(allow)
        .or(ask);
    if let Some((list, entry)) = deciding {
        let allows = found
            .iter()
            .filter(|(list, _)| list.effect == Effect::Allow);
        let grant = (list.effect == Effect::Allow)
            .then(|| widest(allows.map(|(_, entry)| *entry), request.target.port));
        let in_clear =
            request.wire == Wire::Clear && grant.is_some_and(|grant| grant.tls == TlsRule::Require);
        return Answer {
            effect: if in_clear { Effect::Deny } else { list.effect },
            basis: if in_clear { Basis::Clear } else { Basis::Rule },
            rule: Some(Arc::clone(&entry.rule)),
            grant,
        };
    }
    let class = match &request.target.host {
        Host::Name(name) if is_localhost_name(name) => classify(IpAddr::from([127, 0, 0, 1])),
        Host::Name(_) if metadata => Some(moat_policy::address::AddressClass::Metadata),
        Host::Name(_) => None,
        Host::Address(address) => classify(*address),
    };
    Answer {
        effect: match (class, request.surface) {
            (Some(_), _) => Effect::Deny,
            (None, Surface::Net) => defaults.net,
            (None, Surface::Fetch) => defaults.fetch,
        },
        basis: class.map_or(Basis::Default, Basis::Guarded),
        rule: None,
        grant: None,
    }
}

fn widest<'e>(allows: impl Iterator<Item = &'e Entry>, port: Port) -> Grant {
    let allows: Vec<&Entry> = allows.collect();
    let default = if port.number() == 443 {
        TlsRule::Require
    } else {
        TlsRule::Any
    };
    let any_tls = allows
        .iter()
        .any(|entry| entry.tls.unwrap_or(default) == TlsRule::Any);
    let any_sni = allows.iter().any(|entry| entry.sni == Some(SniRule::Any));
    Grant {
        tls: if any_tls {
            TlsRule::Any
        } else {
            TlsRule::Require
        },
        sni: if any_sni {
            SniRule::Any
        } else {
            SniRule::Match
        },
        until: allows
            .iter()
            .map(|entry| entry.until)
            .reduce(|one, other| Some(one?.max(other?)))
            .flatten(),
    }
}
