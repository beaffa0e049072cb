//! Programs that people use, through the proxy: what works, and what they see when refused.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::support::command::{Said, run};
use crate::support::program::{Server, through};
use crate::support::skip::skip;
use crate::support::wait::wait_for;
use crate::support::{Bed, Moat, bed};

/// Runs curl with the proxy and the authority set.
fn curl(bed: &Bed, moat: &Moat, arguments: &[&str]) -> Option<Said> {
    let mut curl = bed.program("curl")?;
    curl.args(["-sS", "--max-time", "5", "--cacert"])
        .arg(bed.authority_file());
    curl.args(["-x", &format!("http://{}", moat.address())]);
    Some(run(curl.args(arguments)))
}

#[test]
fn curl_fetches_over_http_and_https() {
    bed(|bed| {
        let moat = bed.moat().start();
        for arguments in [
            &["http://allowed.test/"][..],
            &["https://allowed.test/"],
            &["-0", "http://allowed.test/"],
            &["-0", "https://allowed.test/"],
            &["-p", "http://allowed.test/"],
        ] {
            let Some(said) = curl(bed, &moat, arguments) else {
                return;
            };
            assert!(
                said.stdout.contains("host allowed.test"),
                "{arguments:?}: {said:?}"
            );
            assert_eq!(said.code, 0, "{arguments:?}: {said:?}");
        }
    });
}

#[test]
fn curl_uploads_with_expect() {
    bed(|bed| {
        let moat = bed.moat().start();
        let body = bed.write("body", vec![0; 100_000]);
        let body = body.to_str().unwrap();
        let start = Instant::now();
        for url in ["http://allowed.test/put", "https://allowed.test/put"] {
            let expect = "Expect: 100-continue";
            let Some(said) = curl(bed, &moat, &["-T", body, "-H", expect, url]) else {
                return;
            };
            assert!(said.stdout.contains("read 100000"), "{said:?}");
        }
        assert!(
            start.elapsed() < Duration::from_secs(1),
            "{:?}",
            start.elapsed()
        );
    });
}

#[test]
fn curl_reaches_through_socks() {
    bed(|bed| {
        let moat = bed.moat().start();
        let proxy = format!("socks5h://{}", moat.address());
        for url in ["http://allowed.test/", "https://allowed.test/"] {
            let Some(said) = curl(bed, &moat, &["-x", &proxy, url]) else {
                return;
            };
            assert!(said.stdout.contains("host allowed.test"), "{said:?}");
        }
        let Some(said) = curl(bed, &moat, &["-x", &proxy, "https://denied.test/"]) else {
            return;
        };
        assert_eq!(said.code, 97, "{said:?}");
    });
}

#[test]
fn curl_shows_the_reason_of_a_refusal() {
    bed(|bed| {
        let moat = bed.moat().start();
        let start = Instant::now();
        let Some(said) = curl(bed, &moat, &["-v", "https://denied.test/"]) else {
            return;
        };
        assert!(
            start.elapsed() < Duration::from_secs(1),
            "{:?}",
            start.elapsed()
        );
        assert_eq!(said.code, 56, "{said:?}");
        assert!(
            said.stderr.contains("CONNECT tunnel failed, response 403"),
            "{said:?}"
        );
        assert!(
            said.stderr
                .contains("403 denied.test:443 denied by default"),
            "{said:?}"
        );
        let Some(said) = curl(bed, &moat, &["http://denied.test/"]) else {
            return;
        };
        assert_eq!(said.code, 0, "{said:?}");
        assert!(said.stdout.contains("moat allow denied.test"), "{said:?}");
        let Some(said) = curl(bed, &moat, &["-T", "policy.yaml", "http://denied.test/"]) else {
            return;
        };
        assert!(said.stdout.contains("moat allow denied.test"), "{said:?}");
    });
}

#[test]
fn curl_streams_each_event() {
    bed(|bed| {
        bed.origins.on("/sse", |stream, _| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\ndata: 1\n\ndata: 2\n\n");
            crate::support::origin::After::Close
        });
        let moat = bed.moat().start();
        let Some(said) = curl(bed, &moat, &["-N", "http://allowed.test/sse"]) else {
            return;
        };
        assert_eq!(said.stdout, "data: 1\n\ndata: 2\n\n", "{said:?}");
    });
}

#[test]
fn wget_fetches_and_shows_the_reason_of_a_refusal() {
    bed(|bed| {
        let moat = bed.moat().start();
        let wget = |url: &str| {
            let mut wget = bed.program("wget")?;
            let ca = format!("--ca-certificate={}", bed.authority_file().display());
            wget.args(["-nv", "-O", "-", "--tries=1", "--timeout=5", &ca, url]);
            Some(run(through(&mut wget, &moat)))
        };
        for url in ["http://allowed.test/", "https://allowed.test/"] {
            let Some(said) = wget(url) else { return };
            assert!(said.stdout.contains("host allowed.test"), "{said:?}");
        }
        let Some(said) = wget("https://denied.test/") else {
            return;
        };
        assert_ne!(said.code, 0, "{said:?}");
        assert!(
            said.stderr.contains("denied.test:443 denied by default"),
            "{said:?}"
        );
        let Some(said) = wget("http://denied.test/") else {
            return;
        };
        assert_eq!(said.code, 8, "{said:?}");
        assert!(
            said.stderr.contains("denied.test:80 denied by default"),
            "{said:?}"
        );
    });
}

