//! Package managers and git against small local registries, through the proxy.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::command::{Said, run};
use crate::support::origin::{After, Request, Stream};
use crate::support::program::through;
use crate::support::{Bed, bed};

/// Answers with these bytes.
fn reply(stream: &mut dyn Stream, kind: &str, bytes: &[u8]) -> After {
    let length = bytes.len();
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(bytes);
    After::Keep
}

fn must(said: &Said) {
    assert_eq!(said.code, 0, "{said:?}");
}

/// Runs `git http-backend` for one request.
fn backend(root: &Path, stream: &mut dyn Stream, request: &Request) -> After {
    let (path, query) = request
        .target
        .split_once('?')
        .unwrap_or((&request.target, ""));
    let mut git = Command::new("git");
    git.arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", &request.method)
        .env("REMOTE_USER", "somebody")
        .env("REMOTE_ADDR", "127.0.0.1")
        .env("CONTENT_LENGTH", request.body.len().to_string());
    for (name, header) in [
        ("CONTENT_TYPE", "content-type"),
        ("HTTP_CONTENT_ENCODING", "content-encoding"),
        ("GIT_PROTOCOL", "git-protocol"),
    ] {
        git.env(name, request.header(header).unwrap_or_default());
    }
    git.stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = git.spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(&request.body);
    let said = child.wait_with_output().unwrap().stdout;
    let at = said
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap();
    let (head, body) = (String::from_utf8_lossy(&said[..at]), &said[at + 4..]);
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
    let status = field("Status: ").unwrap_or("200 OK");
    let kind = field("Content-Type: ").unwrap_or("text/plain");
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body);
    After::Keep
}

#[test]
fn git_clones_and_pushes_and_shows_the_refusal() {
    bed(|bed| {
        let moat = bed.moat().start();
        let git = |arguments: &[&str]| {
            let mut git = bed.program("git")?;
            git.env("GIT_SSL_CAINFO", bed.authority_file())
                .env("GIT_TERMINAL_PROMPT", "0");
            git.args(["-c", "user.name=A", "-c", "user.email=a@allowed.test"]);
            git.args(["-c", "init.defaultBranch=main", "-c", "safe.directory=*"]);
            Some(run(through(&mut git, &moat).args(arguments)))
        };
        let Some(said) = git(&["init", "-q", "--bare", "root/r.git"]) else {
            return;
        };
        must(&said);
        let root = bed.directory().join("root");
        let set = ["-C", "root/r.git", "config", "http.receivepack", "true"];
        let Some(said) = git(&set) else { return };
        must(&said);
        bed.origins.on("/r.git/", move |stream, request| {
            backend(&root, stream, request)
        });
        let message = "a file";
        for step in [
            &["clone", "-q", "https://allowed.test/r.git", "one"][..],
            &["-C", "one", "commit", "-q", "--allow-empty", "-m", message],
            &["-C", "one", "push", "-q", "origin", "HEAD:refs/heads/main"],
            &["clone", "-q", "https://allowed.test/r.git", "two"],
        ] {
            let Some(said) = git(step) else { return };
            assert_eq!(said.code, 0, "{step:?}: {said:?}");
        }
        let Some(said) = git(&["-C", "two", "log", "--format=%s"]) else {
            return;
        };
        assert_eq!(said.stdout.trim(), message, "{said:?}");
        let Some(said) = git(&["clone", "https://denied.test/r.git", "three"]) else {
            return;
        };
        assert_ne!(said.code, 0, "{said:?}");
        assert!(said.stderr.contains("403"), "{said:?}");
    });
}

