//! Why a request is judged as it is, which entries came close, and what would change it.
//!
//! The verdict is the policy's own; what is added here looks at one entry after the other, so it
//! is for people who ask and never on the way of a request.

use std::fmt;
use std::sync::Arc;

use crate::address::{self, AddressClass, METADATA, is_localhost_name, is_metadata_name};
use crate::compile::{self, Compiled, Filed};
use crate::entry::Entry;
use crate::host::Host;
use crate::http::{Match, RequestPath};
use crate::layer;
use crate::port::{Port, PortSet};
use crate::request::{Request, Surface, Target};
use crate::verdict::{Basis, Effect, Layer, Rule, Verdict};

/// The most entries that are shown.
const MOST: usize = 5;

/// All that there is to say about one request.
#[derive(Debug)]
pub struct Explanation<'c> {
    /// What the policy says.
    pub verdict: Verdict<'c>,
    /// The entries that let something through and came close, the nearest first; none for a
    /// request that is allowed.
    pub near: Vec<Near>,
    /// What would let the request through.
    pub change: Change,
}

/// An entry that came close.
#[derive(Clone, Debug)]
pub struct Near {
    /// The entry.
    pub rule: Arc<Rule>,
    /// What kept it from deciding.
    pub miss: Miss,
}

impl fmt::Display for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rule {
            entry,
            effect,
            file,
            line,
            ..
        } = &*self.rule;
        write!(f, "{effect} `{entry}` in {file}:{line}")?;
        if let Some(preset) = &self.rule.preset {
            write!(f, " (preset `{preset}`)")?;
        }
        write!(f, ": {}", self.miss)
    }
}

/// What kept an entry from deciding, the smallest difference first.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new difference must be shown everywhere"
)]
pub enum Miss {
    /// It matches, and something stricter matches too.
    Overruled,
    /// It names other ports.
    Ports(PortSet),
    /// It matches, and requires TLS, and the request is sent in clear.
    Clear,
    /// It names methods or paths, and in a tunnel neither is seen.
    Unseen,
    /// It names methods or paths, and servers could read those of the request as these or as others.
    Uncertain,
    /// It names other methods or paths.
    Http,
    /// Its time is over.
    Expired,
    /// An exclusion of its list takes the host out.
    Excluded,
    /// It is for fetch tools alone.
    FetchOnly,
    /// It names another host of the same domain.
    Relative,
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overruled => f.write_str("it matches, and something stricter does too"),
            Self::Ports(ports) => write!(f, "the host is right, its ports are {ports}"),
            Self::Unseen => {
                f.write_str("it names methods or paths, which cannot be seen in this request")
            }
            Self::Clear => f.write_str("it requires TLS, and this request is sent in clear"),
            Self::Uncertain => f.write_str(
                "servers could read the method or path of this request as one that it names, or as \
                 another",
            ),
            Self::Http => f.write_str("the host is right, its methods or paths are others"),
            Self::Expired => f.write_str("its time is over"),
            Self::Excluded => f.write_str("an exclusion of its list takes this host out"),
            Self::FetchOnly => f.write_str("it is for fetch tools alone"),
            Self::Relative => f.write_str("another host of the same domain"),
        }
    }
}

