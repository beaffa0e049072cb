//! `moat allow`, `moat deny` and `moat edit` on policy files as people keep them.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::moat::base_policy;
use crate::support::program::python;
use crate::support::skip::skip;
use crate::support::wait::wait_for;

/// A folder of its own with a policy in it.
struct Case {
    folder: tempfile::TempDir,
}

const POLICY: &str = "\
# Why this is so: ask the build team.
version: 1
allow:
  - id: build   # the mirror
    reason: builds
    net:
      - a.test      # first
      - \"*.b.test\"
";

impl Case {
    fn new(policy: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("policy.yaml"), policy).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path("policy.yaml")).unwrap()
    }

    fn clean(&self, program: impl Into<PathBuf>) -> Command {
        let mut command = Command::new(program.into());
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("XDG_STATE_HOME", self.path("state"))
            .current_dir(self.folder.path());
        command
    }

    /// Runs `moat` with these words, without a terminal.
    fn moat(&self, words: &[&str]) -> Output {
        let mut command = self.clean(env!("CARGO_BIN_EXE_moat"));
        command.args(words).stdin(Stdio::null()).output().unwrap()
    }

    /// The same on this case's policy file and without asking.
    fn edit(&self, words: &[&str]) -> Output {
        self.moat(&[words, &["--policy", "policy.yaml", "--yes"]].concat())
    }

    /// Runs a command line at a terminal, which `script` makes, and types the answer.
    fn at_terminal(&self, words: &str, answer: &str) -> Output {
        let line = format!("{} {words}", env!("CARGO_BIN_EXE_moat"));
        let mut child = self
            .clean("script")
            .args(["--quiet", "--return", "--command", &line, "/dev/null"])
            .env("TERM", "dumb")
            .env("EDITOR", "sed -i s/a.test/e.test/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(answer.as_bytes())
            .unwrap();
        child.wait_with_output().unwrap()
    }
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What a reader of YAML 1.1 makes of the entries of every group.
const READ: &str = "\
import json, yaml
policy = yaml.safe_load(open('policy.yaml'))
print(json.dumps([entry for group in policy['allow'] for entry in group['net']]))
";

#[test]
fn words_that_yaml_takes_for_other_things_are_written_as_texts() {
    let words = "no on null 1e3.test y N Yes true OFF 1e3 0o17 0b11 1_000 2026-12-31";
    let base = base_policy();
    for policy in ["version: 1\nallow: []\n", &base] {
        let case = Case::new(policy);
        for word in words.split(' ') {
            assert_eq!(case.edit(&["allow", word]).status.code(), Some(0), "{word}");
        }
        for number in ["123", "0x7f", "1:30", "017", "1.5", "127.1"] {
            let said = case.edit(&["allow", number]);
            assert_eq!(said.status.code(), Some(64), "{number}");
            assert!(err(&said).contains(number), "{}", err(&said));
        }
        let said = case.edit(&["allow", "123"]);
        assert!(err(&said).contains("ambiguous spelling"), "{}", err(&said));
        let text = case.text();
        for word in words.split(' ').filter(|word| !word.contains('.')) {
            let line = format!("      - \"{}\"\n", word.to_ascii_lowercase());
            assert!(text.contains(&line), "{word}: {text}");
        }
        let lint = case.moat(&["lint", "policy.yaml"]);
        assert_eq!(lint.status.code(), Some(0), "{}", err(&lint));
        let has_yaml = case.clean(python()).args(["-c", "import yaml"]).output();
        if !has_yaml.is_ok_and(|said| said.status.success()) {
            skip("allow::words", "Python has no YAML reader");
            continue;
        }
        let read = case.clean(python()).args(["-c", READ]).output().unwrap();
        let read: Vec<String> = serde_json::from_str(&out(&read)).expect("every entry is a text");
        let wanted = words.split(' ').map(str::to_ascii_lowercase);
        assert!(read.ends_with(&wanted.collect::<Vec<_>>()), "{read:?}");
    }
}

#[test]
fn bare_words_that_yaml_takes_for_other_things_are_refused_with_their_place() {
    let text = "version: 1\nallow:\n  - id: a\n    net:\n      - on\n      - no\n";
    let case = Case::new(text);
    let output = case.edit(&["allow", "new.test"]);
    assert_eq!(output.status.code(), Some(64));
    for place in ["policy.yaml:5:9", "policy.yaml:6:9"] {
        assert!(err(&output).contains(place), "{}", err(&output));
    }
    assert_eq!(case.text(), text);
}

#[test]
fn comments_and_layout_stay_and_what_is_there_is_not_added_again() {
    let base = base_policy();
    let marked = format!("\u{feff}{POLICY}# the end\n");
    let carriage = POLICY.replace('\n', "\r\n");
    let open = POLICY.trim_end();
    let grouped =
        format!("{POLICY}  - id: allowed   # by hand\n    net:\n      - z.test  # last\n");
    for (policy, lines) in [
        (POLICY, 3),
        (&base, 3),
        (&marked, 3),
        (&carriage, 3),
        (open, 3),
        (&grouped, 1),
    ] {
        let case = Case::new(policy);
        let said = case.edit(&["allow", "new.test"]);
        assert_eq!(said.status.code(), Some(0), "{}", err(&said));
        let first = case.text();
        // Lines are added and none is changed.
        let mut before = policy.lines().peekable();
        let added = first
            .lines()
            .filter(|line| before.next_if_eq(line).is_none())
            .count();
        assert_eq!(before.next(), None, "{first}");
        assert_eq!(added, lines, "{first}");
        let ends = first.matches("\r\n").count();
        assert!(ends == 0 || ends == first.lines().count(), "{first:?}");
        for again in ["NEW.test.", "new.test", "new.test:80,443"] {
            let said = case.edit(&["allow", again]);
            assert_eq!(said.status.code(), Some(0), "{again}");
            assert!(
                out(&said).starts_with("nothing to change: "),
                "{}",
                out(&said)
            );
            assert!(out(&said).contains("is there already"), "{}", out(&said));
            assert_eq!(case.text(), first, "{again}");
        }
        assert_eq!(case.edit(&["allow", "more.test"]).status.code(), Some(0));
        let second = case.text();
        assert_eq!(
            second.lines().count(),
            first.lines().count() + 1,
            "{second}"
        );
        let remove = case.edit(&["allow", "new.test", "more.test", "--remove"]);
        assert_eq!(remove.status.code(), Some(0), "{}", err(&remove));
        assert_eq!(case.text().trim_end(), policy.trim_end());
    }
}

#[test]
fn what_is_allowed_already_and_denied_all_the_same_is_said() {
    let policy = format!("{POLICY}deny:\n  - id: never\n    net: [a.test]\n");
    let case = Case::new(&policy);
    let output = case.edit(&["allow", "a.test"]);
    assert!(output.status.success());
    assert!(out(&output).contains("nothing to change"), "{output:?}");
    let note = "`a.test` is still refused, by deny group `never` in policy.yaml:11";
    assert!(err(&output).contains(note), "{output:?}");
}

#[test]
fn what_no_entry_opens_is_not_sent_to_an_editor() {
    let case = Case::new(POLICY);
    let output = case.edit(&["allow", "224.0.0.1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        err(&output).contains("no entry opens multicast"),
        "{output:?}"
    );
    assert!(!err(&output).contains("moat edit"), "{output:?}");
    assert_eq!(case.text(), POLICY);
}

#[test]
fn a_link_to_a_policy_stays_one_and_its_target_keeps_its_mode() {
    for (links, typed) in [
        (&[("policy.yaml", "real/policy.yaml")][..], "policy.yaml"),
        // One link to another, one on the way, one that leads up and one from the root.
        (
            &[("policy.yaml", "a.yaml"), ("a.yaml", "real/policy.yaml")],
            "policy.yaml",
        ),
        (&[("way", "real")], "way/policy.yaml"),
        (&[("real/up.yaml", "../real/policy.yaml")], "real/up.yaml"),
        (&[("policy.yaml", "/real/policy.yaml")], "policy.yaml"),
    ] {
        let case = Case::new(POLICY);
        fs::create_dir(case.path("real")).unwrap();
        let real = case.path("real/policy.yaml");
        fs::rename(case.path("policy.yaml"), &real).unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        for (link, target) in links {
            let target = match target.strip_prefix('/') {
                Some(inside) => case.path(inside),
                None => PathBuf::from(target),
            };
            symlink(target, case.path(link)).unwrap();
        }
        let said = case.moat(&["allow", "new.test", "--policy", typed, "--yes"]);
        assert_eq!(said.status.code(), Some(0), "{typed}: {}", err(&said));
        for (link, _) in links {
            let kept = fs::symlink_metadata(case.path(link)).unwrap();
            assert!(kept.is_symlink(), "{link}");
        }
        assert!(fs::read_to_string(&real).unwrap().contains("new.test"));
        assert!(!fs::symlink_metadata(&real).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().mode() & 0o7777, 0o640);
        let mut left = fs::read_dir(case.path("real")).unwrap().flatten();
        assert!(left.all(|entry| entry.path().extension().is_some_and(|end| end == "yaml")));
    }
}

#[test]
fn what_is_no_policy_file_is_not_replaced_by_one() {
    let case = Case::new(POLICY);
    symlink("gone/policy.yaml", case.path("dangling")).unwrap();
    symlink("circle", case.path("circle")).unwrap();
    fs::create_dir(case.path("directory")).unwrap();
    let pipe = case.clean("mkfifo").arg("pipe").status();
    assert!(pipe.unwrap().success());
    for (name, said) in [
        ("dangling", "which is not there"),
        ("circle", "symbolic links"),
        ("directory", "it is not a regular file"),
        ("pipe", "it is not a regular file"),
        ("policy.yaml/policy.yaml", "Not a directory"),
    ] {
        let before = fs::symlink_metadata(case.path(name))
            .map(|data| data.file_type())
            .ok();
        let output = case.moat(&["allow", "new.test", "--policy", name, "--yes"]);
        assert_ne!(output.status.code(), Some(0), "{name}");
        assert!(err(&output).contains(said), "{name}: {}", err(&output));
        let after = fs::symlink_metadata(case.path(name))
            .map(|data| data.file_type())
            .ok();
        assert_eq!(before, after, "{name}");
    }
    assert!(!case.path("gone").exists());
    assert_eq!(case.text(), POLICY);
}

#[test]
fn nothing_is_written_without_a_person_or_their_word() {
    let case = Case::new(POLICY);
    let silent = case.moat(&["allow", "new.test", "--policy", "policy.yaml"]);
    assert_eq!(silent.status.code(), Some(64));
    assert!(err(&silent).contains("there is no terminal to ask at"));
    for words in [
        &["allow", "--last", "--yes"][..],
        &["allow", "--id", "K7Q2FXMA", "--yes"],
    ] {
        let output = case.moat(words);
        assert_eq!(output.status.code(), Some(64));
        assert!(err(&output).contains("could choose what is allowed"));
    }
    assert_eq!(case.moat(&["allow", "--last"]).status.code(), Some(64));
    assert_eq!(case.text(), POLICY);
}

#[test]
fn a_person_at_a_terminal_sees_the_change_and_decides() {
    let case = Case::new(POLICY);
    let no = case.at_terminal("allow new.test --policy policy.yaml", "\n");
    assert_eq!(no.status.code(), Some(1), "{}", out(&no));
    assert!(out(&no).contains("+      - new.test"), "{}", out(&no));
    assert_eq!(case.text(), POLICY);
    let yes = case.at_terminal("deny new.test --policy policy.yaml", "y\n");
    assert_eq!(yes.status.code(), Some(0), "{}", out(&yes));
    assert_eq!(
        case.text(),
        format!("{POLICY}deny:\n  - id: denied\n    net:\n      - new.test\n")
    );
}

#[test]
fn a_change_by_hand_is_checked_shown_and_asked_about() {
    let case = Case::new(POLICY);
    let yes = case.at_terminal("edit --policy policy.yaml", "y\n");
    assert_eq!(yes.status.code(), Some(0), "{}", out(&yes));
    assert!(
        out(&yes).contains("+      - e.test      # first"),
        "{}",
        out(&yes)
    );
    assert_eq!(case.text(), POLICY.replace("a.test", "e.test"));
    let none = case.at_terminal("edit --policy policy.yaml", "");
    assert!(out(&none).contains("nothing was changed"), "{}", out(&none));
    let mut broken = case.clean(env!("CARGO_BIN_EXE_moat"));
    broken.args(["edit", "--yes", "--policy", "policy.yaml"]);
    let broken = broken
        .env("EDITOR", "sed -i s/net:/nett:/")
        .output()
        .unwrap();
    assert_eq!(broken.status.code(), Some(64));
    assert!(err(&broken).contains("nett"), "{}", err(&broken));
    assert_eq!(case.text(), POLICY.replace("a.test", "e.test"));
}

#[test]
fn the_first_entry_creates_the_file_with_the_default_in_it() {
    let case = Case::new(POLICY);
    let created = case.moat(&["allow", "new.test", "--yes"]);
    assert_eq!(created.status.code(), Some(0), "{}", err(&created));
    let text = fs::read_to_string(case.path("home/.config/moat/policy.yaml")).unwrap();
    assert!(text.contains("- preset: default"), "{text}");
    assert!(
        text.ends_with("  - id: allowed\n    net:\n      - new.test\n"),
        "{text}"
    );
}

#[test]
fn a_wildcard_over_names_of_strangers_is_warned_of() {
    let case = Case::new(POLICY);
    let output = case.edit(&["allow", "*.com"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(err(&output).contains("`*.com` lets through every domain under `com`"));
}

#[test]
fn a_file_that_its_owner_may_not_write_is_left_alone() {
    let case = Case::new(POLICY);
    fs::set_permissions(case.path("policy.yaml"), fs::Permissions::from_mode(0o444)).unwrap();
    let output = case.edit(&["allow", "new.test"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("is not writable, even by its owner"));
    assert_eq!(case.text(), POLICY);
}

/// A running proxy on this case's policy; ended with the case.
struct Proxy {
    child: Child,
    address: SocketAddr,
}

impl Proxy {
    fn start(case: &Case) -> Self {
        let mut child = case
            .clean(env!("CARGO_BIN_EXE_moat"))
            .args(["proxy", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .args(["--policy", "policy.yaml", "--dns", "127.0.0.1:9"])
            .args(["--dns-timeout", "250ms"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut addresses = lines
            .map_while(Result::ok)
            .filter_map(|line| line.split_once("listening on http://")?.1.parse().ok());
        let address = addresses.next().unwrap();
        Self { child, address }
    }

    /// The head of the answer to a CONNECT.
    fn connect(&self, target: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        write!(
            stream,
            "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn what_a_proxy_refused_is_allowed_by_a_person_and_the_proxy_has_it() {
    let case = Case::new(POLICY);
    let proxy = Proxy::start(&case);
    let refused = proxy.connect("x.test:8443");
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    let mut fields = refused.lines().filter_map(|line| line.split_once(": "));
    let is_id = |(name, _): &(&str, &str)| name.eq_ignore_ascii_case("moat-id");
    let (_, id) = fields.find(is_id).unwrap();
    // The record is written in groups, a moment after the answer.
    wait_for("the record of the refusal", || {
        let mut log = case.clean(env!("CARGO_BIN_EXE_moat"));
        let said = log.args(["log", "--json", "--id", id]).output().unwrap();
        out(&said).contains("x.test").then_some(())
    });
    let allowed = case.at_terminal(&format!("allow --id {id}"), "y\n");
    assert_eq!(allowed.status.code(), Some(0), "{}", out(&allowed));
    assert!(
        out(&allowed).contains("x.test:8443 was refused (default)"),
        "{}",
        out(&allowed)
    );
    let written = Instant::now();
    assert_eq!(
        case.text(),
        format!("{POLICY}  - id: allowed\n    net:\n      - x.test:8443\n")
    );
    while proxy.connect("x.test:8443").starts_with("HTTP/1.1 403 ") {
        assert!(
            written.elapsed() < Duration::from_secs(5),
            "the proxy has not read the change"
        );
    }
    let again = case.at_terminal("allow --last", "y\n");
    assert!(out(&again).contains("nothing to change"), "{}", out(&again));
}

#[test]
fn an_entry_is_written_beside_a_project_file_that_does_not_load() {
    let case = Case::new(POLICY);
    let project = case.path("project");
    fs::create_dir_all(project.join(".git")).unwrap();
    fs::write(project.join(".moat.yaml"), "version: 1\nallow: [\n").unwrap();
    let home = case.path("moat");
    fs::create_dir_all(&home).unwrap();
    let output = case
        .clean(env!("CARGO_BIN_EXE_moat"))
        .args(["allow", "new.test", "--yes"])
        .env("MOAT_HOME", &home)
        .current_dir(&project)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(
        err(&output).contains("they do not load"),
        "{}",
        err(&output)
    );
    assert!(
        fs::read_to_string(home.join("policy.yaml"))
            .unwrap()
            .contains("new.test")
    );
}
