//! One record as one line for people.

use std::borrow::Cow;

use moat_policy::record::{Cause, Event, Protocol, Record};

use crate::record_file;

/// Time, id, what happened, to what, and why. Nothing is escaped here: the output does that.
pub(super) fn render(record: &Record) -> String {
    let mut words: Vec<String> = vec![
        record.ts.clone().into_owned(),
        record.id.clone().into_owned(),
    ];
    match record.event {
        Event::Close => words.push("close".to_owned()),
        Event::Decision => words.push(effect(record)),
        Event::Reload => words.push("reload".to_owned()),
        Event::Start => words.push("start".to_owned()),
        Event::Stop => words.push("stop".to_owned()),
        _ => words.push("other".to_owned()),
    }
    words.extend(record.protocol.map(|protocol| protocol.as_str().to_owned()));
    // The method of a tunnel says no more than its protocol.
    let method = record.method.as_deref();
    let method = method.filter(|_| record.protocol != Some(Protocol::Connect));
    words.extend(method.map(str::to_owned));
    words.extend(target(record));
    let is_request = matches!(record.event, Event::Decision | Event::Close);
    // That the proxy started or ended in the ordinary way goes without saying.
    if is_request || record.cause != Cause::Done {
        words.push(format!("cause={}", record.cause.as_str()));
    }
    let named = |name, value: &str| format!("{name}={}", quoted(value));
    words.extend(record.rule.as_deref().map(|rule| named("rule", rule)));
    words.extend(record.source.as_deref().map(|source| named("at", source)));
    words.extend(record.address.map(|address| format!("address={address}")));
    words.extend(record.status.map(|status| format!("status={status}")));
    words.extend(record.bytes_up.map(|bytes| format!("up={bytes}")));
    words.extend(record.bytes_down.map(|bytes| format!("down={bytes}")));
    words.extend(record.duration_ms.map(|time| format!("took={time}ms")));
    if let Some(reason) = record.reason.as_deref() {
        // The findings about a policy have a line each.
        let reason: Vec<&str> = reason.lines().collect();
        words.push(format!("({})", reason.join("; ")));
    }
    words.join(" ")
}

/// A value as one word: in quotes where a space or a quote in it would make several of it.
fn quoted(value: &str) -> Cow<'_, str> {
    let is_word = |c: char| !c.is_whitespace() && c != '"';
    if !value.is_empty() && value.chars().all(is_word) {
        return Cow::Borrowed(value);
    }
    let escaped = value.replace('\\', r"\\").replace('"', "\\\"");
    Cow::Owned(format!("\"{escaped}\""))
}

fn effect(record: &Record) -> String {
    let word = record.effect.map_or("refuse", |effect| effect.as_str());
    if record.enforced {
        word.to_owned()
    } else {
        format!("{word}(UNENFORCED)")
    }
}

fn target(record: &Record) -> Option<String> {
    let is_request = matches!(record.event, Event::Decision | Event::Close);
    let nobody = || is_request.then(|| "-".to_owned());
    record_file::authority(record).or_else(nobody)
}

#[cfg(test)]
mod tests;