/// What would let a request through.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new way out must be shown everywhere"
)]
pub enum Change {
    /// Nothing needs to change.
    None,
    /// These entries in allow groups, a space between them.
    Allow(String),
    /// TLS, or an entry with `tls: any`; where nothing allows the host yet, these entries too.
    Tls(Option<String>),
    /// The entry that denies has to go: nothing overrules it.
    Remove(Arc<Rule>),
    /// The entry that asks wins over an allow of the user: it comes from a more trusted file, or
    /// from the project, whose asks always count.
    Outrank(Arc<Rule>),
    /// Only the machine's file can allow.
    Exclusive,
    /// Nothing can open an address of this class.
    Never(AddressClass),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("nothing: it is allowed"),
            Self::Allow(entry) => write!(f, "`moat allow {entry}`"),
            Self::Tls(None) => f.write_str("TLS (`https:`), or `tls: any` in the entry"),
            Self::Tls(Some(entry)) => write!(
                f,
                "`moat allow {entry}` and TLS (`https:`), or an entry with `tls: any`"
            ),
            Self::Remove(rule) => write!(
                f,
                "removing or narrowing `{}` in {}:{}: a deny always wins",
                rule.entry, rule.file, rule.line
            ),
            Self::Outrank(rule) => {
                if rule.layer > Layer::User {
                    write!(
                        f,
                        "an allow entry in the {} policy, or ",
                        rule.layer.as_str()
                    )?;
                }
                write!(
                    f,
                    "removing `{}` in {}:{}",
                    rule.entry, rule.file, rule.line
                )
            }
            Self::Exclusive => {
                f.write_str("an allow entry in the machine's policy, which is exclusive")
            }
            Self::Never(class) => write!(f, "nothing: {class} addresses are never dialled"),
        }
    }
}

/// Explains one request.
pub fn explain<'c>(compiled: &'c Compiled, request: &Request<'_>) -> Explanation<'c> {
    let verdict = compiled.policy.decide(request);
    let near = if verdict.effect == Effect::Allow {
        Vec::new()
    } else {
        near(compiled, request, &verdict)
    };
    Explanation {
        near,
        change: change(compiled, request, &verdict),
        verdict,
    }
}

/// The entry that names one host on one port: for a literal or guarded address the address
/// itself, never a name.
/// The names below `localhost` are the one address that `localhost` is.
pub fn naming_entry(host: &Host, port: Port) -> String {
    let host = match host {
        Host::Name(name) if is_localhost_name(name) => "localhost".to_owned(),
        Host::Name(_) | Host::Address(_) => host.to_string(),
    };
    if PortSet::web().contains(port) {
        host
    } else {
        format!("{host}:{port}")
    }
}

/// The entries that open one host on one port: of the name of a metadata service its address too,
/// which nothing but its own entry opens, and of an address those inside it.
pub fn opening_entries(host: &Host, port: Port) -> Vec<String> {
    let of_address = |address| naming_entry(&Host::Address(address), port);
    match host {
        Host::Name(name) if is_metadata_name(name) => {
            vec![naming_entry(host, port), of_address(METADATA.into())]
        }
        Host::Address(address) => address::to_open(*address).map(of_address).collect(),
        Host::Name(_) => vec![naming_entry(host, port)],
    }
}

fn change(compiled: &Compiled, request: &Request<'_>, verdict: &Verdict<'_>) -> Change {
    let target = request.target;
    let entries = || opening_entries(&target.host, target.port).join(" ");
    match (verdict.effect, verdict.basis, verdict.rule) {
        (Effect::Allow, ..) => Change::None,
        (_, Basis::Clear, _) => Change::Tls(None),
        (_, Basis::Guarded(class), _) if !class.is_openable() => Change::Never(class),
        (Effect::Deny, _, Some(rule)) => Change::Remove(Arc::clone(rule)),
        _ if layer::is_exclusive(&compiled.layers) => Change::Exclusive,
        (_, _, Some(rule)) if rule.layer != Layer::User => Change::Outrank(Arc::clone(rule)),
        _ if verdict.grant.refuses(request.wire) => Change::Tls(Some(entries())),
        _ => Change::Allow(entries()),
    }
}

