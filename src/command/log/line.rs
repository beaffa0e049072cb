//! One record as one line for people.

use moat_policy::record::{Event, Protocol, Record};

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
    words.push(format!("cause={}", record.cause.as_str()));
    words.extend(record.rule.as_deref().map(|rule| format!("rule={rule}")));
    words.extend(
        record
            .source
            .as_deref()
            .map(|source| format!("at={source}")),
    );
    words.extend(record.address.map(|address| format!("address={address}")));
    words.extend(record.status.map(|status| format!("status={status}")));
    words.extend(record.bytes_up.map(|bytes| format!("up={bytes}")));
    words.extend(record.bytes_down.map(|bytes| format!("down={bytes}")));
    words.extend(record.duration_ms.map(|time| format!("took={time}ms")));
    words.extend(record.reason.as_deref().map(|reason| format!("({reason})")));
    words.join(" ")
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
