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
        if fields.paths.is_some() {
            let help = "remove it: a rule is never loaded with a part of it ignored";
            self.problem_at(
                node,
                "paths",
                code::LATER,
                "`paths` is not supported yet",
                help,
            );
        }
        let methods = fields.methods.as_ref()?;
        if methods.is_empty() {
            let help = "remove it for every method";
            self.problem_at(
                node,
                "methods",
                code::HTTP,
                "`methods` names no method",
                help,
            );
            return None;
        }
        for (method, at) in self.step(Some(methods), node, "methods") {
            self.same(method, at);
            let token = !method.is_empty()
                && method
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
            if !token {
                let message = format!("`{}` is no method", crate::shape::shorten(method));
                self.problem(
                    code::HTTP,
                    at.span(),
                    message,
                    "write it as clients send it, for example GET",
                );
            }
        }
        Some(HttpRule {
            methods: methods
                .iter()
                .map(|method| method.as_str().into())
                .collect(),
        })
    }
}