#[test]
fn openssl_handshakes_with_the_permitted_name_only() {
    bed(|bed| {
        let moat = bed.moat().start();
        let client = |host: &str, name: &str| {
            let mut openssl = bed.program("openssl")?;
            openssl.args([
                "s_client",
                "-proxy",
                &moat.address().to_string(),
                "-connect",
                host,
            ]);
            openssl
                .args(["-servername", name, "-CAfile"])
                .arg(bed.authority_file());
            Some(run(&mut openssl))
        };
        let Some(said) = client("allowed.test:443", "allowed.test") else {
            return;
        };
        assert!(said.stdout.contains("BEGIN CERTIFICATE"), "{said:?}");
        assert!(said.stdout.contains("Verification: OK"), "{said:?}");
        let before = bed.origins.everything();
        let Some(said) = client("allowed.test:443", "denied.test") else {
            return;
        };
        assert!(said.stdout.contains("no peer certificate"), "{said:?}");
        assert_eq!(bed.origins.everything(), before);
        let Some(said) = client("denied.test:443", "denied.test") else {
            return;
        };
        assert!(
            said.stderr
                .contains("403 denied.test:443 denied by default"),
            "{said:?}"
        );
    });
}

#[test]
fn python_requests_fetches_and_raises_the_reason() {
    bed(|bed| {
        let moat = bed.moat().start();
        let script = "import requests, sys\n\
                      r = requests.get(sys.argv[1], verify=sys.argv[2], timeout=5)\n\
                      print(r.status_code, r.reason, r.text)\n";
        let fetch = |url: &str| {
            let mut python = python_with(bed, "requests")?;
            python.args(["-c", script, url]).arg(bed.authority_file());
            Some(run(through(&mut python, &moat)))
        };
        for url in ["http://allowed.test/", "https://allowed.test/"] {
            let Some(said) = fetch(url) else { return };
            assert!(said.stdout.contains("host allowed.test"), "{said:?}");
        }
        let Some(said) = fetch("https://denied.test/") else {
            return;
        };
        assert!(
            said.stderr
                .contains("403 denied.test:443 denied by default"),
            "{said:?}"
        );
        let Some(said) = fetch("http://denied.test/") else {
            return;
        };
        assert!(
            said.stdout
                .starts_with("403 denied.test:80 denied by default"),
            "{said:?}"
        );
    });
}

#[test]
fn python_websockets_talks_and_raises_the_status() {
    bed(|bed| {
        let moat = bed.moat().start();
        let serve = "import asyncio\nfrom websockets.asyncio.server import serve\n\
                     async def echo(ws):\n  async for m in ws: await ws.send(m)\n\
                     async def main():\n  async with serve(echo, '127.0.0.2', 9100) as s:\n    \
                     await s.serve_forever()\nasyncio.run(main())\n";
        let talk = "import asyncio, sys\nfrom websockets.asyncio.client import connect\n\
                    async def main():\n  async with connect(sys.argv[1], proxy=sys.argv[2]) as ws:\n    \
                    await ws.send('hello'); print(await ws.recv())\nasyncio.run(main())\n";
        let Some(mut server) = python_with(bed, "websockets") else {
            return;
        };
        let _server = Server::start(server.args(["-c", serve]));
        wait_for("the server", || TcpStream::connect("127.0.0.2:9100").ok());
        let proxy = format!("http://{}", moat.address());
        let Some(mut client) = python_with(bed, "websockets") else {
            return;
        };
        let said = run(client.args(["-c", talk, "ws://svc.allowed.test:9100/", &proxy]));
        assert_eq!(said.stdout, "hello\n", "{said:?}");
        let Some(mut client) = python_with(bed, "websockets") else {
            return;
        };
        let said = run(client.args(["-c", talk, "ws://denied.test:9100/", &proxy]));
        assert!(said.stderr.contains("403"), "{said:?}");
    });
}

/// The Python of the tests, where it has this library: an install that failed leaves it bare.
fn python_with(bed: &Bed, library: &str) -> Option<std::process::Command> {
    let mut probe = bed.tool("venv/bin/python")?;
    if run(probe.args(["-c", &format!("import {library}")])).code != 0 {
        skip(
            &bed.name,
            &format!("the Python library {library} is not installed"),
        );
        return None;
    }
    bed.tool("venv/bin/python")
}

