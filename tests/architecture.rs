//! Invariants of the architecture that a test can hold.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that fails panics"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

/// Our crates, each with those of ours that it may depend on.
const EDGES: [(&str, &[&str]); 6] = [
    (
        "moat",
        &["moat-hook", "moat-policy", "moat-proxy", "moat-sandbox"],
    ),
    ("moat-policy", &[]),
    ("moat-proxy", &["moat-policy"]),
    ("moat-hook", &["moat-policy"]),
    ("moat-sandbox", &[]),
    ("moat-bench", &["moat-policy", "moat-proxy"]),
];

/// Crates that run tasks or open sockets: the policy has no use for any.
const IMPURE: [&str; 12] = [
    "async-std",
    "futures",
    "hickory-resolver",
    "hyper",
    "hyper-util",
    "mio",
    "notify",
    "reqwest",
    "rustix",
    "smol",
    "socket2",
    "tokio",
];

/// Folders of source code, below the root.
const SOURCES: [&str; 7] = [
    "bench", "hook", "policy", "proxy", "sandbox", "src", "tests",
];

/// What the top level holds, besides names that begin with a dot.
const TOP: [&str; 14] = [
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "bench",
    "deploy",
    "docs",
    "hook",
    "policy",
    "proxy",
    "sandbox",
    "src",
    "tests",
];

/// Licences that a dependency may have, one of them at least in each alternative.
const LICENCES: [&str; 8] = [
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Zlib",
];

/// The one crate under another licence, and that licence: decision 10.
const LICENCE_EXCEPTION: (&str, &str) = ("notify", "CC0-1.0");

/// Modules that may make an exception to a disallowed method, each for its reason in
/// `.clippy.toml`, with the folders below them.
const DOORS: [&str; 6] = [
    "proxy/src/audit/writer",
    "proxy/src/dial",
    "proxy/src/listener",
    "proxy/src/resolve",
    "src/admin",
    "src/exit",
];

/// Whether a file is one of these modules or below it.
fn is_door(path: &str) -> bool {
    DOORS.iter().any(|door| {
        let rest = path.strip_prefix(door);
        rest.is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
    })
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn metadata() -> Metadata {
    // Packages of other platforms are in the lock file but not on this machine.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .other_options(["--offline", "--locked", "--filter-platform", &platform].map(str::to_owned))
        .exec()
        .expect("cargo metadata")
}

/// The files under version control, and those that are about to be, relative to the root.
fn tracked() -> Vec<String> {
    let arguments = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git")
        .args(arguments)
        .current_dir(root())
        .output();
    let listed = output.ok().filter(|output| output.status.success());
    let text = listed.map(|output| String::from_utf8(output.stdout).expect("file names are text"));
    let files: Vec<String> = text
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect();
    let present = files.into_iter().filter(|file| root().join(file).is_file());
    let mut files: Vec<String> = present.collect();
    if files.is_empty() {
        walk(&root(), &mut files);
    }
    files
}

/// The tree of an unpacked archive, which has no version control.
fn walk(folder: &Path, into: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let name = entry.file_name();
        if entry.path().is_dir() {
            if name != "target" && name != ".git" {
                walk(&entry.path(), into);
            }
        } else if let Ok(path) = entry.path().strip_prefix(root()) {
            into.push(path.display().to_string());
        }
    }
}

