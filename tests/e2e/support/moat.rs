//! The built binary as a running proxy: its flags, its ports, its records, its end.

use std::collections::HashSet;
use std::fmt;
use std::io::{BufRead as _, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::client::{Answer, Client, socks_target};
use super::namespace::Bed;
use super::wait::wait_for;

/// The `net` list of the base policy's group `names`.
const NAMES: [&str; 5] = [
    "allowed.test",
    "other-allowed.test",
    "*.allowed.test",
    "*.wild.test",
    "svc.allowed.test:*",
];

/// Causes of a refusal that may follow the decision that allowed the same request.
const LATE: [&str; 5] = ["sni", "host", "malformed", "timeout", "audit"];

/// The base policy with another `net` list in its group `names`.
pub(crate) fn policy_with(names: &[&str]) -> String {
    let list: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    format!(
        "version: 1\nallow:\n  - id: names\n    net: [{}]\n  - id: origins\n    \
         net: [\"127.0.0.2/32:*\"]\ndeny:\n  - id: denied\n    \
         net: [\"mal.test:*\", \"secret.wild.test:*\"]\n",
        list.join(", ")
    )
}

/// The base policy.
pub(crate) fn base_policy() -> String {
    policy_with(&NAMES)
}

/// A proxy that is not started yet.
pub(crate) struct Setup<'b> {
    bed: &'b Bed,
    policy: String,
    policy_file: Option<PathBuf>,
    flags: Vec<String>,
    /// `None` for what the system says.
    dns: Option<String>,
    listens: bool,
    audits: bool,
    ordinary: u16,
    /// What `ulimit` is told before the start.
    descriptors: Option<String>,
}

impl<'b> Setup<'b> {
    pub(crate) fn new(bed: &'b Bed) -> Self {
        Self {
            bed,
            policy: base_policy(),
            policy_file: None,
            flags: Vec::new(),
            dns: Some("127.0.0.1:53".to_owned()),
            listens: true,
            audits: true,
            ordinary: 200,
            descriptors: None,
        }
    }

    /// Another policy text.
    pub(crate) fn policy(mut self, text: &str) -> Self {
        text.clone_into(&mut self.policy);
        self
    }

    /// A policy file that the case wrote itself.
    pub(crate) fn policy_file(mut self, path: &Path) -> Self {
        self.policy_file = Some(path.to_owned());
        self
    }

    /// The base policy with another list of names.
    pub(crate) fn allow(self, names: &[&str]) -> Self {
        let text = policy_with(names);
        self.policy(&text)
    }

    /// The base policy with more names.
    pub(crate) fn allow_also(self, names: &[&str]) -> Self {
        self.allow(&[&NAMES, names].concat())
    }

    /// What an ordinary request gets under this policy, when it is not 200.
    pub(crate) fn ordinary(mut self, status: u16) -> Self {
        self.ordinary = status;
        self
    }

    /// One flag and its value.
    pub(crate) fn flag(mut self, name: &str, value: &str) -> Self {
        self.flags.extend([name.to_owned(), value.to_owned()]);
        self
    }

    /// Another name server.
    pub(crate) fn dns(mut self, address: &str) -> Self {
        self.dns = Some(address.to_owned());
        self
    }

    /// The hosts file and the name servers of the system.
    pub(crate) fn system_names(mut self) -> Self {
        self.dns = None;
        self
    }

    /// One flag that takes no value.
    pub(crate) fn switch(mut self, name: &str) -> Self {
        self.flags.push(name.to_owned());
        self
    }

    /// Starts with this many descriptors allowed.
    pub(crate) fn descriptors(mut self, limit: u64) -> Self {
        self.descriptors = Some(format!("-n {limit}"));
        self
    }

    /// Starts with this many descriptors allowed, and more to be had.
    pub(crate) fn soft_descriptors(mut self, limit: u64) -> Self {
        self.descriptors = Some(format!("-S -n {limit}"));
        self
    }

    /// Listens only where the case's own flags say.
    pub(crate) fn without_listener(mut self) -> Self {
        self.listens = false;
        self
    }

    /// Audits only where the case's own flags say.
    pub(crate) fn without_audit(mut self) -> Self {
        self.audits = false;
        self
    }

    fn policy_path(&self) -> PathBuf {
        let own = || self.bed.directory().join("policy.yaml");
        self.policy_file.clone().unwrap_or_else(own)
    }

