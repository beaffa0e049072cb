//! What a pattern matches and which patterns lie inside another, one pattern at a time: for
//! findings and explanations. Decisions are the table's part, which a test holds against this.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::{Host, HostName, Pattern};

impl Pattern {
    /// Whether the pattern matches a host.
    pub fn matches(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Exact(name), Host::Name(host)) => name == host,
            (Self::Below(tail), Host::Name(host)) => is_below(host.as_str(), tail.as_str()),
            (Self::AtOrBelow(tail), Host::Name(host)) => {
                tail == host || is_below(host.as_str(), tail.as_str())
            }
            (Self::Glob(glob), Host::Name(host)) => glob_matches(glob, host),
            (Self::AnyName, Host::Name(_)) => true,
            (Self::Range(range), Host::Address(address)) => range.contains(&address.to_canonical()),
            (Self::Localhost, Host::Name(host)) => crate::address::is_localhost_name(host),
            (Self::Localhost, Host::Address(address)) => is_localhost(address.to_canonical()),
            (Self::Range(range), Host::Name(host)) => {
                crate::address::is_localhost_name(host) && holds_localhost(range)
            }
            (
                Self::Exact(_)
                | Self::Below(_)
                | Self::AtOrBelow(_)
                | Self::Glob(_)
                | Self::AnyName,
                Host::Address(_),
            ) => false,
        }
    }

    /// Whether every host of the other pattern surely is one of this pattern. `false` where that
    /// would take more than a look at the labels.
    pub fn covers(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        match (self, other) {
            (Self::AnyName, Self::Range(_) | Self::Localhost) => false,
            (Self::AnyName, _) => true,
            (Self::Range(wide), Self::Range(narrow)) => wide.contains(narrow),
            (Self::Below(tail), Self::Exact(name)) => is_below(name.as_str(), tail.as_str()),
            (Self::Below(tail), Self::Below(inner)) => {
                tail == inner || is_below(inner.as_str(), tail.as_str())
            }
            (Self::Below(tail), Self::AtOrBelow(inner)) => is_below(inner.as_str(), tail.as_str()),
            (
                Self::AtOrBelow(tail),
                Self::Exact(name) | Self::Below(name) | Self::AtOrBelow(name),
            ) => tail == name || is_below(name.as_str(), tail.as_str()),
            (Self::Below(tail) | Self::AtOrBelow(tail), Self::Glob(glob)) => {
                let inner = literal_tail(glob);
                inner == tail.as_str() || is_below(inner, tail.as_str())
            }
            (Self::Glob(glob), Self::Exact(name)) => glob_matches(glob, name),
            _ => false,
        }
    }
}

/// The labels behind the last `*` of a glob; empty where its last label holds one.
pub(crate) fn literal_tail(glob: &str) -> &str {
    let behind = glob
        .rfind('*')
        .map_or(glob, |at| glob.get(at..).unwrap_or(""));
    behind.split_once('.').map_or("", |(_, tail)| tail)
}

/// Whether a name lies below another, with a dot between.
fn is_below(name: &str, tail: &str) -> bool {
    name.strip_suffix(tail)
        .and_then(|front| front.strip_suffix('.'))
        .is_some_and(|front| !front.is_empty())
}

fn is_localhost(address: IpAddr) -> bool {
    address == IpAddr::V4(Ipv4Addr::LOCALHOST) || address == IpAddr::V6(Ipv6Addr::LOCALHOST)
}

/// `localhost` is one resource with 127.0.0.1 and `::1`, whichever of them an entry names.
fn holds_localhost(range: &IpNet) -> bool {
    let loopback = [
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST),
    ];
    loopback.iter().any(|address| range.contains(address))
}

/// Label by label from the right; what is left over in front is the matter of the lead.
fn glob_matches(glob: &str, host: &HostName) -> bool {
    let (lead, labels) = if let Some(rest) = glob.strip_prefix("**.") {
        (Some(0), rest)
    } else if let Some(rest) = glob.strip_prefix("*.") {
        (Some(1), rest)
    } else {
        (None, glob)
    };
    let mut names = host.as_str().rsplit('.');
    for label in labels.rsplit('.') {
        if !names
            .next()
            .is_some_and(|name| label_matches(label.as_bytes(), name.as_bytes()))
        {
            return false;
        }
    }
    let left = names.count();
    lead.map_or(left == 0, |least| left >= least)
}

/// One label: each `*` is one or more characters. Only the last `*` is ever tried again, so the
/// time is the product of both lengths at most.
fn label_matches(mut pattern: &[u8], mut name: &[u8]) -> bool {
    let mut again: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => return true,
            (Some((b'*', rest)), Some((_, after))) => {
                again = Some((rest, after));
                (pattern, name) = (rest, after);
            }
            (Some((wanted, rest)), Some((found, after))) if wanted == found => {
                (pattern, name) = (rest, after);
            }
            _ => {
                let Some((rest, after)) = again else {
                    return false;
                };
                let Some((_, further)) = after.split_first() else {
                    return false;
                };
                again = Some((rest, further));
                (pattern, name) = (rest, further);
            }
        }
    }
}

#[cfg(test)]
mod tests;
