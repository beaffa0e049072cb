//! Method and path rules, judged where both are visible: plain HTTP.

/// The methods and paths of one entry.
#[derive(Clone, Debug, Default)]
pub struct HttpRule {
    /// The methods that match; empty for every method. Case-sensitive (RFC 9110, section 9.1).
    pub methods: Vec<Box<str>>,
}
