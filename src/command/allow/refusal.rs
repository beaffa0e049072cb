//! What a running proxy refused: which entry would let it through, and in which file.
//!
//! Hostile code can time a refusal and choose its host, so nothing found here is ever written
//! without a person who reads it.

use std::path::{Path, PathBuf};

use moat_policy::address::is_localhost_name;
use moat_policy::edit::{Item, Section};
use moat_policy::explain::{naming_entry, opening_entries};
use moat_policy::host::Host;
use moat_policy::record::{Cause, Event, Protocol, Record};
use moat_policy::verdict::Effect;

use crate::places::{MACHINE_POLICY, Places};
use crate::problem::{self, Problem};
use crate::record_file::{self, Line, Lines};
use crate::review::{self, Yes};
use crate::state::{self, Running};

/// Which refusal is meant.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Which {
    /// The last one.
    Last,
    /// The one with this id.
    Id(String),
}

impl Which {
    /// From `--last` and `--id`.
    pub(super) fn of(last: bool, id: Option<&str>) -> Option<Self> {
        match (last, id) {
            (_, Some(id)) => Some(Self::Id(id.to_owned())),
            (true, None) => Some(Self::Last),
            (false, None) => None,
        }
    }

    fn flag(&self) -> &'static str {
        match self {
            Self::Last => "--last",
            Self::Id(_) => "--id",
        }
    }
}

/// A refusal, as far as a policy can change it.
#[derive(Debug)]
pub(super) struct Refusal {
    /// What would let it through, all of it.
    pub(super) items: Vec<Item>,
    /// What happened, for the person who decides.
    pub(super) words: String,
    /// The policy of the proxy that refused.
    pub(super) policy: PathBuf,
}

/// Looks through the records of the running proxies.
pub(super) fn find(
    which: &Which,
    section: Section,
    yes: Yes,
    places: &Places,
) -> Result<Refusal, Problem> {
    let flag = which.flag();
    if yes == Yes::Given {
        return Err(Problem::usage(format!(
            "`{flag}` with `--yes`: code that was refused could choose what is allowed"
        ))
        .with_hint("name the host instead"));
    }
    if !review::at_terminal() {
        return Err(
            Problem::usage(format!("`{flag}` needs a person at a terminal"))
                .with_hint("name the host instead"),
        );
    }
    let directory = places.running();
    let proxies =
        state::running(&directory).map_err(|error| state::unreadable(&directory, &error))?;
    if proxies.is_empty() {
        return Err(state::nobody());
    }
    let mut newest: Option<(Record, Running)> = None;
    for proxy in proxies {
        let Some(record) = refused_by(&proxy, which)? else {
            continue;
        };
        if newest
            .as_ref()
            .is_none_or(|(other, _)| other.ts < record.ts)
        {
            newest = Some((record, proxy));
        }
    }
    let Some((record, proxy)) = newest else {
        return Err(Problem::failed(match which {
            Which::Last => "no running proxy has refused anything".to_owned(),
            Which::Id(id) => format!("no running proxy has refused a request `{id}`"),
        })
        .with_hint("`moat log` shows the records"));
    };
    Ok(Refusal {
        items: items(&record, section)?,
        words: words(&record),
        policy: policy_of(&proxy, places),
    })
}

