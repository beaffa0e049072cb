//! Groups: their ids, reasons and lists.

use std::sync::Arc;

use super::{Reader, written};
use crate::address::{AddressClass, is_never_openable};
use crate::diagnostic::code;
use crate::document::{EntryBody, Group, GroupEntry, GroupList, HookKind, HookList};
use crate::gate::Node;
use crate::host::Pattern;
use crate::request::Surface;
use crate::source::Span;
use crate::verdict::Effect;

/// The longest id, in bytes: it stands in a response header.
const LONGEST_ID: usize = 64;

/// The longest reason, in characters.
const LONGEST_REASON: usize = 300;

impl Reader<'_> {
    pub(super) fn group(
        &mut self,
        effect: Effect,
        written: &written::Group,
        node: Node<'_>,
    ) -> Group {
        let id_span = self.id(&written.id, node);
        let mut group = Group {
            effect,
            id: written.id.as_str().into(),
            id_span,
            reason: None,
            lists: Vec::new(),
            hooks: Vec::new(),
        };
        if let (Some(reason), Some(at)) = (&written.reason, node.get("reason")) {
            self.same(reason, at);
            group.reason = self.reason(reason, at);
        }
        let lists = [
            ("net", Surface::Net, &written.net),
            ("fetch", Surface::Fetch, &written.fetch),
        ];
        for (key, surface, entries) in lists {
            if let (Some(entries), Some((at, _))) = (entries, node.pair(key)) {
                let list = self.list((effect, surface), entries, node, at);
                group.lists.push(list);
            }
        }
        let hooks = [
            (HookKind::FsRead, &written.fs_read),
            (HookKind::FsWrite, &written.fs_write),
            (HookKind::Shell, &written.shell),
            (HookKind::EnvRead, &written.env_read),
            (HookKind::EnvSet, &written.env_set),
            (HookKind::Mcp, &written.mcp),
        ];
        for (kind, patterns) in hooks {
            if let (Some(patterns), Some((at, _))) = (patterns, node.pair(kind.as_str())) {
                group.hooks.push(HookList {
                    kind,
                    span: at.span(),
                    patterns: self.texts(Some(patterns), node, kind.as_str()),
                });
            }
        }
        if group.lists.is_empty() && group.hooks.is_empty() {
            let message = format!("the group `{}` names nothing", written.id);
            self.problem(
                code::EMPTY_GROUP,
                id_span,
                message,
                "give it a list, for example `net:`",
            );
        }
        group
    }

    fn id(&mut self, id: &str, node: Node<'_>) -> Span {
        let Some(at) = node.get("id") else {
            self.disagree(node);
            return node.span();
        };
        self.same(id, at);
        let span = at.span();
        if let Some((message, help)) = id_fault(id) {
            self.problem(code::ID, span, message, help);
        } else if let Some(line) = self.ids.get(id) {
            let message = format!("the id `{id}` stands in line {line} already");
            self.problem(
                code::DUPLICATE_ID,
                span,
                message,
                "name one of the groups otherwise",
            );
        } else {
            self.ids.insert(id.into(), span.line);
        }
        span
    }

    fn reason(&mut self, reason: &str, at: Node<'_>) -> Option<Arc<str>> {
        // A folded block ends in a line break and may hold others; messages are one line.
        let line = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        let fault = if line.is_empty() {
            "an empty reason"
        } else if line.chars().any(char::is_control) {
            "a reason with control characters"
        } else if line.chars().count() > LONGEST_REASON {
            "a reason of more than 300 characters"
        } else {
            return Some(line.into());
        };
        self.problem(
            code::TEXT,
            at.span(),
            fault,
            "write one sentence, or leave it out",
        );
        None
    }

    fn list(
        &mut self,
        (effect, surface): (Effect, Surface),
        written: &[written::Entry],
        group: Node<'_>,
        key: Node<'_>,
    ) -> GroupList {
        let before = self.problems.len();
        let mut entries: Vec<GroupEntry> = Vec::with_capacity(written.len());
        let name = key.text().unwrap_or_default();
        for (entry, node) in self.step(Some(written), group, name) {
            let entry = self.entry(entry, node);
            if effect != Effect::Deny
                && let Some(entry) = &entry
            {
                self.refuse_dead(entry);
            }
            entries.extend(entry);
        }
        let excludes = |entry: &GroupEntry| matches!(entry.body, EntryBody::Exclusion { .. });
        let is_sound = self.problems.len() == before;
        if is_sound && !entries.is_empty() && entries.iter().all(excludes) {
            let message = format!("`{name}` holds only exclusions, so it names nothing");
            let help = "add what they are taken out of, for example \"*\", or use a deny group";
            self.problem(code::ONLY_EXCLUSIONS, key.span(), message, help);
        }
        GroupList {
            surface,
            span: key.span(),
            entries,
        }
    }

    /// Refuses an entry that is to let something through and never can.
    fn refuse_dead(&mut self, entry: &GroupEntry) {
        if let EntryBody::Host(host) = &entry.body
            && let Pattern::Range(range) = &host.pattern
            && let Some(class) = is_never_openable(range)
        {
            let text = &entry.text;
            let message = format!("`{text}` could never match: no entry opens {class} addresses");
            let help = if class == AddressClass::Unspecified {
                "remove it; a service of this host is `localhost` with its port"
            } else {
                "remove it"
            };
            self.problem(code::ENTRY, entry.span, message, help);
        }
    }
}

/// What is wrong with an id, and what to do.
pub(super) fn id_fault(id: &str) -> Option<(String, &'static str)> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/');
    if id.is_empty() {
        Some(("an empty id".to_owned(), "name the group"))
    } else if id.len() > LONGEST_ID {
        let message = format!("an id of {} bytes", id.len());
        Some((
            message,
            "an id has at most 64 bytes; the rest belongs into `reason`",
        ))
    } else if !id.bytes().all(plain) {
        let message = format!("`{}` is no id", crate::shape::shorten(id).escape_debug());
        Some((message, "use letters, digits and `-`, `_`, `.` or `/`"))
    } else {
        None
    }
}
