//! What fish is told beyond what `clap_complete` writes for it: the values of arguments that are no
//! options.

use std::fmt::Write as _;

use clap::{Arg, Command};

/// Lines for every command below the grammar, and the actions below those.
pub(super) fn arguments(grammar: &Command) -> String {
    let mut lines = String::new();
    for verb in super::verbs(grammar) {
        let using = format!("__fish_moat_using_subcommand {}", verb.get_name());
        add(&mut lines, &using, verb);
        for action in super::verbs(verb) {
            let name = action.get_name();
            let using = format!("{using}; and __fish_seen_subcommand_from {name}");
            add(&mut lines, &using, action);
        }
    }
    lines
}

fn add(lines: &mut String, condition: &str, command: &Command) {
    for argument in command.get_positionals() {
        let values = values(argument);
        if !values.is_empty() {
            // Writing to a `String` cannot fail.
            let _ = writeln!(
                lines,
                "complete -c moat -n \"{condition}\" -f -a \"{}\"",
                values.join(" ")
            );
        }
    }
}

fn values(argument: &Arg) -> Vec<String> {
    let values = argument.get_possible_values();
    values
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| value.get_name().to_owned())
        .collect()
}
