//! A namespace per case: the test program starts itself again inside one.
//!
//! Inside, loopback is up and every address is local, so that ports 53, 80 and 443 are free and
//! nothing can leave. Threads of the inner program are the servers; all of it ends with the case.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use tempfile::TempDir;

use super::dns::StubDns;
use super::moat::{Report, Setup};
use super::origin::Origins;
use super::skip::skip;
use super::tls::Authority;
use super::trap::Traps;

/// Set for the test program that runs inside.
const INSIDE: &str = "MOAT_TEST_INSIDE";

/// Where the origins live: the one loopback address that the base policy opens.
pub(crate) const ORIGIN: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// Ports of all other addresses on which a connection fails the case.
const TRAPPED: [u16; 6] = [22, 25, 80, 443, 8080, 8443];

/// What a case works with.
pub(crate) struct Bed {
    /// The case's name.
    pub(crate) name: String,
    pub(crate) dns: StubDns,
    pub(crate) origins: Origins,
    pub(crate) authority: Authority,
    pub(crate) traps: Traps,
    directory: TempDir,
    reports: Mutex<Vec<Report>>,
}

/// Runs `case` in a namespace of its own. The type's name is the case's name.
pub(crate) fn bed<F: FnOnce(&Bed)>(case: F) {
    if std::env::var_os(INSIDE).is_some() {
        inside(case);
    } else {
        outside(&name_of::<F>());
    }
}

fn name_of<F>() -> String {
    let path = std::any::type_name::<F>();
    let (function, _) = path
        .split_once("::{{closure}}")
        .expect("a case is a closure");
    let (_, name) = function.split_once("::").expect("a case lives in a module");
    name.to_owned()
}

/// The command that runs a program in fresh namespaces.
fn unshare() -> Command {
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args([
        "--net",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "--",
    ]);
    command
}

fn outside(name: &str) {
    let output = unshare()
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .env("RUST_BACKTRACE", "0")
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return skip(name, &format!("`unshare` does not start: {error}")),
    };
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    if let Some(reason) = stderr.lines().find(|line| line.starts_with("unshare: "))
        && !stdout.contains("running 1 test")
    {
        return skip(name, reason);
    }
    eprint!("{stderr}");
    assert!(
        output.status.success() && stdout.contains("test result: ok. 1 passed"),
        "{name} failed inside its namespace ({})\n{stdout}",
        output.status
    );
}

/// Changes the network of the case's own namespace.
pub(crate) fn ip(arguments: &str) {
    run("ip", arguments);
}

fn run(program: &str, arguments: &str) {
    let status = Command::new(program).args(arguments.split(' ')).status();
    let status = status.unwrap();
    assert!(status.success(), "{program} {arguments}: {status}");
}

fn inside<F: FnOnce(&Bed)>(case: F) {
    for arguments in [
        "link set lo up",
        "route add local 0.0.0.0/0 dev lo table local",
        "-6 route add local ::/0 dev lo table local",
    ] {
        ip(arguments);
    }
    let authority = Authority::new();
    let bed = Bed {
        name: name_of::<F>(),
        dns: StubDns::start(),
        origins: Origins::start(ORIGIN, &authority),
        authority,
        traps: Traps::default(),
        directory: tempfile::tempdir().unwrap(),
        reports: Mutex::default(),
    };
    for port in TRAPPED {
        bed.traps.lay(port);
    }
    case(&bed);
    assert_eq!(bed.traps.sprung(), [], "a trap sprang");
}

impl Bed {
    /// A proxy with the base policy, to be changed and started.
    pub(crate) fn moat(&self) -> Setup<'_> {
        Setup::new(self)
    }

    /// The case's own directory, gone at its end.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file below the case's directory.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> std::path::PathBuf {
        let path = self.directory().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Puts a file with this text over one of the system's, in the case's own namespace.
    pub(crate) fn cover(&self, system: &str, text: &str) {
        let name = system.replace('/', "_");
        let own = self.write(&name, text);
        run("mount", &format!("--bind {} {system}", own.display()));
    }

    /// Keeps what to print should the case fail.
    pub(crate) fn keep(&self, report: Report) {
        self.reports.lock().unwrap().push(report);
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let mut text = format!(
            "queries: {:?}\ntraps: {:?}\n",
            self.dns.queries(),
            self.traps.sprung()
        );
        for report in self.reports.lock().unwrap().iter() {
            let _ = write!(text, "{report}");
        }
        eprintln!("{text}");
    }
}
