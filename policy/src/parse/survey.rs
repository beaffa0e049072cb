//! A look at ids and entries of a file whose shape is wrong, so that one wrong key does not hide
//! the other mistakes. Nothing that it sees is ever compiled.

use std::collections::HashMap;

use super::{entry, group};
use crate::diagnostic::{Diagnostic, code};
use crate::gate::Node;
use crate::source::SourceFile;

/// The problems of meaning that can be seen without a document.
pub(super) fn survey(source: &SourceFile, root: Node<'_>) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let mut ids: HashMap<&str, u32> = HashMap::new();
    let lists = ["allow", "deny", "ask"];
    let groups = lists.iter().filter_map(|key| root.get(key));
    for group in groups.flat_map(Node::items) {
        if let Some((id, text)) = group.get("id").and_then(|id| Some((id, id.text()?))) {
            let span = id.span();
            if let Some((message, help)) = group::id_fault(text).filter(|_| !id.is_null()) {
                let problem = Diagnostic::error(code::ID, source, span, message);
                problems.push(problem.with_help(help));
            } else if let Some(line) = ids.insert(text, span.line) {
                let message = format!("the id `{text}` stands in line {line} already");
                let problem = Diagnostic::error(code::DUPLICATE_ID, source, span, message);
                problems.push(problem.with_help("name one of the groups otherwise"));
            }
        }
        let lists = ["net", "fetch"]
            .into_iter()
            .filter_map(|key| group.get(key));
        for item in lists.flat_map(Node::items) {
            let Some(text) = item.text().filter(|_| !item.is_null()) else {
                continue;
            };
            if let Err(error) = crate::entry::parse(text) {
                problems.push(entry::problem(source, item, &error));
            }
        }
    }
    problems
}
