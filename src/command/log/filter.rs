//! Which records somebody wants to see.

use std::time::SystemTime;

use clap::{Args, ValueEnum};
use moat_policy::record::{Event, Record};
use moat_policy::verdict::Effect;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::duration;
use crate::problem::Problem;

/// The filters; a record passes all of them.
#[derive(Args, Debug, Default)]
pub(super) struct Filter {
    /// Only this host, or with a leading `*.` every host below it.
    #[arg(long, value_name = "HOST")]
    host: Option<String>,

    /// Only this effect.
    #[arg(long, value_enum)]
    effect: Option<EffectWord>,

    /// Only this event.
    #[arg(long, value_enum)]
    event: Option<EventWord>,

    /// Only the request with this id.
    #[arg(long)]
    id: Option<String>,

    /// Only from this time on: `10m` for ten minutes ago, or `2026-01-31T12:00:00Z`.
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
}

/// The effects of records.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum EffectWord {
    Allow,
    Deny,
    Ask,
}

/// The events of records.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum EventWord {
    Decision,
    Close,
    Reload,
    Start,
    Stop,
}

/// A filter with its time worked out.
#[derive(Debug)]
pub(super) struct Since<'a> {
    filter: &'a Filter,
    since: Option<OffsetDateTime>,
}

impl Filter {
    /// Works out `--since`.
    pub(super) fn starting_from(&self, now: SystemTime) -> Result<Since<'_>, Problem> {
        let since = self.since.as_deref();
        let since = since.map(|text| point_in_time(text, now)).transpose()?;
        Ok(Since {
            filter: self,
            since,
        })
    }
}

impl Since<'_> {
    /// Whether the record is one of those that are wanted.
    pub(super) fn passes(&self, record: &Record) -> bool {
        let Filter {
            host,
            effect,
            event,
            id,
            since: _,
        } = self.filter;
        let is_host = |wanted: &str| {
            let host = record.host.as_deref();
            host.is_some_and(|host| is_host_of(host, wanted))
        };
        host.as_deref().is_none_or(is_host)
            && effect.is_none_or(|wanted| record.effect == Some(wanted.into()))
            && event.is_none_or(|wanted| record.event == wanted.into())
            && id
                .as_deref()
                .is_none_or(|wanted| record.id.eq_ignore_ascii_case(wanted))
            && self
                .since
                .is_none_or(|since| is_at_or_after(&record.ts, since))
    }
}

fn is_host_of(host: &str, wanted: &str) -> bool {
    match wanted.strip_prefix("*.") {
        Some(parent) => host
            .len()
            .checked_sub(parent.len())
            .and_then(|at| host.split_at_checked(at))
            .is_some_and(|(below, tail)| {
                below.len() > 1 && below.ends_with('.') && tail.eq_ignore_ascii_case(parent)
            }),
        None => host.eq_ignore_ascii_case(wanted.trim_end_matches('.')),
    }
}

/// A time that cannot be read is shown: not knowing hides nothing.
fn is_at_or_after(ts: &str, since: OffsetDateTime) -> bool {
    OffsetDateTime::parse(ts, &Rfc3339).map_or(true, |at| at >= since)
}

fn point_in_time(text: &str, now: SystemTime) -> Result<OffsetDateTime, Problem> {
    if let Ok(time) = OffsetDateTime::parse(text, &Rfc3339) {
        return Ok(time);
    }
    let ago = duration::parse(text).ok();
    ago.and_then(|ago| OffsetDateTime::from(now).checked_sub(ago.try_into().ok()?))
        .ok_or_else(|| {
            Problem::usage(format!("`{text}` is no time")).with_hint(
                "write how long ago, such as `10m`, or a time such as `2026-01-31T12:00:00Z`",
            )
        })
}

impl From<EffectWord> for Effect {
    fn from(word: EffectWord) -> Self {
        match word {
            EffectWord::Allow => Self::Allow,
            EffectWord::Deny => Self::Deny,
            EffectWord::Ask => Self::Ask,
        }
    }
}

impl From<EventWord> for Event {
    fn from(word: EventWord) -> Self {
        match word {
            EventWord::Decision => Self::Decision,
            EventWord::Close => Self::Close,
            EventWord::Reload => Self::Reload,
            EventWord::Start => Self::Start,
            EventWord::Stop => Self::Stop,
        }
    }
}

#[cfg(test)]
mod tests;
