//! A verdict as a person and as a program reads it.

use moat_policy::explain::{Change, Explanation};
use moat_policy::request::{Surface, Target};
use moat_policy::verdict::{Basis, Rule, Verdict};
use serde::Serialize;

/// One judged request.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    request: String,
    kind: &'static str,
    host: String,
    port: u16,
    effect: &'static str,
    basis: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    address_class: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<RuleAnswer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    near: Vec<String>,
}

/// The rule that decided.
#[derive(Debug, Serialize)]
struct RuleAnswer {
    id: String,
    entry: String,
    layer: &'static str,
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    preset: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Answer {
    /// What a policy says of a request, which is named as it was written.
    pub(crate) fn new(
        request: &str,
        surface: Surface,
        target: &Target,
        verdict: &Verdict<'_>,
    ) -> Self {
        let (basis, address_class) = match verdict.basis {
            Basis::Rule => ("rule", None),
            Basis::Default => ("default", None),
            Basis::Guarded(class) => ("guarded", Some(class.as_str())),
            Basis::Clear => ("clear", None),
        };
        Self {
            request: request.to_owned(),
            kind: surface_word(surface),
            host: target.host.to_string(),
            port: target.port.number(),
            effect: verdict.effect.as_str(),
            basis,
            address_class,
            rule: verdict.rule.map(|rule| RuleAnswer::new(rule)),
            change: None,
            near: Vec::new(),
        }
    }

    /// The same with what would change it, and the entries that came close.
    pub(crate) fn explained(
        request: &str,
        surface: Surface,
        target: &Target,
        explanation: &Explanation<'_>,
    ) -> Self {
        let change = &explanation.change;
        Self {
            change: (*change != Change::None).then(|| change.to_string()),
            near: explanation.near.iter().map(ToString::to_string).collect(),
            ..Self::new(request, surface, target, &explanation.verdict)
        }
    }

    /// Lines that say what would change it and what came close.
    pub(crate) fn ways_out(&self) -> Vec<String> {
        let change = self.change.iter();
        let near = self.near.iter();
        change
            .map(|change| format!("change: {change}"))
            .chain(near.map(|near| format!("close: {near}")))
            .collect()
    }

    /// One line: the effect, the target, and why.
    pub(crate) fn line(&self, target: &Target) -> String {
        format!("{:<5} {target} {}", self.effect, self.because())
    }

    /// The request as it was written.
    pub(crate) fn request(&self) -> &str {
        &self.request
    }

    /// `net` or `fetch`.
    pub(crate) const fn kind(&self) -> &'static str {
        self.kind
    }

    /// What happens.
    pub(crate) const fn effect(&self) -> &'static str {
        self.effect
    }

    /// Why, in words that follow an effect and a target.
    pub(crate) fn because(&self) -> String {
        match (&self.rule, self.address_class) {
            (Some(rule), _) if self.basis == "clear" => format!(
                "since it is sent in clear and TLS is required {}",
                rule.because()
            ),
            (Some(rule), _) => rule.because(),
            (None, Some(class)) => {
                format!("since {class} addresses are guarded and no address entry opens this one")
            }
            (None, None) if self.basis == "clear" => {
                "by default, since no rule matches and TLS is required on this port".to_owned()
            }
            (None, None) => "by default, since no rule matches".to_owned(),
        }
    }
}

impl RuleAnswer {
    fn new(rule: &Rule) -> Self {
        Self {
            id: rule.id.as_ref().to_owned(),
            entry: rule.entry.as_ref().to_owned(),
            layer: rule.layer.as_str(),
            source: format!("{}:{}", rule.file, rule.line),
            preset: rule.preset.as_deref().map(str::to_owned),
            reason: rule.reason.as_deref().map(str::to_owned),
        }
    }

    fn because(&self) -> String {
        let preset = self
            .preset
            .iter()
            .map(|preset| format!(", preset {preset}"));
        let reason = self.reason.iter().map(|reason| format!(": {reason}"));
        std::iter::once(format!("by `{}` of rule `{}`", self.entry, self.id))
            .chain(preset)
            .chain([format!(" at {}", self.source)])
            .chain(reason)
            .collect()
    }
}

/// The word for a kind of request in policies and output.
const fn surface_word(surface: Surface) -> &'static str {
    match surface {
        Surface::Net => "net",
        Surface::Fetch => "fetch",
    }
}