#[test]
fn node_fetch_goes_through_a_proxy_agent() {
    bed(|bed| {
        let moat = bed.moat().start();
        let script = "const { fetch, ProxyAgent } = require('undici');\n\
                      const dispatcher = new ProxyAgent(process.argv[2]);\n\
                      fetch(process.argv[1], { dispatcher })\n\
                      .then(async r => console.log(r.status, await r.text()))\n\
                      .catch(e => { console.error(e.cause ?? e); process.exit(1) });\n";
        let fetch = |url: &str| {
            let mut node = bed.node()?;
            node.env("NODE_EXTRA_CA_CERTS", bed.authority_file());
            let proxy = format!("http://{}", moat.address());
            Some(run(node.args(["-e", script, url, &proxy])))
        };
        for url in ["http://allowed.test/", "https://allowed.test/"] {
            let Some(said) = fetch(url) else { return };
            assert!(said.stdout.contains("host allowed.test"), "{said:?}");
        }
        let Some(said) = fetch("https://denied.test/") else {
            return;
        };
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.stderr.contains("403"), "{said:?}");
    });
}

#[test]
fn apt_updates_and_shows_the_reason_of_a_refusal() {
    bed(|bed| {
        if bed.program("apt-get").is_none() || !serve_packages(bed) {
            return;
        }
        let moat = bed.moat().start();
        let proxy = moat.address().to_string();
        let Some(said) = apt(bed, &proxy, "allowed.test", &["update"]) else {
            return;
        };
        assert_eq!(said.code, 0, "{said:?}");
        let Some(said) = apt(bed, &proxy, "allowed.test", &["download", "moat-demo"]) else {
            return;
        };
        assert_eq!(said.code, 0, "{said:?}");
        assert!(
            bed.directory().join("moat-demo_1.0_all.deb").exists(),
            "{said:?}"
        );
        let Some(said) = apt(bed, &proxy, "denied.test", &["update"]) else {
            return;
        };
        let all = format!("{}{}", said.stdout, said.stderr);
        assert!(
            all.contains("403  denied.test:80 denied by default"),
            "{all}"
        );
    });
}

/// Builds a package and serves it with its index; says whether the programs for that are there.
fn serve_packages(bed: &Bed) -> bool {
    let (Some(mut build), Some(mut sum)) = (bed.program("dpkg-deb"), bed.program("sha256sum"))
    else {
        return false;
    };
    let control = "Package: moat-demo\nVersion: 1.0\nArchitecture: all\n\
                   Maintainer: Nobody <nobody@allowed.test>\nDescription: a demo\n";
    bed.write("tree/DEBIAN/control", control);
    let said = run(build.args(["-b", "tree", "demo.deb"]));
    assert_eq!(said.code, 0, "{said:?}");
    let package = std::fs::read(bed.directory().join("demo.deb")).unwrap();
    let sum = run(sum.arg("demo.deb")).stdout;
    let sum = sum.split(' ').next().unwrap();
    let size = package.len();
    let list = format!("{control}Filename: ./demo.deb\nSize: {size}\nSHA256: {sum}\n\n");
    serve_file(bed, "/apt/./Packages", list.into_bytes());
    serve_file(bed, "/apt/Packages", Vec::new());
    serve_file(bed, "/apt/./demo.deb", package);
    bed.origins.answer(
        "/apt/",
        "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",
        crate::support::origin::After::Keep,
    );
    true
}

/// Runs apt through the proxy with one source, and with all of its state in the bed.
fn apt(bed: &Bed, proxy: &str, host: &str, verb: &[&str]) -> Option<Said> {
    let folder = bed.directory().display();
    bed.write(
        "sources.list",
        format!("deb [trusted=yes] http://{host}/apt ./\n"),
    );
    for place in ["lists/partial", "cache/archives/partial", "parts"] {
        std::fs::create_dir_all(bed.directory().join("apt").join(place)).unwrap();
    }
    bed.write("apt/status", "");
    let mut apt = bed.program("apt-get")?;
    for option in [
        format!("Dir::Etc::sourcelist={folder}/sources.list"),
        format!("Dir::Etc::sourceparts={folder}/apt/parts"),
        format!("Dir::State={folder}/apt"),
        format!("Dir::State::status={folder}/apt/status"),
        format!("Dir::Cache={folder}/apt/cache"),
        "APT::Sandbox::User=root".to_owned(),
        "Acquire::Retries=0".to_owned(),
        "Acquire::Languages=none".to_owned(),
        format!("Acquire::http::Proxy=http://{proxy}"),
    ] {
        apt.args(["-o", &option]);
    }
    Some(run(apt.args(verb)))
}

/// Serves these bytes at this path.
fn serve_file(bed: &Bed, path: &str, bytes: Vec<u8>) {
    bed.origins.on(path, move |stream, _| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", bytes.len());
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&bytes);
        crate::support::origin::After::Keep
    });
}
