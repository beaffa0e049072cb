//! Adds an entry to a policy text, or takes one out, and touches nothing else.
//!
//! The text is edited in place: comments, order, indentation, line endings and the byte-order
//! mark stay. The result is held against two witnesses before anybody sees it: the document
//! must differ by the planned step alone, and what the loader makes of it by the planned entries
//! alone. What fails either is refused.
//! Nothing here reads or writes files, and the loader is the caller's.

mod check;
mod fresh;
mod item;
mod place;
mod splice;

use std::fmt;
use std::time::SystemTime;

use serde_yaml::Value;

use crate::diagnostic::Diagnostic;
use crate::entry::{EntryError, EntryList};
use crate::preset::PresetError;
use place::Step;

pub use fresh::TEXT as FIRST_TEXT;
pub use item::Item;

/// Compiles a policy text: all its lists, or what is wrong with it.
pub type Load<'l> = &'l dyn Fn(&str) -> Result<Vec<EntryList>, Vec<Diagnostic>>;

/// Which list of groups is edited.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "an ask is written by hand")]
pub enum Section {
    /// What may be reached.
    Allow,
    /// What is refused whatever allows it.
    Deny,
}

impl Section {
    /// The key of the policy.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }

    /// The id of the group that commands add to.
    const fn group(self) -> &'static str {
        match self {
            Self::Allow => "allowed",
            Self::Deny => "denied",
        }
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One change to a policy.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "there is no third kind of edit")]
pub enum Edit {
    /// One more item.
    Add {
        /// Where.
        section: Section,
        /// What.
        item: Item,
        /// When it ends.
        until: Option<SystemTime>,
        /// Why it is there; gives it a group that says so.
        reason: Option<String>,
    },
    /// One item less.
    Remove {
        /// Where.
        section: Section,
        /// What.
        item: Item,
    },
}

/// What came of an edit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Edited {
    /// The whole new text.
    pub text: String,
    /// Whether it differs from the old one.
    pub changed: bool,
    /// What was done, or why nothing was, for people.
    pub summary: String,
}

/// Why an edit was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The pattern is none.
    #[error("`{text}` is no entry: {error}")]
    Entry {
        /// What was written.
        text: String,
        /// What is wrong with it.
        error: EntryError,
    },
    /// An exclusion: it would take hosts out of a list that others rely on.
    #[error("`{0}` is an exclusion, which belongs to one list and is written by hand")]
    Exclusion(String),
    /// No such preset.
    #[error(transparent)]
    Preset(#[from] PresetError),
    /// A preset that is made for the other section.
    #[error("the preset `{name}` is not made for `{section}`")]
    Purpose {
        /// The preset.
        name: String,
        /// Where it was to go.
        section: Section,
    },
    /// The policy is broken before the edit.
    #[error("the policy does not load as it is")]
    Broken(Vec<Diagnostic>),
    /// The policy would be broken after the edit.
    #[error("the policy would not load after the edit: {}", messages(.0))]
    Breaks(Vec<Diagnostic>),
    /// The edited text would mean something else than what was asked for.
    #[error("this file cannot be edited safely: {0}")]
    Unsafe(&'static str),
}

/// What is wrong, without places: they are in a text that nobody sees.
fn messages(problems: &[Diagnostic]) -> String {
    let messages: Vec<&str> = problems.iter().map(|one| one.message.as_str()).collect();
    messages.join("; ")
}

impl EditError {
    /// What a person can do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Entry { error, .. } => Some(error.help.clone()),
            Self::Preset(error) => error.help(),
            Self::Exclusion(_) => Some("`moat edit` opens the policy".to_owned()),
            Self::Purpose { name, .. } => Some(format!("`moat preset explain {name}` says more")),
            Self::Broken(_) => Some("mend it first; `moat lint` shows where".to_owned()),
            Self::Breaks(problems) => problems.first().and_then(|one| one.help.clone()),
            Self::Unsafe(_) => Some("make the change by hand with `moat edit`".to_owned()),
        }
    }
}

