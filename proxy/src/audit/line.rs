//! An event as one line of JSON: the schema of [`Record`], in which a line is a line and nothing
//! can act on a terminal.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::SystemTime;

use moat_policy::host::Host;
use moat_policy::record::{Event, Record, Severity};
use moat_policy::source::is_hidden;
use serde::Serialize as _;
use serde_json::ser::Formatter;
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

use crate::record::Entry;

const TIMESTAMP: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");

/// Appends the line of this event, the line break included.
pub(super) fn append(out: &mut Vec<u8>, entry: Entry, seq: u64) -> io::Result<()> {
    let start = out.len();
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, Visible);
    if let Err(error) = record(entry, seq).serialize(&mut serializer) {
        out.truncate(start);
        return Err(error.into());
    }
    out.push(b'\n');
    Ok(())
}

fn record(entry: Entry, seq: u64) -> Record {
    let mut record = Record::new(
        timestamp(entry.at),
        seq,
        entry.id.to_string(),
        entry.event,
        entry.cause,
    );
    if let Some(target) = &entry.target {
        record.host = Some(match &target.host {
            Host::Name(name) => name.to_shared(),
            Host::Address(address) => Arc::from(address.to_string()),
        });
        record.port = Some(target.port.number());
    }
    if let Some(rule) = &entry.rule {
        record.rule = Some(Arc::clone(&rule.id));
        record.source = Some(Cow::Owned(format!("{}:{}", rule.file, rule.line)));
    }
    if let Some(traffic) = entry.traffic {
        let millis = traffic.duration.as_millis();
        record.bytes_up = Some(traffic.up);
        record.bytes_down = Some(traffic.down);
        record.duration_ms = Some(u64::try_from(millis).unwrap_or(u64::MAX));
        record.ended_by = Some(traffic.ended_by);
    }
    record.severity = Severity::of(entry.event, entry.effect, entry.cause);
    record.protocol = entry.protocol;
    record.actor = entry.actor.map(Arc::unwrap_or_clone);
    record.method = entry.method.map(Cow::Borrowed);
    record.address = entry.address;
    record.effect = entry.effect;
    record.enforced = entry.enforced;
    record.status = entry.status;
    record.reason = match entry.rule.as_ref().and_then(|rule| rule.reason.as_deref()) {
        Some(reason) if entry.event == Event::Decision => Some(with_reason(entry.reason, reason)),
        Some(_) | None => entry.reason,
    };
    record.policy = entry.policy;
    record
}

/// What is said of a decision, and the rule's own reason, which the policy keeps short.
fn with_reason(words: Option<Cow<'static, str>>, reason: &str) -> Cow<'static, str> {
    Cow::Owned(match words {
        Some(words) => format!("{words}: {reason}"),
        None => reason.to_owned(),
    })
}

/// RFC 3339, UTC, with microseconds.
pub(crate) fn timestamp(at: SystemTime) -> String {
    // Only a year beyond 9999 cannot be written.
    OffsetDateTime::from(at)
        .format(TIMESTAMP)
        .unwrap_or_else(|_| "9999-12-31T23:59:59.999999Z".to_owned())
}

/// Compact JSON in which every character is visible: what steers a terminal, breaks a line for
/// some reader, or reorders text is escaped, beyond what JSON itself asks for.
struct Visible;

impl Formatter for Visible {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        for piece in fragment.split_inclusive(is_hidden) {
            let Some(hidden) = piece.chars().next_back().filter(|&c| is_hidden(c)) else {
                writer.write_all(piece.as_bytes())?;
                continue;
            };
            let shown = piece.strip_suffix(hidden).unwrap_or_default();
            writer.write_all(shown.as_bytes())?;
            let mut units = [0; 2];
            for unit in hidden.encode_utf16(&mut units) {
                write!(writer, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
