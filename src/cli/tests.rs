use super::*;

fn parse_words(words: &str) -> Result<Option<Verb>, Problem> {
    let words = words.split_ascii_whitespace().map(OsString::from);
    parse(words, &mut Output::to(std::io::sink()))
}

#[test]
fn the_grammar_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn a_mistake_exits_64() {
    for words in [
        "moat",
        "moat dance",
        "moat --dance",
        "moat generate",
        "moat generate man a b",
    ] {
        let problem = parse_words(words).unwrap_err();
        assert_eq!(problem.exit(), crate::exit::Exit::Usage, "{words}");
    }
}

#[test]
fn help_and_version_are_answers() {
    for words in [
        "moat --help",
        "moat -h",
        "moat --version",
        "moat generate --help",
    ] {
        assert!(parse_words(words).unwrap().is_none(), "{words}");
    }
}

#[test]
fn an_unknown_command_is_named() {
    let problem = parse_words("moat dance").unwrap_err();
    insta::assert_snapshot!(problem.plain(), @"
    error: unrecognized subcommand 'dance'

    Usage: moat <COMMAND>

    For more information, try '--help'.
    ");
}

#[test]
fn what_was_typed_moves_no_cursor() {
    let words = ["moat", "check", "--\u{1b}]0;x\u{7}\u{9b}2K"].map(OsString::from);
    let problem = parse(words, &mut Output::to(std::io::sink())).unwrap_err();
    let shown = problem.coloured();
    assert!(shown.contains("unexpected argument"), "{shown}");
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{9b}']), "{shown:?}");
}

#[test]
fn a_command_without_a_subject_names_all_that_it_takes() {
    for (words, names) in [
        ("moat allow", "<PATTERN|--last|--id <ID>|--preset <NAME>>"),
        (
            "moat deny --yes",
            "<PATTERN|--last|--id <ID>|--preset <NAME>>",
        ),
        ("moat why", "<ID|--code <CODE>>"),
    ] {
        let said = parse_words(words).unwrap_err().plain();
        assert!(said.contains(names), "{words}: {said}");
    }
}

#[test]
fn every_flag_of_the_proxy_has_a_variable_but_those_that_could_be_planted() {
    let grammar = Cli::command();
    let proxy = grammar.find_subcommand("proxy").unwrap();
    let mut without = Vec::new();
    for argument in proxy.get_arguments() {
        let flag = argument.get_long().unwrap();
        match argument.get_env() {
            None => without.push(flag),
            Some(name) => {
                let expected = format!("MOAT_{}", flag.to_uppercase().replace('-', "_"));
                assert_eq!(name.to_str(), Some(&*expected));
            }
        }
    }
    assert_eq!(without, ["policy", "audit-on-failure", "observe"]);
}
