//! The rows of `tests:`.

use super::{Reader, within, written};
use crate::diagnostic::{Diagnostic, code};
use crate::document::Case;
use crate::gate::Node;
use crate::request::Surface;
use crate::request_text::Asked;

impl Reader<'_> {
    pub(super) fn case(&mut self, written: &written::Case, node: Node<'_>) -> Option<Case> {
        let at = node.get("request")?;
        self.same(&written.request, at);
        let mut asked = match Asked::parse(&written.request) {
            Ok(asked) => asked,
            Err(error) => {
                let span = within(self.source, at, &error.range);
                let problem =
                    Diagnostic::error(code::REQUEST, self.source, span, error.message.clone());
                self.problems.push(problem.with_help(error.help));
                return None;
            }
        };
        if let Some(method) = &written.method {
            if asked.method.is_none() {
                let help = "remove `method`, or ask about an `http:` URL";
                let message = "a method that the proxy cannot see";
                self.problem_at(node, "method", code::REQUEST, message, help);
                return None;
            }
            asked = asked.with_method(method);
        }
        Some(Case {
            text: written.request.as_str().into(),
            span: at.span(),
            asked,
            surface: match written.kind {
                None | Some(written::Kind::Net) => Surface::Net,
                Some(written::Kind::Fetch) => Surface::Fetch,
            },
            expect: written.expect,
        })
    }
}