/// The last refusal that is meant, in the records of one proxy and those rotated away.
fn refused_by(proxy: &Running, which: &Which) -> Result<Option<Record>, Problem> {
    let Some(path) = &proxy.record else {
        return Ok(None);
    };
    let unreadable = |error| record_file::unreadable(path, &error);
    let files = record_file::with_rotated(path).map_err(unreadable)?;
    for file in files.iter().rev() {
        let mut lines = Lines::open(file).map_err(unreadable)?;
        let mut found = None;
        while let Some(line) = lines.next().map_err(unreadable)? {
            if let Line::Record(record, _) = line {
                found = Some(*record)
                    .filter(|record| is_meant(record, which))
                    .or(found);
            }
        }
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn is_meant(record: &Record, which: &Which) -> bool {
    let refused = matches!(record.effect, Some(Effect::Deny | Effect::Ask));
    record.event == Event::Decision
        && refused
        && match which {
            Which::Last => true,
            Which::Id(id) => record.id.eq_ignore_ascii_case(id),
        }
}

/// The entries that answer a refusal: of a guarded address the address, never the name.
fn items(record: &Record, section: Section) -> Result<Vec<Item>, Problem> {
    let host = match (record.cause, record.address, record_file::host(record)) {
        (Cause::Guarded, Some(address), _) => Some(Host::Address(address)),
        // `localhost` is an address by definition; of other names it is not known.
        (Cause::Guarded, None, Some(Host::Name(name))) if !is_localhost_name(&name) => None,
        (_, _, host) => host,
    };
    let is_ask = record.effect == Some(Effect::Ask);
    let useless = if matches!(record.cause, Cause::Default | Cause::Guarded) || is_ask {
        None
    } else if record.cause == Cause::Policy {
        Some("a `deny` rule refused it, and no `allow` lifts a `deny`")
    } else if record.cause == Cause::Sni && record.protocol == Some(Protocol::Http) {
        Some("it was sent in clear where TLS is required; the URL has to begin with `https:`")
    } else {
        Some("it was not refused by the policy")
    };
    if let (Section::Allow, Some(why)) = (section, useless) {
        return Err(Problem::failed(format!("{}: {why}", words(record)))
            .with_hint(format!("`moat why {}` says more", record.id)));
    }
    let Some(host) = host else {
        return Err(Problem::failed(format!(
            "{}: the record does not say which address or host an entry would have to name",
            words(record)
        )));
    };
    let port = record_file::port(record);
    let entries = match section {
        Section::Allow => opening_entries(&host, port),
        Section::Deny => vec![naming_entry(&host, port)],
    };
    let items = entries.iter().map(|entry| Item::parse(entry, None));
    items
        .collect::<Result<_, _>>()
        .map_err(|error| super::change::refused("the record", error))
}

fn words(record: &Record) -> String {
    let target = record_file::authority(record);
    let target = target.unwrap_or_else(|| "a host that could not be read".to_owned());
    let address = match record.address {
        Some(address) if record.cause == Cause::Guarded => format!(", address {address}"),
        _ => String::new(),
    };
    format!(
        "{} {}: {target}{address} was refused ({})",
        record.ts,
        record.id,
        record.cause.as_str()
    )
}

/// The first file of the proxy that is its user's own; its user's usual one if it has none.
fn policy_of(proxy: &Running, places: &Places) -> PathBuf {
    proxy
        .policy
        .iter()
        .find(|path| !is_machine(path))
        .unwrap_or(&places.user_policy)
        .clone()
}

fn is_machine(path: &Path) -> bool {
    path == Path::new(MACHINE_POLICY)
}

/// Says so where a proxy runs that will not see the change.
pub(super) fn note_other_policies(path: &Path, places: &Places) {
    let directory = places.running();
    let proxies = match state::running(&directory) {
        Ok(proxies) => proxies,
        // What was asked is done; that nobody knows who reads it is worth a word.
        Err(error) => {
            return problem::note(format_args!(
                "note: whether a running proxy reads this file is not known: {}",
                state::unreadable(&directory, &error).summary()
            ));
        }
    };
    let path = places.resolve(path);
    for proxy in proxies {
        // A proxy on the built-in default watches for the user's file.
        let reads =
            proxy.policy.contains(&path) || proxy.policy.is_empty() && path == places.user_policy;
        if !reads {
            problem::note(format_args!(
                "note: the proxy with process id {} does not read this file: {}",
                proxy.pid,
                files(&proxy)
            ));
        }
    }
}

fn files(proxy: &Running) -> String {
    if proxy.policy.is_empty() {
        return "it runs on the built-in default".to_owned();
    }
    let names = proxy.policy.iter().map(|path| path.display().to_string());
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
