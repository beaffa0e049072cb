//! The command line as scripts see it: exit codes, where lines go, what a proxy leaves behind.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A home of its own.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_moat"));
        command
            .args(words)
            .env_clear()
            .env("HOME", self.0.path())
            .env("XDG_STATE_HOME", self.path("state"))
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command
    }

    fn moat(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Starts a proxy on free ports and waits for its first lines.
    fn proxy(&self, words: &[&str], lines: usize) -> Proxy {
        let ports = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
        let mut child = self
            .command(&[&["proxy"], &ports[..], words].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let read = stdout.by_ref().lines();
        let lines = read.take(lines).map(Result::unwrap).collect();
        Proxy {
            child: Ended(child),
            lines,
            _stdout: stdout,
        }
    }
}

/// A process that ends with the test, whatever becomes of it.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running proxy and its first lines on standard output.
struct Proxy {
    child: Ended,
    lines: Vec<String>,
    /// Kept open: a closed pipe is a record that cannot be written.
    _stdout: BufReader<ChildStdout>,
}

impl Proxy {
    /// Ends it as an operator does, and gives the exit code and what it wrote to standard error.
    fn stop(mut self) -> (Option<i32>, String) {
        let kill = Command::new("kill")
            .arg(self.child.0.id().to_string())
            .status();
        assert!(kill.unwrap().success());
        let mut text = String::new();
        let mut stderr = self.child.0.stderr.take().unwrap();
        stderr.read_to_string(&mut text).unwrap();
        (self.child.0.wait().unwrap().code(), text)
    }
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_mistake_is_64_and_an_answer_0() {
    let home = Home::new();
    for words in [
        &["--bogus"][..],
        &["dance"],
        &["proxy", "--bogus"],
        &["check"],
        &[],
    ] {
        let output = home.moat(words);
        assert_eq!(code(&output), Some(64), "{words:?}");
        assert!(output.stdout.is_empty(), "{words:?}");
    }
    for words in [&["--help"][..], &["--version"], &["proxy", "--help"]] {
        let output = home.moat(words);
        assert_eq!(code(&output), Some(0), "{words:?}");
        assert!(output.stderr.is_empty(), "{words:?}");
    }
}

#[test]
fn a_bad_value_is_told_what_a_good_one_is() {
    let home = Home::new();
    for (words, said) in [
        (&["proxy", "--admin", "127.0.0.1"][..], "`127.0.0.1:9128`"),
        (&["proxy", "--workers", "0"], "a whole number from 1"),
        (
            &["proxy", "--max-connections", "-1"],
            "a whole number from 1",
        ),
        (&["allow", "a.test", "--port", "x"], "`22,8000-8100`"),
    ] {
        let output = home.moat(words);
        assert_eq!(code(&output), Some(64), "{words:?}");
        assert!(stderr(&output).contains(said), "{words:?}: {output:?}");
    }
}

#[test]
fn a_broken_policy_starts_no_proxy() {
    let home = Home::new();
    fs::write(home.path("policy.yaml"), "version: 1\nalow: []\n").unwrap();
    let output = home.moat(&[
        "proxy",
        "--listen",
        "127.0.0.1:0",
        "--policy",
        "policy.yaml",
    ]);
    assert_eq!(code(&output), Some(64));
    assert!(output.stdout.is_empty());
    assert!(stderr(&output).contains("unknown key `alow`"));
    let missing = home.moat(&["proxy", "--policy", "none.yaml"]);
    assert_eq!(code(&missing), Some(64));
}

#[test]
fn the_environment_sets_flags_but_does_not_turn_the_record_off() {
    let home = Home::new();
    let mut planted = home.command(&["proxy", "--listen", "127.0.0.1:0"]);
    let output = planted.env("MOAT_AUDIT", "off").output().unwrap();
    assert_eq!(code(&output), Some(64));
    assert!(stderr(&output).contains("cannot turn the record off"));
    let mut device = home.command(&["proxy", "--listen", "127.0.0.1:0"]);
    let output = device.env("MOAT_AUDIT", "/dev/null").output().unwrap();
    assert_eq!(code(&output), Some(64));
    assert!(stderr(&output).contains("cannot turn the record off"));
    let mut wrong = home.command(&["proxy"]);
    let output = wrong.env("MOAT_IDLE_TIMEOUT", "soon").output().unwrap();
    assert_eq!(code(&output), Some(64));
    assert!(stderr(&output).contains("variable `MOAT_IDLE_TIMEOUT`"));
    for words in [
        ["--idle-timeout", "later"],
        ["--idle-timeout=later", "--observe"],
    ] {
        let mut typed = home.command(&[&["proxy"], &words[..]].concat());
        let output = typed.env("MOAT_IDLE_TIMEOUT", "5s").output().unwrap();
        assert_eq!(code(&output), Some(64));
        assert!(!stderr(&output).contains("MOAT_"), "{output:?}");
    }
}

#[test]
fn a_variable_that_is_not_read_is_told_of() {
    let home = Home::new();
    let mut proxy = home.command(&["proxy", "--policy", "none.yaml"]);
    let output = proxy
        .env("MOAT_POLICY", "other.yaml")
        .env("MOAT_OBSERVE", "true")
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(64));
    for name in ["MOAT_POLICY", "MOAT_OBSERVE"] {
        let said = format!("{name} is not read");
        assert!(stderr(&output).contains(&said), "{output:?}");
    }
    let silent = home.moat(&["proxy", "--policy", "none.yaml"]);
    assert!(!stderr(&silent).contains("is not read"), "{silent:?}");
}

#[test]
fn a_state_directory_that_cannot_be_written_is_64_with_a_way_out() {
    let home = Home::new();
    fs::write(home.path("state"), "not a directory").unwrap();
    let output = home.moat(&["proxy", "--listen", "127.0.0.1:0"]);
    assert_eq!(code(&output), Some(64));
    assert!(stderr(&output).contains("--audit -"));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let home = Home::new();
    let mut child = home
        .command(&["generate", "reference"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_proxy_says_where_it_listens_and_what_it_allows_and_leaves_nothing_behind() {
    let home = Home::new();
    let proxy = home.proxy(&[], 2);
    assert!(proxy.lines[0].starts_with("listening on http://127.0.0.1:"));
    assert!(proxy.lines[1].starts_with("admin on http://127.0.0.1:"));
    let run_file = home.path(&format!("state/moat/run/{}.json", proxy.child.0.id()));
    let mode = fs::metadata(&run_file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // It listens before it serves: ask until it is ready.
    let patience = Instant::now() + Duration::from_secs(10);
    let mut status = home.moat(&["status"]);
    while code(&status) == Some(1) && Instant::now() < patience {
        status = home.moat(&["status"]);
    }
    assert_eq!(code(&status), Some(0), "{status:?}");
    let url = proxy.lines[0].replace("listening on ", "");
    let env = home.moat(&["env", "--shell", "sh"]);
    let export = format!("export https_proxy='{url}'");
    assert!(String::from_utf8(env.stdout).unwrap().contains(&export));

    let (code, text) = proxy.stop();
    assert_eq!(code, Some(0));
    assert!(text.contains("policy: built-in default"));
    assert!(text.contains("(write)"));
    assert!(!run_file.exists());
    assert_eq!(home.moat(&["status"]).status.code(), Some(1));
}

#[test]
fn records_on_standard_output_move_the_listening_lines_to_standard_error() {
    let home = Home::new();
    let proxy = home.proxy(&["--audit", "-", "--observe"], 1);
    assert!(proxy.lines.iter().all(|line| line.starts_with('{')));
    let (code, text) = proxy.stop();
    assert_eq!(code, Some(0));
    assert!(text.contains("listening on http://127.0.0.1:"));
    assert!(text.contains("UNENFORCED"));
}

#[test]
fn a_followed_log_goes_on_across_a_rotation() {
    let home = Home::new();
    let record = |id: &str| {
        format!(
            "{{\"v\":1,\"ts\":\"2026-01-01T00:00:00.000000Z\",\"seq\":1,\"id\":\"{id}\",\
             \"event\":\"decision\",\"host\":\"a.test\",\"port\":443,\"effect\":\"deny\",\
             \"enforced\":true,\"cause\":\"default\"}}\n"
        )
    };
    let path = home.path("audit.jsonl");
    fs::write(&path, record("AAAAAAAA")).unwrap();
    let mut child = home
        .command(&["log", "--follow", "audit.jsonl"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let _ended = Ended(child);
    let mut next = || lines.next().unwrap().unwrap();
    assert!(next().contains("AAAAAAAA"));

    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(record("BBBBBBBB").as_bytes()).unwrap();
    assert!(next().contains("BBBBBBBB"));

    file.write_all(record("CCCCCCCC").as_bytes()).unwrap();
    fs::rename(&path, home.path("audit.jsonl.1")).unwrap();
    fs::write(&path, record("DDDDDDDD")).unwrap();
    assert!(next().contains("CCCCCCCC"));
    assert!(next().contains("DDDDDDDD"));
}