/// Applies one edit to a policy text; `None` is the text of a file that does not exist.
///
/// # Errors
/// Everything that is not certain to do what was asked and nothing else.
pub fn apply(text: Option<&str>, edit: &Edit, load: Load<'_>) -> Result<Edited, EditError> {
    let whole = Whole::new(text.unwrap_or(fresh::TEXT));
    let before = load(&whole.text).map_err(EditError::Broken)?;
    let document = parse(&whole.text)?;
    let (section, item) = match edit {
        Edit::Add { section, item, .. } | Edit::Remove { section, item } => (*section, item),
    };
    let entries = item.entries(section)?;
    let (steps, written, summary) = match edit {
        Edit::Add { until, reason, .. } => {
            if let Some(place) = check::standing(&before, section, &entries, *until) {
                return Ok(Edited {
                    text: text.unwrap_or_default().to_owned(),
                    changed: false,
                    summary: format!("`{item}` is there already: {place}"),
                });
            }
            let written = item.written(*until)?;
            let plan = place::add(&document, section, reason.as_deref());
            (plan, written, format!("{section} `{item}`"))
        }
        Edit::Remove { .. } => {
            let steps = place::remove(&document, section, item);
            if steps.is_empty() {
                return Ok(Edited {
                    text: text.unwrap_or_default().to_owned(),
                    changed: false,
                    summary: check::absence(&before, section, item, &entries),
                });
            }
            let summary = format!("no longer {section} `{item}`");
            (vec![steps], Value::Null, summary)
        }
    };
    let change = check::Change::new(edit, section, &entries);
    let mut refusal = EditError::Unsafe("no place in it takes the entry");
    for plan in steps {
        match attempt(&whole, &document, &plan, &written, &before, &change, load) {
            Ok(text) => {
                return Ok(Edited {
                    text,
                    changed: true,
                    summary,
                });
            }
            Err(error) => refusal = error,
        }
    }
    Err(refusal)
}

/// Tries one plan and hands out its text if both witnesses agree with it.
fn attempt(
    whole: &Whole<'_>,
    document: &Value,
    plan: &[Step],
    written: &Value,
    before: &[EntryList],
    change: &check::Change<'_>,
    load: Load<'_>,
) -> Result<String, EditError> {
    const SHAPE: EditError =
        EditError::Unsafe("its layout leaves no place where the change would be certain");
    let mut expected = document.clone();
    let mut edited = whole.text.clone();
    for step in plan {
        place::perform(&mut expected, step, written).ok_or(SHAPE)?;
        edited = splice::perform(&edited, step, written).ok_or(SHAPE)?;
    }
    if parse(&edited).ok() != Some(expected) {
        return Err(SHAPE);
    }
    let after = load(&edited).map_err(EditError::Breaks)?;
    if !change.is_all(before, &after) {
        return Err(EditError::Unsafe(
            "it would then allow or deny something else than what was asked for",
        ));
    }
    Ok(whole.restore(&edited))
}

fn parse(text: &str) -> Result<Value, EditError> {
    serde_yaml::from_str(text).map_err(|_| EditError::Unsafe("its YAML is read in two ways"))
}

/// A text without its byte-order mark and with plain line ends, and how to put them back.
struct Whole<'t> {
    mark: &'t str,
    carriage: bool,
    text: String,
}

impl<'t> Whole<'t> {
    fn new(text: &'t str) -> Self {
        let (mark, rest) = match text.strip_prefix('\u{feff}') {
            Some(rest) => ("\u{feff}", rest),
            None => ("", text),
        };
        let plain = rest.replace("\r\n", "\n");
        let ends = |text: &str| text.bytes().filter(|b| *b == b'\n').count();
        let carriage = ends(rest) > 0 && rest.len() == plain.len() + ends(rest);
        Self {
            mark,
            carriage,
            text: if carriage { plain } else { rest.to_owned() },
        }
    }

    fn restore(&self, edited: &str) -> String {
        if self.carriage {
            format!("{}{}", self.mark, edited.replace('\n', "\r\n"))
        } else {
            format!("{}{edited}", self.mark)
        }
    }
}

#[cfg(test)]
mod tests;
