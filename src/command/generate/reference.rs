//! The command line as one page of Markdown.

use std::fmt::Write as _;

use super::{grammar, verbs};

/// The page, from the help that each command prints.
pub(super) fn markdown() -> String {
    let grammar = grammar();
    let mut page = String::from(
        "# Command line\n\n\
         Written by `moat generate reference`; a test fails when it is stale.\n",
    );
    section(&mut page, &grammar, "moat");
    for verb in verbs(&grammar) {
        let name = format!("moat {}", verb.get_name());
        section(&mut page, verb, &name);
        for action in verbs(verb) {
            section(&mut page, action, &format!("{name} {}", action.get_name()));
        }
    }
    page
}

fn section(page: &mut String, command: &clap::Command, name: &str) {
    // A width of zero is no wrapping: the page must not depend on a terminal.
    let help = command.clone().term_width(0).render_long_help().to_string();
    // Writing to a `String` cannot fail.
    let _ = write!(page, "\n## `{name}`\n\n```text\n");
    for line in help.trim_end().lines() {
        let _ = writeln!(page, "{}", line.trim_end());
    }
    page.push_str("```\n");
}
