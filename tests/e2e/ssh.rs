//! SSH and git over it, the commonest use of a tunnel without TLS: the server speaks first.

use std::io;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::command::run;
use crate::support::origin::Tap;
use crate::support::program::Server;
use crate::support::skip::skip;
use crate::support::wait::wait_for;
use crate::support::{Bed, bed};

#[test]
fn ssh_goes_through_connect_and_socks() {
    bed(|bed| {
        let (Some(_), Some(_server)) = (bed.program("nc"), start_sshd(bed)) else {
            return;
        };
        let moat = bed.moat().start();
        let address = moat.address();
        let ssh = |kind: &str, host: &str| {
            let mut ssh = bed.program("ssh")?;
            let command = format!("ProxyCommand=nc -X {kind} -x {address} %h %p");
            ssh.args(["-F", "none", "-i", "key", "-p", "2222", "-o", &command]);
            ssh.args([
                "-o",
                "StrictHostKeyChecking=no",
                "-o",
                "UserKnownHostsFile=known",
            ]);
            ssh.args(["-o", "BatchMode=yes", &format!("root@{host}"), "echo there"]);
            Some(run(&mut ssh))
        };
        for kind in ["connect", "5"] {
            let start = Instant::now();
            let Some(said) = ssh(kind, "svc.allowed.test") else {
                return;
            };
            assert_eq!(said.stdout, "there\n", "{kind}: {said:?}");
            assert!(
                start.elapsed() < Duration::from_secs(3),
                "{:?}",
                start.elapsed()
            );
            let Some(said) = ssh(kind, "denied.test") else {
                return;
            };
            assert_eq!(said.code, 255, "{said:?}");
            let shown = if kind == "connect" {
                "403 denied.test:2222"
            } else {
                "not allowed"
            };
            assert!(said.stderr.contains(shown), "{kind}: {said:?}");
        }
    });
}

#[test]
fn git_over_ssh_goes_through_connect_and_socks() {
    bed(|bed| {
        let (Some(_), Some(_server)) = (bed.program("nc"), start_sshd(bed)) else {
            return;
        };
        // On the port that a git remote means where none is written; the server cannot have it
        // itself, beside the trap that lies there on every other address.
        bed.origins.tcp(22, |mut tap: Tap| {
            let server = TcpStream::connect("127.0.0.2:2222").unwrap();
            let mut out = (tap.stream.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || io::copy(&mut out.1, &mut out.0));
            let _ = io::copy(&mut tap, &mut &server);
        });
        let moat = bed.moat().start();
        let Some(mut init) = bed.program("git") else {
            return;
        };
        let said = run(init.args(["init", "-q", "--bare", "r.git"]));
        assert_eq!(said.code, 0, "{said:?}");
        let list = |kind: &str, host: &str| {
            let mut git = bed.program("git")?;
            let proxy = format!("nc -X {kind} -x {} %h %p", moat.address());
            let ssh = format!(
                "ssh -F none -i key -o ProxyCommand='{proxy}' -o BatchMode=yes \
                 -o StrictHostKeyChecking=no -o UserKnownHostsFile=known"
            );
            let folder = bed.directory().display();
            git.env("GIT_SSH_COMMAND", ssh);
            Some(run(
                git.args(["ls-remote", &format!("root@{host}:{folder}/r.git")])
            ))
        };
        for (kind, shown) in [("connect", "403 denied.test:22"), ("5", "not allowed")] {
            let start = Instant::now();
            let Some(said) = list(kind, "svc.allowed.test") else {
                return;
            };
            assert_eq!(said.code, 0, "{kind}: {said:?}");
            assert!(start.elapsed() < Duration::from_secs(3), "{kind}");
            let Some(said) = list(kind, "denied.test") else {
                return;
            };
            assert_eq!(said.code, 128, "{kind}: {said:?}");
            assert!(said.stderr.contains(shown), "{kind}: {said:?}");
        }
        assert_eq!(bed.origins.arrived(22).len(), 2);
        moat.count(4);
        moat.finish();
    });
}

/// An ssh server on port 2222 that knows one key; none where it cannot start.
fn start_sshd(bed: &Bed) -> Option<Server> {
    let mut sshd = bed.program("sshd")?;
    for file in ["key", "host"] {
        let mut keygen = bed.program("ssh-keygen")?;
        let said = run(keygen.args(["-q", "-t", "ed25519", "-N", "", "-f", file]));
        assert_eq!(said.code, 0, "{said:?}");
    }
    // Its place for separated privileges is made at boot, which this machine may not have had.
    let _ = std::fs::create_dir_all("/run/sshd");
    let folder = bed.directory().display().to_string();
    let config = format!(
        "Port 2222\nListenAddress 127.0.0.2\nHostKey {folder}/host\nUsePAM no\nStrictModes no\n\
         PermitRootLogin yes\nAuthorizedKeysFile {folder}/key.pub\nPidFile none\n"
    );
    let config = bed.write("sshd_config", config);
    let mut server = Server::start(sshd.args(["-D", "-e", "-f"]).arg(config));
    let up = wait_for("sshd", || {
        let up = TcpStream::connect("127.0.0.2:2222").is_ok();
        (up || server.has_ended()).then_some(up)
    });
    if !up {
        skip(&bed.name, "sshd does not start here");
    }
    up.then_some(server)
}