/// Path and text of every Rust file of ours.
fn sources() -> Vec<(String, String)> {
    let ours = |path: &String| {
        let rust = Path::new(path)
            .extension()
            .is_some_and(|extension| extension == "rs");
        rust && SOURCES
            .iter()
            .any(|folder| path.starts_with(&format!("{folder}/")))
    };
    let files = tracked().into_iter().filter(ours);
    let sources: Vec<_> = files.map(|path| (path.clone(), read(&path))).collect();
    assert!(sources.len() > 20, "the tree was not found");
    sources
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn is_test(path: &str) -> bool {
    path.starts_with("tests/")
        || path.contains("/tests/")
        || path.ends_with("tests.rs")
        || path.ends_with("/testing.rs")
}

/// A line of code without its comment.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

fn is_runtime(kind: DependencyKind) -> bool {
    matches!(kind, DependencyKind::Normal | DependencyKind::Build)
}

#[test]
fn our_crates_depend_only_on_what_the_picture_shows() {
    let metadata = metadata();
    for package in metadata.workspace_packages() {
        let row = EDGES
            .iter()
            .find(|(name, _)| package.name.as_str() == *name);
        let (_, allowed) = row.unwrap_or_else(|| panic!("{} is in no picture", package.name));
        let ours = package
            .dependencies
            .iter()
            .filter(|edge| edge.name.starts_with("moat"));
        for edge in ours {
            assert!(
                allowed.contains(&edge.name.as_str()),
                "{} must not depend on {}",
                package.name,
                edge.name
            );
        }
    }
}

#[test]
fn the_policy_has_no_runtime_and_no_network() {
    let metadata = metadata();
    let reached = reachable(&metadata, "moat-policy");
    assert!(reached.len() > 5, "the graph was not walked: {reached:?}");
    for name in IMPURE {
        assert!(!reached.contains(name), "moat-policy reaches {name}");
    }
}

/// Names of everything that `from` needs to run, itself included.
fn reachable(metadata: &Metadata, from: &str) -> BTreeSet<String> {
    let graph = metadata.resolve.as_ref().expect("a resolved graph");
    let start = metadata
        .packages
        .iter()
        .find(|package| package.name.as_str() == from);
    let mut queue = vec![start.expect("a package of ours").id.clone()];
    let mut seen = BTreeSet::new();
    while let Some(id) = queue.pop() {
        let node = graph
            .nodes
            .iter()
            .find(|node| node.id == id)
            .expect("a node");
        let package = metadata.packages.iter().find(|package| package.id == id);
        if !seen.insert(package.expect("a package").name.to_string()) {
            continue;
        }
        let runtime = node
            .deps
            .iter()
            .filter(|edge| edge.dep_kinds.iter().any(|kind| is_runtime(kind.kind)));
        queue.extend(runtime.map(|edge| edge.pkg.clone()));
    }
    seen
}

#[test]
fn the_policy_touches_neither_files_nor_sockets_nor_clocks_nor_globals() {
    let banned = [
        "std::fs",
        "std::net::Tcp",
        "std::net::Udp",
        "std::process",
        "std::thread",
        "std::env",
        "::now",
    ];
    let globals = [
        "static mut",
        "thread_local!",
        "OnceLock",
        "LazyLock",
        "static ref",
    ];
    for (path, text) in sources() {
        if !path.starts_with("policy/src/") || is_test(&path) {
            continue;
        }
        for word in banned.iter().chain(&globals) {
            let found = text.lines().map(code).find(|line| line.contains(word));
            assert!(found.is_none(), "{path} has `{word}`");
        }
    }
}

#[test]
fn unsafe_code_lives_under_sys() {
    let needles = [" {", " fn", " impl", " extern"].map(|next| ["un", "safe", next].concat());
    for (path, text) in sources() {
        let sys = path.contains("/sys/") || path.ends_with("/sys.rs");
        let mut lines = text.lines().map(code);
        let found = lines.find(|line| needles.iter().any(|needle| line.contains(needle)));
        assert!(sys || found.is_none(), "{path}: {found:?}");
    }
}

#[test]
fn crates_without_a_sys_module_forbid_unsafe_code() {
    for package in metadata().workspace_packages() {
        for target in &package.targets {
            let folder = target.src_path.parent().expect("a folder");
            let sys = folder.join("sys").exists() || folder.join("sys.rs").exists();
            if sys || target.is_test() || target.is_bench() || target.is_example() {
                continue;
            }
            let text = fs::read_to_string(&target.src_path).expect("a crate root");
            let forbids = text.contains("#![forbid(unsafe_code");
            assert!(forbids, "{} does not forbid unsafe code", target.src_path);
        }
    }
}

#[test]
fn no_file_is_too_long() {
    for (path, text) in sources() {
        let limit = if is_test(&path) { 800 } else { 500 };
        let lines = text.lines().count();
        assert!(
            lines <= limit,
            "{path} has {lines} lines, more than {limit}"
        );
    }
}

#[test]
fn exceptions_to_disallowed_methods_stand_in_their_files() {
    let needle = ["clippy::", "disallowed_methods"].concat();
    for (path, text) in sources() {
        let known = is_door(&path) || is_test(&path) || path.starts_with("bench/");
        assert!(
            known || !text.contains(&needle),
            "{path} makes an exception of its own"
        );
    }
}

#[test]
fn one_file_prints_and_one_exits() {
    let printing = ["clippy::", "print_stdout"].concat();
    let writing = ["io::", "stdout()"].concat();
    let exiting = ["process::", "exit("].concat();
    let mut printers = BTreeSet::new();
    let mut exits = BTreeSet::new();
    for (path, text) in sources() {
        if is_test(&path) || path.starts_with("bench/") {
            continue;
        }
        if text
            .lines()
            .map(code)
            .any(|line| line.contains(&printing) || line.contains(&writing))
        {
            printers.insert(path.clone());
        }
        if text.lines().map(code).any(|line| line.contains(&exiting)) {
            exits.insert(path);
        }
    }
    assert!(
        printers.len() <= 1,
        "stdout has several doors: {printers:?}"
    );
    assert!(
        exits.len() <= 1,
        "the process ends in several files: {exits:?}"
    );
}

#[test]
fn a_permit_is_made_only_by_authorize() {
    let needle = ["Permit", " {"].concat();
    let definitions = ["struct ", "impl ", "enum ", "-> ", " for "];
    for (path, text) in sources() {
        if !path.starts_with("proxy/src/") || path.starts_with("proxy/src/authorize") {
            continue;
        }
        let made = text.lines().map(code).find(|line| {
            line.contains(&needle) && !definitions.iter().any(|word| line.contains(word))
        });
        assert!(made.is_none(), "{path} makes a permit: {made:?}");
    }
}

#[test]
fn every_metric_is_documented() {
    let manual = read("docs/operations.md");
    let text = read("proxy/src/metrics/names.rs");
    let quoted = text
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(|word| word.starts_with("moat_"));
    let names: Vec<&str> = quoted.collect();
    assert!(!names.is_empty(), "names.rs names no metric");
    for name in names {
        assert!(
            manual.contains(&format!("`{name}`")),
            "{name} is not in docs/operations.md"
        );
    }
}

#[test]
fn every_module_stands_in_the_map() {
    let map = read("docs/architecture.md");
    for (path, text) in sources() {
        let module = ["policy/src/", "proxy/src/", "src/"]
            .iter()
            .find_map(|folder| path.strip_prefix(folder)?.strip_suffix(".rs"));
        let Some(module) = module.filter(|name| !name.contains('/')) else {
            continue;
        };
        // Roots are the crates themselves, and modules for tests alone hold no step of anything.
        let root = ["lib", "main", "testing", "bed"].contains(&module);
        let named = [
            format!("`{module}`"),
            format!("{module}.rs`"),
            format!("`{module}/"),
        ];
        assert!(
            root || named.iter().any(|name| map.contains(name)),
            "docs/architecture.md does not name {path}"
        );
        let first = text.lines().next().unwrap_or_default();
        assert!(
            first.starts_with("//!"),
            "{path} does not begin with what it is for"
        );
    }
}

#[test]
fn no_public_registry_is_spelled_out() {
    let needles = [
        ["org", "npmjs"],
        ["com", "npmjs"],
        ["org", "pypi"],
        ["org", "pythonhosted"],
        ["io", "crates"],
        ["org", "debian"],
    ];
    for path in tracked() {
        // Cargo writes these, and names its registry in them.
        if path.ends_with("Cargo.lock") {
            continue;
        }
        let bytes = fs::read(root().join(&path)).expect("a file of ours");
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        for [top, name] in &needles {
            let host = format!("{name}.{top}");
            assert!(!text.contains(&host), "{path} spells out {host}");
        }
    }
}

#[test]
fn the_top_level_holds_nothing_else() {
    let tops: BTreeSet<String> = tracked()
        .iter()
        .map(|path| path.split('/').next().unwrap_or_default().to_owned())
        .filter(|name| !name.starts_with('.'))
        .collect();
    for name in tops {
        assert!(
            TOP.contains(&name.as_str()),
            "`{name}` has no place at the top level"
        );
    }
}

#[test]
fn every_dependency_has_an_accepted_licence() {
    for package in metadata().packages {
        assert!(
            accepted(&package),
            "{}: {:?}",
            package.name,
            package.license
        );
    }
}

/// True when every part that must hold offers an accepted alternative.
fn accepted(package: &Package) -> bool {
    let Some(expression) = &package.license else {
        return false;
    };
    if (package.name.as_str(), expression.as_str()) == LICENCE_EXCEPTION {
        return true;
    }
    let flat = expression.replace('/', " OR ").replace(['(', ')'], " ");
    flat.split(" AND ").all(|part| {
        let mut alternatives = part.split(" OR ").map(str::trim);
        alternatives.any(|name| {
            let plain = name.split(" WITH ").next().unwrap_or_default();
            LICENCES.contains(&plain)
        })
    })
}

#[test]
fn no_note_for_later_is_left_behind() {
    let notes = [["TO", "DO"], ["FIX", "ME"], ["X", "XX"]].map(|halves| halves.concat());
    for (path, text) in sources() {
        for note in &notes {
            assert!(!text.contains(note), "{path} has a {note}");
        }
    }
}
