//! Text to document: every problem of one file at once, each with its place and its fix.
//!
//! The order is: the gate (YAML), the version, the shape (keys and kinds), serde, and then the
//! meaning, for which serde's values are walked in step with the gate's places. A difference
//! between the two readers is an error. It knows one file; what several mean together is the
//! part of [`crate::compile`].

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::diagnostic::{self, Diagnostic, code};
use crate::document::written::{self, File};
use crate::document::{Document, DocumentDefaults, HookKind, Placed};
use crate::gate::{self, Node};
use crate::shape;
use crate::source::{SourceFile, Span};
use crate::verdict::Effect;

mod case;
mod entry;
mod group;
mod http;
mod sandbox;
mod survey;

/// The version of the policy language that this crate reads.
pub const VERSION: &str = "1";

/// Reads one policy file.
///
/// # Errors
/// All errors of the file, in the order of the text. Broken YAML hides errors of meaning.
pub fn parse(source: &SourceFile) -> Result<Document, Vec<Diagnostic>> {
    let tree = gate::read(source)?;
    let Some(root) = tree.root().filter(|root| !root.is_null()) else {
        return Err(vec![gate::empty(source)]);
    };
    if let Some(problem) = other_version(source, root) {
        return Err(vec![problem]);
    }
    let mut problems = shape::check(source, root);
    if !problems.is_empty() {
        let more = survey::survey(source, root);
        let places: HashSet<usize> = problems.iter().map(|other| other.span.start).collect();
        let is_new = |problem: &Diagnostic| !places.contains(&problem.span.start);
        problems.extend(more.into_iter().filter(is_new));
        diagnostic::sort(&mut problems);
        return Err(problems);
    }
    let file: File = serde_yaml::from_str(&source.text).map_err(|error| {
        let line = error.location().map_or(1, |place| place.line());
        vec![readers(source, source.line(line), &error.to_string())]
    })?;
    let mut reader = Reader::new(source);
    let document = reader.file(&file, root);
    if reader.problems.is_empty() {
        Ok(document)
    } else {
        diagnostic::sort(&mut reader.problems);
        Err(reader.problems)
    }
}

/// A version that this crate does not read makes every other message guesswork.
fn other_version(source: &SourceFile, root: Node<'_>) -> Option<Diagnostic> {
    let (_, version) = root.pair("version")?;
    let text = version.text().filter(|text| *text != VERSION)?;
    if version.is_null() {
        return None;
    }
    let message = format!("version `{}` of the policy language", shape::shorten(text));
    let problem = Diagnostic::error(code::VERSION, source, version.span(), message);
    Some(problem.with_help("this program reads `version: 1`"))
}

fn readers(source: &SourceFile, span: Span, detail: &str) -> Diagnostic {
    let message = format!("two YAML readers disagree about this file: {detail}");
    Diagnostic::error(code::READERS, source, span, message)
        .with_help("write the place more plainly, with quotes and without tabs")
}

/// Walks what serde read in step with what the gate placed.
struct Reader<'s> {
    source: &'s SourceFile,
    problems: Vec<Diagnostic>,
    /// The line of each group's id.
    ids: HashMap<Box<str>, u32>,
    /// The presets that were found to exist.
    presets: HashSet<Box<str>>,
    unknown_presets: usize,
}

impl<'s> Reader<'s> {
    fn new(source: &'s SourceFile) -> Self {
        Self {
            source,
            problems: Vec::new(),
            ids: HashMap::new(),
            presets: HashSet::new(),
            unknown_presets: 0,
        }
    }

    fn file(&mut self, file: &File, root: Node<'_>) -> Document {
        let mut document = Document {
            source: self.source.clone(),
            defaults: self.defaults(file, root),
            exclusive: None,
            groups: Vec::new(),
            sandbox: None,
            tests: Vec::new(),
        };
        if file.version.to_string() != VERSION {
            self.disagree(root);
        }
        if let Some((key, node)) = root.pair("exclusive") {
            let flag = file.exclusive.map(|flag| flag.to_string());
            self.same(&flag.unwrap_or_default(), node);
            document.exclusive = file.exclusive.filter(|flag| *flag).map(|_| key.span());
        }
        let later = [&file.secrets, &file.roles, &file.budget];
        if later.iter().any(|part| part.is_some()) {
            self.disagree(root);
        }
        let lists = [
            (Effect::Allow, &file.allow),
            (Effect::Deny, &file.deny),
            (Effect::Ask, &file.ask),
        ];
        for (effect, groups) in lists {
            for (group, node) in self.step(groups.as_deref(), root, effect.as_str()) {
                document.groups.push(self.group(effect, group, node));
            }
        }
        if let (Some(sandbox), Some(node)) = (&file.sandbox, root.get("sandbox")) {
            document.sandbox = Some(self.sandbox(sandbox, node));
        }
        for (case, node) in self.step(file.tests.as_deref(), root, "tests") {
            document.tests.extend(self.case(case, node));
        }
        document
    }

