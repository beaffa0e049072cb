//! The command line as one page of Markdown, with the codes of its diagnostics.

use std::fmt::Write as _;

use moat_policy::diagnostic::code;

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
    codes(&mut page);
    page
}

/// The codes of errors and findings: what `moat why --code` says of each.
fn codes(page: &mut String) {
    page.push_str(
        "\n## Codes\n\n\
         Every error of a policy has a code that begins with P, every finding of `moat lint` one that begins with L.\n\
         Codes keep their meaning; `moat why --code CODE` says the same.\n",
    );
    for (code, text) in code::ALL {
        // Writing to a `String` cannot fail.
        let _ = write!(page, "\n### {code}\n\n{text}");
    }
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
