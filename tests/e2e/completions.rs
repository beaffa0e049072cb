//! Completions as the shells themselves make them of what `moat generate completions` writes.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::command::run;
use crate::support::moat::{homes, moat};
use crate::support::skip::{program, skip};

/// What is typed, and one of the words that the shell must offer for it.
const OFFERED: [(&str, &str); 6] = [
    ("moat ", "allow"),
    ("moat proxy --audit", "--audit-on-failure"),
    ("moat proxy --audit-on-failure ", "continue"),
    ("moat allow --preset np", "npm/optional"),
    ("moat preset show np", "npm/optional"),
    ("moat generate completions ", "fish"),
];

/// Asks bash, whose completion function is called as readline calls it.
const BASH: &str = r#"
source "$0"
while (($#)); do
  read -ra COMP_WORDS <<< "$1"
  [[ "$1" == *" " ]] && COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _moat moat "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
  echo "$1=>" "${COMPREPLY[@]}"
  shift 2
done
"#;

const FISH: &str = "
source $argv[1]
for at in (seq 2 2 (count $argv))
  echo $argv[$at]'=>' (complete -C $argv[$at] | cut -f1)
end
";

/// Types each line at a terminal of its own, and then the key that completes, and reads what is
/// shown until the word is in it.
const ZSH: &str = r#"
zmodload zsh/zpty
folder=${0:h}
for line word; do
  zpty shell zsh -f -i
  zpty -w shell 'PROMPT=; unset zle_bracketed_paste; fpath=('$folder' $fpath); autoload -Uz compinit'
  zpty -w shell 'compinit -u -d '$folder'/dump; bindkey "^I" complete-word; unsetopt list_ambiguous; LISTMAX=0; print REA""DY'
  zpty -r -m shell seen '*READY*'
  zpty -w -n shell "$line"$'\t'
  zpty -r -m shell seen "*$word*" && print -r -- "$line=> $word"
  zpty -d shell
done
"#;

fn offers(shell: &str, file: &str, script: &str, flags: &[&str]) {
    let case = format!("completions of {shell}");
    if program(shell).is_none() {
        return skip(&case, &format!("there is no {shell}"));
    }
    let folder = tempfile::tempdir().unwrap();
    let written = run(moat().args(["generate", "completions", shell]));
    assert_eq!(written.code, 0, "{written:?}");
    let path = folder.path().join(file);
    fs::write(&path, written.stdout).unwrap();
    let said = ask(shell, script, flags, &path);
    for (typed, word) in OFFERED {
        let mut lines = said.lines();
        let offered = lines.find_map(|line| line.strip_prefix(&format!("{typed}=>")));
        let offered = offered.unwrap_or_else(|| panic!("{typed:?} of {shell}: {said}"));
        assert!(offered.contains(word), "{typed:?} of {shell}: {said}");
    }
}

/// The shell's answer to every line, after all of its other noise.
fn ask(shell: &str, script: &str, flags: &[&str], path: &Path) -> String {
    let mut command = Command::new("timeout");
    homes(command.env_clear(), path.parent().unwrap());
    let said = run(command
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("TERM", "dumb")
        .args(["60", shell])
        .args(flags)
        .args(["-c", script])
        .arg(path)
        .args(OFFERED.iter().flat_map(|(typed, word)| [typed, word])));
    assert_eq!(said.code, 0, "{shell}: {said:?}");
    said.stdout
}

#[test]
fn bash_offers_verbs_flags_values_and_presets() {
    offers("bash", "moat.bash", BASH, &["--norc"]);
}

#[test]
fn fish_offers_verbs_flags_values_and_presets() {
    offers("fish", "moat.fish", FISH, &["--no-config"]);
}

#[test]
fn zsh_offers_verbs_flags_values_and_presets() {
    offers("zsh", "_moat", ZSH, &["-f"]);
}