    /// The command line, complete but not started.
    pub(crate) fn command(&self) -> Command {
        let policy = self.policy_path();
        if self.policy_file.is_none() {
            std::fs::write(&policy, &self.policy).unwrap();
        }
        let mut command = self.descriptors.as_ref().map_or_else(moat, |limit| {
            let mut shell = Command::new("sh");
            let script = format!("ulimit {limit}; exec \"$0\" \"$@\"");
            shell.args(["-c", &script, env!("CARGO_BIN_EXE_moat")]);
            clean(&mut shell);
            shell
        });
        homes(&mut command, self.bed.directory());
        // What a case still holds open at its end is not waited for.
        command.env("MOAT_DRAIN", "1s");
        command.arg("proxy").arg("--policy").arg(policy);
        command.args(["--admin", "127.0.0.1:0"]);
        if let Some(dns) = &self.dns {
            command.args(["--dns", dns]);
        }
        if self.listens {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        if self.audits {
            command
                .arg("--audit")
                .arg(self.bed.directory().join("audit.jsonl"));
        }
        command.args(&self.flags);
        command
    }

    /// Starts it and waits until it listens.
    pub(crate) fn start(self) -> Moat {
        let mut child = self
            .command()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = Arc::<Mutex<Vec<String>>>::default();
        collect(child.stdout.take().unwrap(), &output);
        collect(child.stderr.take().unwrap(), &output);
        let records = self.bed.directory().join("audit.jsonl");
        let policy = self.policy_path();
        self.bed.keep(Report {
            output: Arc::clone(&output),
            records: records.clone(),
        });
        wait_for("a listener", || {
            if let Ok(Some(status)) = child.try_wait() {
                panic!("the proxy ended at its start: {status}");
            }
            let lines = output.lock().unwrap();
            lines
                .iter()
                .any(|line| line.starts_with("listening on "))
                .then_some(())
        });
        Moat {
            child,
            output,
            records,
            policy,
            requests: AtomicUsize::new(0),
            ordinary: self.ordinary,
        }
    }
}

/// The binary with nothing of this machine's environment.
pub(crate) fn moat() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_moat"));
    clean(&mut command);
    command
}

fn clean(command: &mut Command) {
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
}

/// Points every folder that a program might use at `directory`.
pub(crate) fn homes(command: &mut Command, directory: &Path) {
    let home = directory.join("home");
    std::fs::create_dir_all(&home).unwrap();
    command
        .env("HOME", &home)
        .env("MOAT_HOME", home.join("moat"));
    for (name, folder) in [
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_CACHE_HOME", "cache"),
    ] {
        command.env(name, home.join(folder));
    }
    command.current_dir(directory);
}

fn collect(stream: impl Read + Send + 'static, into: &Arc<Mutex<Vec<String>>>) {
    let into = Arc::clone(into);
    thread::spawn(move || {
        for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
            into.lock()
                .unwrap()
                .push(String::from_utf8_lossy(&line).into_owned());
        }
    });
}

/// What is printed when a case fails.
pub(crate) struct Report {
    output: Arc<Mutex<Vec<String>>>,
    records: PathBuf,
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let records = std::fs::read_to_string(&self.records).unwrap_or_default();
        writeln!(
            out,
            "moat said:\n{}",
            self.output.lock().unwrap().join("\n")
        )?;
        write!(out, "records:\n{records}")
    }
}

/// A running proxy.
pub(crate) struct Moat {
    child: Child,
    output: Arc<Mutex<Vec<String>>>,
    records: PathBuf,
    pub(crate) policy: PathBuf,
    /// How many requests the helpers below have sent.
    requests: AtomicUsize,
    ordinary: u16,
}

impl Moat {
    /// Where clients connect.
    pub(crate) fn address(&self) -> SocketAddr {
        self.printed("listening on http://").parse().unwrap()
    }

    /// The admin listener.
    pub(crate) fn admin(&self) -> SocketAddr {
        self.printed("admin on http://").parse().unwrap()
    }

