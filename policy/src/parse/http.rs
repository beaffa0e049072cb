//! Methods and paths of an entry.

use super::{Reader, written};
use crate::diagnostic::code;
use crate::gate::Node;
use crate::http::HttpRule;

impl Reader<'_> {
    /// The rule of an entry that has `methods` or `paths`; a problem leaves none.
    pub(super) fn http(
        &mut self,
        fields: &written::EntryFields,
        node: Node<'_>,
    ) -> Option<HttpRule> {
        if fields.methods.is_none() && fields.paths.is_none() {
            return None;
        }
        let methods = self.http_values(fields.methods.as_deref(), node, "methods");
        let paths = self.http_values(fields.paths.as_deref(), node, "paths");
        let texts = |values: &[(&str, Node<'_>)]| -> Vec<String> {
            values.iter().map(|&(text, _)| text.to_owned()).collect()
        };
        let error = match HttpRule::parse(&texts(&methods), &texts(&paths)) {
            Ok(rule) => return Some(rule),
            Err(error) => error,
        };
        let values = if error.key == "methods" {
            methods
        } else {
            paths
        };
        let at = values.get(error.index).map_or(node, |&(_, at)| at);
        self.problem(code::HTTP, at.span(), error.message, &error.help);
        None
    }

    /// The texts of one key with their places; a list of nothing is a problem.
    fn http_values<'w, 't>(
        &mut self,
        values: Option<&'w [String]>,
        node: Node<'t>,
        key: &'static str,
    ) -> Vec<(&'w str, Node<'t>)> {
        if values.is_some_and(<[String]>::is_empty) {
            let message = format!("`{key}` names nothing");
            let help = "remove it to match every one";
            self.problem_at(node, key, code::HTTP, &message, help);
        }
        let values = self.step(values, node, key);
        for (text, at) in &values {
            self.same(text, *at);
        }
        values
            .into_iter()
            .map(|(text, at)| (text.as_str(), at))
            .collect()
    }
}