#[test]
fn pip_installs_and_shows_the_refusal() {
    bed(|bed| {
        let Some(mut python) = bed.tool("venv/bin/python") else {
            return;
        };
        let wheel = "import zipfile\n\
                     z = zipfile.ZipFile('moatdemo-1.0-py3-none-any.whl', 'w')\n\
                     d = 'moatdemo-1.0.dist-info/'\n\
                     z.writestr('moatdemo.py', 'there = 1\\n')\n\
                     z.writestr(d + 'METADATA', 'Metadata-Version: 2.1\\nName: moatdemo\\nVersion: 1.0\\n')\n\
                     z.writestr(d + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\n\
                     Root-Is-Purelib: true\\nTag: py3-none-any\\n')\n\
                     z.writestr(d + 'RECORD', '')\nz.close()\n";
        must(&run(python.args(["-c", wheel])));
        let file = "moatdemo-1.0-py3-none-any.whl";
        let bytes = std::fs::read(bed.directory().join(file)).unwrap();
        bed.origins.on("/simple/moatdemo/", move |stream, _| {
            let page = format!("<!DOCTYPE html><a href=\"/files/{file}\">{file}</a>");
            reply(stream, "text/html", page.as_bytes())
        });
        bed.origins.on("/files/", move |stream, _| {
            reply(stream, "application/octet-stream", &bytes)
        });
        let moat = bed.moat().start();
        let pip = |host: &str| {
            let mut pip = bed.tool("venv/bin/pip")?;
            pip.args(["install", "--no-input", "--retries", "1", "--timeout", "5"]);
            pip.args([
                "--disable-pip-version-check",
                "--no-cache-dir",
                "--target",
                "site",
            ]);
            pip.args(["--index-url", &format!("https://{host}/simple/"), "--cert"]);
            pip.arg(bed.authority_file()).arg("moatdemo");
            Some(run(through(&mut pip, &moat)))
        };
        let Some(said) = pip("denied.test") else {
            return;
        };
        assert_ne!(said.code, 0, "{said:?}");
        let all = format!("{}{}", said.stdout, said.stderr);
        assert!(
            all.contains("403 denied.test:443 denied by default"),
            "{all}"
        );
        let Some(said) = pip("allowed.test") else {
            return;
        };
        must(&said);
        assert!(bed.directory().join("site/moatdemo.py").exists());
    });
}

#[test]
fn npm_installs_and_shows_the_refusal() {
    bed(|bed| {
        let Some(mut npm) = bed.program("npm") else {
            return;
        };
        bed.write(
            "source/package.json",
            "{\"name\":\"moatdemo\",\"version\":\"1.0.0\"}",
        );
        bed.write("source/index.js", "module.exports = 1\n");
        let folder = bed.directory().join("source");
        must(&run(npm
            .args(["pack", "--offline", "--silent"])
            .current_dir(&folder)));
        let bytes = std::fs::read(folder.join("moatdemo-1.0.0.tgz")).unwrap();
        bed.origins.on("/moatdemo", |stream, _| {
            let version = "{\"name\":\"moatdemo\",\"version\":\"1.0.0\",\"dist\":{\"tarball\":\
                           \"https://allowed.test/files/moatdemo-1.0.0.tgz\"}}";
            let page = format!(
                "{{\"name\":\"moatdemo\",\"dist-tags\":{{\"latest\":\"1.0.0\"}},\
                 \"versions\":{{\"1.0.0\":{version}}}}}"
            );
            reply(stream, "application/json", page.as_bytes())
        });
        bed.origins.on("/files/", move |stream, _| {
            reply(stream, "application/octet-stream", &bytes)
        });
        let moat = bed.moat().start();
        bed.write(
            "project/package.json",
            "{\"name\":\"p\",\"version\":\"1.0.0\"}",
        );
        let npm = |host: &str| {
            let mut npm = bed.program("npm")?;
            npm.args(["install", "--no-audit", "--no-fund", "--fetch-retries=0"]);
            npm.args([&format!("--registry=https://{host}/"), "moatdemo"]);
            npm.arg(format!("--cafile={}", bed.authority_file().display()));
            npm.current_dir(bed.directory().join("project"));
            Some(run(through(&mut npm, &moat)))
        };
        let Some(said) = npm("denied.test") else {
            return;
        };
        assert_ne!(said.code, 0, "{said:?}");
        assert!(said.stderr.contains("403"), "{said:?}");
        let Some(said) = npm("allowed.test") else {
            return;
        };
        must(&said);
        assert!(
            bed.directory()
                .join("project/node_modules/moatdemo/index.js")
                .exists()
        );
    });
}