    pub(crate) fn port(&self) -> u16 {
        self.address().port()
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// From now on an ordinary request gets this status.
    pub(crate) fn expecting(mut self, status: u16) -> Self {
        self.ordinary = status;
        self
    }

    /// A connection on which nothing was sent.
    pub(crate) fn dial(&self) -> Client {
        Client::dial(self.address())
    }

    /// Notes requests that a case sends by itself.
    pub(crate) fn count(&self, requests: usize) {
        self.requests.fetch_add(requests, Ordering::Relaxed);
    }

    /// Sends one request as these bytes and reads its answer.
    pub(crate) fn raw(&self, bytes: impl AsRef<[u8]>) -> Answer {
        self.count(1);
        self.dial().send(bytes).answer()
    }

    /// Sends these bytes and reads until the proxy closes.
    pub(crate) fn raw_to_end(&self, bytes: impl AsRef<[u8]>) -> String {
        self.count(1);
        let (bytes, _) = self.dial().send(bytes).rest();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Opens a tunnel, or not: the answer and the connection.
    pub(crate) fn tunnel(&self, target: &str) -> (Answer, Client) {
        self.count(1);
        let mut client = self.dial();
        let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
        let answer = client.send(request).answer_to("CONNECT");
        (answer, client)
    }

    /// The status of a CONNECT.
    pub(crate) fn connect(&self, target: &str) -> u16 {
        self.tunnel(target).0.status()
    }

    /// The answer to a plain GET of `host/path`.
    pub(crate) fn get(&self, place: &str) -> Answer {
        let host = place.split('/').next().unwrap_or_default();
        self.raw(format!(
            "GET http://{place} HTTP/1.1\r\nHost: {host}\r\n\r\n"
        ))
    }

    /// The reply code of a SOCKS5 request and its connection.
    pub(crate) fn socks_tunnel(&self, host: &str, port: u16) -> (u8, Client) {
        self.count(1);
        let mut client = self.dial();
        assert_eq!(client.send([5, 1, 0]).exactly(2), [5, 0]);
        let reply = client.send(socks_target(host, port)).exactly(4);
        assert_eq!(reply[0], 5);
        let address = if reply[3] == 4 { 16 } else { 4 };
        client.exactly(address + 2);
        (reply[1], client)
    }

    /// The reply code of a SOCKS5 request.
    pub(crate) fn socks(&self, host: &str, port: u16) -> u8 {
        self.socks_tunnel(host, port).0
    }

    /// The word behind `mark` in what is printed at the start.
    pub(crate) fn printed(&self, mark: &str) -> String {
        wait_for(mark, || {
            let log = self.log();
            let (_, rest) = log.split_once(mark)?;
            rest.split_whitespace().next().map(str::to_owned)
        })
    }

    /// Everything printed so far, on both streams.
    pub(crate) fn log(&self) -> String {
        self.output.lock().unwrap().join("\n")
    }

    /// Every record so far.
    pub(crate) fn records(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.records).unwrap_or_default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let lines = whole.lines();
        lines
            .map(|line| serde_json::from_str(line).expect("a record is JSON"))
            .collect()
    }

    /// The records of one kind that `fits`, once there is one.
    pub(crate) fn wait_record(&self, event: &str, fits: impl Fn(&Value) -> bool) -> Value {
        wait_for(&format!("a {event} record"), || {
            let mut records = self.records().into_iter();
            records.find(|record| record["event"] == event && fits(record))
        })
    }

    /// The decision about `host`, once it is written.
    pub(crate) fn decision(&self, host: &str) -> Value {
        self.wait_record("decision", |record| record["host"] == host)
    }

    /// What the admin listener answers for `path`.
    pub(crate) fn admin_get(&self, path: &str) -> Answer {
        let request = format!("GET {path} HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n");
        Client::dial(self.admin()).send(request).answer()
    }

    /// The sum of all samples of a metric, with all its labels.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let text = self.admin_get("/metrics").text();
        let samples = text.lines().filter_map(|line| line.strip_prefix(name));
        let ours = samples.filter(|rest| rest.starts_with(['{', ' ']));
        ours.map(|rest| rest.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
            .sum()
    }

    /// Replaces the policy file's text.
    pub(crate) fn write_policy(&self, text: &str) {
        std::fs::write(&self.policy, text).unwrap();
    }

    /// Sends SIGHUP and waits until the reload is recorded, whichever way it went.
    pub(crate) fn reload(&self) {
        let before = self.reloads();
        self.signal(Signal::HUP);
        wait_for("the reload", || (self.reloads() > before).then_some(()));
    }

    fn reloads(&self) -> usize {
        self.records()
            .iter()
            .filter(|record| record["event"] == "reload")
            .count()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for the process to end by itself.
    pub(crate) fn wait_exit(&mut self) -> ExitStatus {
        wait_for("the end of the proxy", || self.child.try_wait().unwrap())
    }

    /// What holds after every case: an ordinary request is served by the same process, and each
    /// request sent by the helpers has exactly one decision.
    pub(crate) fn finish(mut self) {
        assert_eq!(
            self.get("allowed.test/").status(),
            self.ordinary,
            "the ordinary request"
        );
        let sent = self.requests.load(Ordering::Relaxed);
        wait_for("one decision per request", || {
            (self.judged() >= sent).then_some(())
        });
        self.signal(Signal::TERM);
        assert!(self.wait_exit().success(), "the proxy's end");
        assert_eq!(self.judged(), sent, "one decision per request");
        let records = self.records();
        for (at, record) in records.iter().enumerate() {
            assert_eq!(record["seq"], at + 1, "the sequence has a gap");
        }
    }

    fn judged(&self) -> usize {
        let mut ids = HashSet::new();
        for record in self.records() {
            if record["event"] == "decision" {
                let first = ids.insert(record["id"].as_str().unwrap().to_owned());
                let late = LATE.iter().any(|cause| record["cause"] == *cause);
                assert!(first || late, "a second decision: {record}");
            }
        }
        ids.len()
    }
}

impl Drop for Moat {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