    fn defaults(&mut self, file: &File, root: Node<'_>) -> DocumentDefaults {
        let mut defaults = DocumentDefaults::default();
        let (Some(written), Some(node)) = (&file.defaults, root.get("defaults")) else {
            return defaults;
        };
        defaults.net = self.effect(written.net, node, "net");
        defaults.fetch = self.effect(written.fetch, node, "fetch");
        let hooks = [
            (Some(HookKind::FsRead), written.fs_read),
            (Some(HookKind::FsWrite), written.fs_write),
            (Some(HookKind::Shell), written.shell),
            (Some(HookKind::EnvRead), written.env_read),
            (Some(HookKind::EnvSet), written.env_set),
            (Some(HookKind::Mcp), written.mcp),
            (None, written.others),
        ];
        for (kind, effect) in hooks {
            let key = kind.map_or("*", HookKind::as_str);
            if let Some(effect) = self.effect(effect, node, key) {
                defaults.hooks.push((kind, effect));
            }
        }
        defaults
    }

    fn effect(
        &mut self,
        written: Option<Effect>,
        parent: Node<'_>,
        key: &str,
    ) -> Option<Placed<Effect>> {
        let value = written?;
        let (key, node) = parent.pair(key)?;
        self.same(value.as_str(), node);
        let start = key.span();
        let span = Span {
            end: node.span().end,
            ..start
        };
        Some(Placed { value, span })
    }

    /// The items of a list with their places.
    fn step<'w, 't, T>(
        &mut self,
        written: Option<&'w [T]>,
        parent: Node<'t>,
        key: &str,
    ) -> Vec<(&'w T, Node<'t>)> {
        let written = written.unwrap_or_default();
        let nodes: Vec<Node<'t>> = parent
            .get(key)
            .map(|list| list.items().collect())
            .unwrap_or_default();
        if written.len() != nodes.len() {
            self.disagree(parent);
            return Vec::new();
        }
        written.iter().zip(nodes).collect()
    }

    /// A list of texts with their places.
    fn texts(
        &mut self,
        written: Option<&Vec<String>>,
        parent: Node<'_>,
        key: &str,
    ) -> Vec<Placed<Box<str>>> {
        let mut texts = Vec::new();
        for (text, node) in self.step(written.map(Vec::as_slice), parent, key) {
            self.same(text, node);
            texts.extend(self.pattern(text, node));
        }
        texts
    }

    /// A pattern of a kind that this crate only keeps.
    fn pattern(&mut self, text: &str, node: Node<'_>) -> Option<Placed<Box<str>>> {
        const LONGEST: usize = 4096;
        let fault = if text.trim().is_empty() {
            "an empty text"
        } else if text.chars().any(char::is_control) {
            "a text with control characters"
        } else if text.len() > LONGEST {
            "a text of more than 4096 bytes"
        } else {
            return Some(Placed {
                value: text.into(),
                span: node.span(),
            });
        };
        self.problem(
            code::TEXT,
            node.span(),
            fault,
            "write one line, or remove it",
        );
        None
    }

    /// Holds a value against the text at its place.
    fn same(&mut self, written: &str, node: Node<'_>) {
        if node.text() != Some(written) {
            self.disagree(node);
        }
    }

    fn disagree(&mut self, node: Node<'_>) {
        let span = node.span();
        let written = shape::shorten(self.source.slice(span));
        let message = format!("not every YAML reader takes `{written}` for the same");
        let problem = Diagnostic::error(code::READERS, self.source, span, message)
            .with_help("write a number in decimal, such as `80`, and a text in quotes");
        self.problems.push(problem);
    }

    fn problem(&mut self, code: &'static str, span: Span, message: impl Into<String>, help: &str) {
        let problem = Diagnostic::error(code, self.source, span, message);
        self.problems.push(problem.with_help(help));
    }
}

/// The place of a part of a node's text; of the whole node where the text is not written as it
/// is read.
fn within(source: &SourceFile, node: Node<'_>, range: &Range<usize>) -> Span {
    let whole = node.span();
    let written = source.slice(whole);
    let Some(text) = node.text() else {
        return whole;
    };
    let quotes: usize = match written.len().checked_sub(text.len()) {
        Some(0) => 0,
        Some(2) => 1,
        _ => return whole,
    };
    let inner = written.get(quotes..quotes.saturating_add(text.len()));
    if inner != Some(text) || range.end > text.len() {
        return whole;
    }
    let next = |at: usize| text.get(at..).and_then(|rest| rest.chars().next());
    let least = next(range.start).map_or(0, char::len_utf8);
    let end = range.end.max(range.start.saturating_add(least));
    let start = range.start.saturating_add(quotes);
    whole.part(written, &(start..end.saturating_add(quotes)))
}

#[cfg(test)]
mod tests;