#[test]
fn cargo_fetches_and_shows_the_refusal() {
    bed(|bed| {
        let Some((sum, bytes)) = packed_crate(bed) else {
            return;
        };
        for host in ["allowed.test", "denied.test"] {
            bed.write(&format!("{host}/src/lib.rs"), "");
            bed.write(
                &format!("{host}/Cargo.toml"),
                "[package]\nname = \"p\"\nversion = \"1.0.0\"\nedition = \"2021\"\n\
                 [dependencies]\nmoatdemo = { version = \"1\", registry = \"bed\" }\n",
            );
        }
        bed.origins.on("/index/config.json", |stream, _| {
            let place = b"{\"dl\":\"https://allowed.test/dl\"}";
            reply(stream, "application/json", place)
        });
        bed.origins.on("/index/mo/at/moatdemo", move |stream, _| {
            let line = format!(
                "{{\"name\":\"moatdemo\",\"vers\":\"1.0.0\",\"deps\":[],\"features\":{{}},\
                 \"cksum\":\"{sum}\",\"yanked\":false}}\n"
            );
            reply(stream, "text/plain", line.as_bytes())
        });
        bed.origins.on("/dl/", move |stream, _| {
            reply(stream, "application/gzip", &bytes)
        });
        let moat = bed.moat().start();
        let fetch = |host: &str| {
            let mut cargo = clean_cargo(bed)?;
            cargo
                .env(
                    "CARGO_REGISTRIES_BED_INDEX",
                    format!("sparse+https://{host}/index/"),
                )
                .env("CARGO_HTTP_CAINFO", bed.authority_file())
                .env("CARGO_HTTP_MULTIPLEXING", "false")
                .env("CARGO_NET_RETRY", "0");
            cargo.arg("fetch").current_dir(bed.directory().join(host));
            Some(run(through(&mut cargo, &moat)))
        };
        let Some(said) = fetch("denied.test") else {
            return;
        };
        assert_ne!(said.code, 0, "{said:?}");
        assert!(said.stderr.contains("403"), "{said:?}");
        let Some(said) = fetch("allowed.test") else {
            return;
        };
        must(&said);
        assert!(
            said.stderr.contains("Downloaded moatdemo v1.0.0"),
            "{said:?}"
        );
    });
}

/// A crate as a registry serves it, with its checksum; `None` where the programs are missing.
fn packed_crate(bed: &Bed) -> Option<(String, Vec<u8>)> {
    let (mut cargo, mut sum) = (clean_cargo(bed)?, bed.program("sha256sum")?);
    let manifest = "[package]\nname = \"moatdemo\"\nversion = \"1.0.0\"\nedition = \"2021\"\n\
                    description = \"a demo\"\nlicense = \"MIT\"\n";
    bed.write("source/Cargo.toml", manifest);
    bed.write("source/src/lib.rs", "//! A demo.\n");
    let folder = bed.directory().join("source");
    let pack = ["package", "--offline", "--no-verify", "--allow-dirty", "-q"];
    must(&run(cargo.args(pack).current_dir(&folder)));
    let file = folder.join("target/package/moatdemo-1.0.0.crate");
    let bytes = std::fs::read(&file).unwrap();
    let sum = run(sum.arg(&file)).stdout;
    Some((sum.split(' ').next().unwrap().to_owned(), bytes))
}

/// The cargo that built this test, with a home of the case's own.
fn clean_cargo(bed: &Bed) -> Option<Command> {
    let mut cargo = bed.clean(env!("CARGO"));
    cargo.env("CARGO_HOME", bed.directory().join("cargo"));
    let rustc = crate::support::skip::program("rustc");
    if rustc.is_none() {
        crate::support::skip::skip(&bed.name, "rustc is not on the path");
        return None;
    }
    for name in ["RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
        if let Some(value) = std::env::var_os(name) {
            cargo.env(name, value);
        }
    }
    let home = std::env::home_dir().map(|home| home.join(".rustup"));
    if let (None, Some(home)) = (std::env::var_os("RUSTUP_HOME"), home) {
        cargo.env("RUSTUP_HOME", home);
    }
    Some(cargo)
}
