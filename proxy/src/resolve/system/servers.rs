//! The name servers in a resolver configuration, resolv.conf(5).
//!
//! Only the lines that name servers count: names are absolute, so that no search list applies, and
//! time-outs and the order of questions are the proxy's own. It does not know where the text comes
//! from.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// How many servers are asked; every resolver of a system leaves out what follows.
const MAX_SERVERS: usize = 3;
const PORT: u16 = 53;

/// A line that names a server which cannot be asked.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Skipped {
    /// Its number, from 1.
    pub(super) line: usize,
    /// What it says.
    pub(super) text: String,
    /// What is wrong, and what to do about it.
    pub(super) problem: &'static str,
}

/// The servers in the order in which they are asked, and the lines that name none. `index` gives
/// the number of an interface. Without any server it is the one on this host.
pub(super) fn parse(
    text: &str,
    index: impl Fn(&str) -> Option<u32>,
) -> (Vec<SocketAddr>, Vec<Skipped>) {
    let (mut servers, mut skipped) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let mut words = line.split_ascii_whitespace();
        if words.next() != Some("nameserver") {
            continue;
        }
        let text = words.next().unwrap_or_default();
        let server = match server(text, &index) {
            Ok(_) if servers.len() == MAX_SERVERS => Err("only the first three servers are asked"),
            server => server,
        };
        match server {
            Ok(server) => servers.push(server),
            Err(problem) => skipped.push(Skipped {
                line: number + 1,
                text: text.to_owned(),
                problem,
            }),
        }
    }
    if servers.is_empty() {
        servers.push(SocketAddr::from(([127, 0, 0, 1], PORT)));
    }
    (servers, skipped)
}

/// Whether the servers are to be asked over TCP alone, which is not done.
pub(super) fn wants_tcp(text: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.split_ascii_whitespace();
        words.next() == Some("options") && words.any(|word| word == "use-vc")
    })
}

fn server(text: &str, index: &impl Fn(&str) -> Option<u32>) -> Result<SocketAddr, &'static str> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return if matches!(address, IpAddr::V6(address) if address.is_unicast_link_local()) {
            Err("a link-local server needs its interface, as in `fe80::1%eth0`")
        } else {
            Ok(SocketAddr::new(address, PORT))
        };
    }
    if text.starts_with('[') {
        return Err("write the address without brackets and port, or give the server with `--dns`");
    }
    let scoped = text.split_once('%');
    let scoped = scoped.and_then(|(address, scope)| Some((address.parse().ok()?, scope)));
    let Some((address, scope)) = scoped else {
        return Err("write an IPv4 or IPv6 address");
    };
    let address: Ipv6Addr = address;
    let number = scope.parse().ok().or_else(|| index(scope));
    let number = number.ok_or("this host has no such interface")?;
    Ok(SocketAddrV6::new(address, PORT, 0, number).into())
}

#[cfg(test)]
mod tests;
