//! The shape of a policy document as data: which keys stand where and what each may hold.
//!
//! One table for three uses: [`check`] holds a file against it and reports every difference at
//! once, with its place; the JSON Schema is made from it; and the serde types, which are what is
//! compiled, are held against it by a test. It knows nothing of what the values mean.

use crate::diagnostic::{Diagnostic, code};
use crate::gate::{Kind, Node, Style};
use crate::preset::nearest;
use crate::source::SourceFile;

mod table;
mod word;

pub(crate) use table::DOCUMENT;

/// What a value may be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// A text; anything but nothing.
    Text,
    /// A text that no YAML version takes for a number, a date, a truth value or nothing.
    Word,
    /// A whole number without sign.
    Number,
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of one shape.
    List(&'static Self),
    /// A mapping with these keys.
    Map(&'static [Key]),
    /// A single value of the first shape, or a collection of the second.
    Either(&'static Self, &'static Self),
    /// Not looked into: what a later version will define.
    Anything,
}

/// One key of a mapping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// One sentence for the schema.
    pub(crate) about: &'static str,
    pub(crate) shape: Shape,
    pub(crate) need: Need,
}

/// Whether a key must, may or cannot yet stand.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Need {
    Required,
    Optional,
    /// Part of the language, but this version refuses it rather than ignore it.
    Later,
}

impl Shape {
    /// The words for an error: "expected ...".
    fn describe(self) -> String {
        match self {
            Self::Text | Self::Word => "a text".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Flag => "`true` or `false`".to_owned(),
            Self::Choice(words) => alternatives(words),
            Self::List(_) => "a list".to_owned(),
            Self::Map(_) => "a mapping".to_owned(),
            Self::Either(single, many) => format!("{} or {}", single.describe(), many.describe()),
            Self::Anything => "anything".to_owned(),
        }
    }
}

/// Holds a document against the table.
pub(crate) fn check(source: &SourceFile, root: Node<'_>) -> Vec<Diagnostic> {
    let mut check = Check {
        source,
        problems: Vec::new(),
    };
    check.value(&DOCUMENT, root, root, "the policy");
    check.problems
}

struct Check<'s> {
    source: &'s SourceFile,
    problems: Vec<Diagnostic>,
}

