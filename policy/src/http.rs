//! Method and path rules, judged where both are visible: plain HTTP.
//!
//! Origins read odd paths differently, so a path that could mean two things counts as unknown: it
//! never matches an allow entry and always a deny entry.

mod path;
mod pattern;

use globset::GlobSet;

pub use path::RequestPath;
pub use pattern::HttpRuleError;

/// The methods and paths of one entry. Both must match; a list that is empty always does.
#[derive(Clone, Debug, Default)]
pub struct HttpRule {
    /// As written; valid tokens.
    methods: Box<[Box<str>]>,
    /// As written; `globs` holds them compiled.
    paths: Box<[Box<str>]>,
    globs: GlobSet,
}

/// Whether a rule matches a request of which something may be unknown.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an allow and a deny must each think about every case"
)]
pub enum Match {
    /// It does not, whatever the unknown parts are.
    No,
    /// What is known matches, and something that matters is not known.
    Unknown,
    /// It does.
    Yes,
}

impl Match {
    fn known(matches: bool) -> Self {
        if matches { Self::Yes } else { Self::No }
    }
}

impl HttpRule {
    /// Compiles methods and paths as an entry lists them.
    pub fn parse<M: AsRef<str>, P: AsRef<str>>(
        methods: &[M],
        paths: &[P],
    ) -> Result<Self, HttpRuleError> {
        for (index, method) in methods.iter().enumerate() {
            pattern::check_method(method.as_ref(), index)?;
        }
        let boxed = |text: &str| -> Box<str> { text.into() };
        Ok(Self {
            methods: methods.iter().map(|text| boxed(text.as_ref())).collect(),
            paths: paths.iter().map(|text| boxed(text.as_ref())).collect(),
            globs: pattern::compile(paths)?,
        })
    }

    /// The methods, as written; empty for every method.
    pub fn methods(&self) -> &[Box<str>] {
        &self.methods
    }

    /// The path patterns, as written; empty for every path.
    pub fn paths(&self) -> &[Box<str>] {
        &self.paths
    }

    /// What the paths begin with, decoded as the readings of a request's path are: up to the last `/`
    /// before the first wildcard, or the whole of a path without one.
    pub(crate) fn beginnings(&self) -> impl Iterator<Item = String> {
        self.paths.iter().map(|path| pattern::beginning(path))
    }

    /// Whether the rule matches a method and a path; `None` where either is not visible.
    pub fn judge(&self, method: Option<&str>, path: Option<&RequestPath<'_>>) -> Match {
        self.judge_method(method).min(self.judge_path(path))
    }

    fn judge_method(&self, method: Option<&str>) -> Match {
        if self.methods.is_empty() {
            return Match::Yes;
        }
        let Some(method) = method else {
            return Match::Unknown;
        };
        if self.methods.iter().any(|listed| **listed == *method) {
            return Match::Yes;
        }
        let mut listed = self.methods.iter();
        // Methods have a case (RFC 9110, section 9.1), but not every server holds to that.
        if listed.any(|listed| listed.eq_ignore_ascii_case(method)) {
            Match::Unknown
        } else {
            Match::No
        }
    }

    fn judge_path(&self, path: Option<&RequestPath<'_>>) -> Match {
        if self.paths.is_empty() {
            return Match::Yes;
        }
        let Some((kept, split)) = path.and_then(RequestPath::readings) else {
            return Match::Unknown;
        };
        let matches = |text: &str| {
            self.globs
                .is_match_candidate(&globset::Candidate::from_bytes(text))
        };
        match (matches(kept), split.map(matches)) {
            (kept, None) => Match::known(kept),
            (kept, Some(split)) if kept == split => Match::known(kept),
            (_, Some(_)) => Match::Unknown,
        }
    }
}

impl PartialEq for HttpRule {
    fn eq(&self, other: &Self) -> bool {
        self.methods == other.methods && self.paths == other.paths
    }
}

impl Eq for HttpRule {}

#[cfg(test)]
mod tests;