fn near(compiled: &Compiled, request: &Request<'_>, verdict: &Verdict<'_>) -> Vec<Near> {
    let look = Look {
        request,
        path: request.path.map(RequestPath::new),
        basis: verdict.basis,
        domain: request
            .target
            .host
            .name()
            .and_then(|name| psl::domain_str(name.as_str())),
    };
    let mut found: Vec<(usize, Near)> = Vec::new();
    for filed in compile::file(&compiled.layers) {
        if filed.list.effect == Effect::Deny {
            continue;
        }
        for entry in &filed.list.entries {
            if verdict.rule.is_some_and(|rule| **rule == *entry.rule) {
                continue;
            }
            if let Some(miss) = look.miss(&filed, entry) {
                let rule = Arc::clone(&entry.rule);
                let distance = look.distance(entry, &miss);
                found.push((distance, Near { rule, miss }));
                if found.len() > MOST.saturating_mul(16) {
                    found.sort_by_key(|(distance, _)| *distance);
                    found.truncate(MOST);
                }
            }
        }
    }
    found.sort_by_key(|(distance, _)| *distance);
    found.truncate(MOST);
    found.into_iter().map(|(_, near)| near).collect()
}

struct Look<'r> {
    request: &'r Request<'r>,
    path: Option<RequestPath<'r>>,
    /// Why the verdict is what it is.
    basis: Basis,
    /// The registrable domain of the host.
    domain: Option<&'r str>,
}

impl Look<'_> {
    /// What keeps an entry that lets something through from deciding; `None` if it is far off.
    fn miss(&self, filed: &Filed<'_>, entry: &Entry) -> Option<Miss> {
        let Target { host, port } = self.request.target;
        if !entry.pattern.matches(host) {
            return self.is_relative(entry).then_some(Miss::Relative);
        }
        let excludes = filed
            .list
            .exclusions
            .iter()
            .any(|one| one.ports.contains(*port) && one.pattern.matches(host));
        let http = entry.http.as_ref().map_or(Match::Yes, |rule| {
            rule.judge(self.request.method, self.path.as_ref())
        });
        let is_over = entry.until.is_some_and(|until| until <= self.request.now);
        Some(if !entry.ports.contains(*port) {
            Miss::Ports(entry.ports.clone())
        } else if excludes {
            Miss::Excluded
        } else if is_over {
            Miss::Expired
        } else if filed.list.surface == Surface::Fetch && self.request.surface == Surface::Net {
            Miss::FetchOnly
        } else {
            match http {
                Match::Yes if self.basis == Basis::Clear && filed.list.effect == Effect::Allow => {
                    Miss::Clear
                }
                Match::Yes => Miss::Overruled,
                Match::Unknown if self.sees_all_of(entry) => Miss::Uncertain,
                Match::Unknown => Miss::Unseen,
                Match::No => Miss::Http,
            }
        })
    }

    /// Whether the request shows all that an entry names of methods and paths.
    fn sees_all_of(&self, entry: &Entry) -> bool {
        entry.http.as_ref().is_none_or(|rule| {
            (rule.methods().is_empty() || self.request.method.is_some())
                && (rule.paths().is_empty() || self.request.path.is_some())
        })
    }

    fn is_relative(&self, entry: &Entry) -> bool {
        let Some(domain) = self.domain else {
            return false;
        };
        let name = entry.pattern.to_string();
        name.strip_suffix(domain)
            .is_some_and(|front| front.is_empty() || front.ends_with('.'))
    }

    /// The order in which differences are shown; among relatives the longer common tail first.
    fn distance(&self, entry: &Entry, miss: &Miss) -> usize {
        match miss {
            Miss::Overruled | Miss::Clear => 0,
            Miss::Ports(_) => 1,
            Miss::Unseen | Miss::Uncertain => 2,
            Miss::Http => 3,
            Miss::Expired => 4,
            Miss::Excluded => 5,
            Miss::FetchOnly => 6,
            Miss::Relative => {
                let host = self.request.target.host.to_string();
                let name = entry.pattern.to_string();
                let pairs = host.rsplit('.').zip(name.rsplit('.'));
                let common = pairs.take_while(|(a, b)| a == b).count();
                1000_usize.saturating_sub(common)
            }
        }
    }
}

#[cfg(test)]
mod tests;