impl Check<'_> {
    /// `at` is what a message points at where the value itself is nothing: its key.
    fn value(&mut self, shape: &'static Shape, node: Node<'_>, at: Node<'_>, name: &str) {
        match (shape, node.kind()) {
            (Shape::Anything, _) => {}
            (Shape::Either(_, many), Kind::List | Kind::Map) => self.value(many, node, at, name),
            (Shape::Either(single, _), Kind::Scalar(..)) => self.value(single, node, at, name),
            (Shape::List(item), Kind::List) => {
                for child in node.items() {
                    self.value(item, child, child, "a list item");
                }
            }
            (Shape::Map(keys), Kind::Map) => self.mapping(keys, node, at, name),
            (Shape::List(_) | Shape::Map(_), Kind::Scalar(..)) if node.is_null() => {
                let help = if matches!(shape, Shape::List(_)) {
                    "write `[]` for an empty list, or remove the key"
                } else {
                    "fill it in, or remove the key"
                };
                self.problem(code::NOTHING, at, format!("{name} holds nothing"), help);
            }
            (_, Kind::Scalar(text, style)) => self.scalar(shape, node, at, name, text, *style),
            (_, Kind::List | Kind::Map) => self.mismatch(shape, node, name),
        }
    }

    fn scalar(
        &mut self,
        shape: &'static Shape,
        node: Node<'_>,
        at: Node<'_>,
        name: &str,
        text: &str,
        style: Style,
    ) {
        let fits = match shape {
            _ if node.is_null() && !matches!(shape, Shape::Anything) => {
                let help = "fill it in, or quote it if the text itself is meant";
                let at = if text.is_empty() { at } else { node };
                self.problem(code::NOTHING, at, format!("{name} holds nothing"), help);
                true
            }
            Shape::Word => {
                if let Some(kind) = word::retyped(text).filter(|_| style == Style::Plain) {
                    self.problem(
                        code::RETYPED,
                        node,
                        format!("`{text}` is {kind} to YAML, not a text"),
                        &format!("quote it if the text is meant: \"{text}\""),
                    );
                }
                true
            }
            Shape::Text | Shape::Anything => true,
            Shape::Number => {
                style == Style::Plain
                    && (1..=9).contains(&text.len())
                    && text.bytes().all(|b| b.is_ascii_digit())
                    && (text == "0" || !text.starts_with('0'))
            }
            Shape::Flag => style == Style::Plain && matches!(text, "true" | "false"),
            Shape::Choice(words) => words.contains(&text),
            Shape::List(_) | Shape::Map(_) | Shape::Either(..) => false,
        };
        if !fits {
            self.mismatch(shape, node, name);
        }
    }

    fn mapping(&mut self, keys: &'static [Key], node: Node<'_>, at: Node<'_>, name: &str) {
        for (key, value) in node.pairs() {
            let text = key.text().unwrap_or_default();
            match keys.iter().find(|known| known.name == text) {
                None => self.unknown(keys, key, value),
                Some(known) if known.need == Need::Later => {
                    self.problem(
                        code::LATER,
                        key,
                        format!("`{text}` is not supported yet"),
                        "remove it: a rule is never loaded with a part of it ignored",
                    );
                }
                Some(known) => self.value(&known.shape, value, key, &format!("`{text}`")),
            }
        }
        for known in keys {
            if known.need == Need::Required && node.get(known.name).is_none() {
                self.problem(
                    code::MISSING,
                    at,
                    format!("{name} has no `{}`", known.name),
                    &format!("add `{}:`, {}", known.name, known.about),
                );
            }
        }
    }

    fn unknown(&mut self, keys: &'static [Key], key: Node<'_>, value: Node<'_>) {
        let text = key.text().unwrap_or_default();
        let names = keys.iter().map(|known| known.name);
        let help = if let Some(known) = nearest(text, names.clone()) {
            format!("did you mean `{known}`?")
        } else if let Some(ports) = value.text().filter(|_| text.contains('.')) {
            format!("a host with its ports is one text: \"{text}:{ports}\"")
        } else {
            let names: Vec<&str> = names.collect();
            format!("the keys here are {}", list(&names, " and "))
        };
        self.problem(
            code::UNKNOWN_KEY,
            key,
            format!("unknown key `{text}`"),
            &help,
        );
    }

    fn mismatch(&mut self, shape: &'static Shape, node: Node<'_>, name: &str) {
        let found = match node.kind() {
            Kind::Scalar(text, Style::Quoted) => format!("the text `{}`", shorten(text)),
            Kind::Scalar(text, Style::Plain) => format!("`{}`", shorten(text)),
            Kind::List => "a list".to_owned(),
            Kind::Map => "a mapping".to_owned(),
        };
        let expected = shape.describe();
        let help = match (shape, node.text()) {
            (Shape::List(_), Some(text)) => format!("write `[{}]`", shorten(text)),
            (Shape::Map([first, ..]), _) => format!("write keys and values, `{}: …`", first.name),
            (Shape::Choice(words), Some(text)) => match nearest(text, words.iter().copied()) {
                Some(word) => format!("did you mean `{word}`?"),
                None => format!("write {expected}"),
            },
            _ => format!("write {expected}"),
        };
        let message = format!("{name} is {found}, not {expected}");
        self.problem(code::KIND, node, message, &help);
    }

    fn problem(&mut self, code: &'static str, at: Node<'_>, message: String, help: &str) {
        let whole = at.span();
        let span = match at.text() {
            Some(_) => whole,
            None => whole.first(self.source),
        };
        let problem = Diagnostic::error(code, self.source, span, message).with_help(help);
        self.problems.push(problem);
    }
}

/// The words of a choice as a person lists them.
fn alternatives(words: &[&str]) -> String {
    list(words, " or ")
}

fn list(words: &[&str], last: &str) -> String {
    let mut text = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            let is_last = index.saturating_add(1) == words.len();
            text.push_str(if is_last { last } else { ", " });
        }
        text.push('`');
        text.push_str(word);
        text.push('`');
    }
    text
}

/// A text as a message can hold it.
pub(crate) fn shorten(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests;
