//! Reads a policy file, after asking who could have written it.
//!
//! A policy that somebody else can change is somebody else's policy. The path is walked name by
//! name, so that a link, a directory on the way and the file itself are each looked at, and what
//! is opened at the end is what was looked at.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{OFlags, StatVfsMountFlags};

use crate::problem::Problem;

/// The largest policy file, in bytes.
pub(crate) const MAX_SIZE: u64 = 16 << 20;

/// More links than this on one path are a loop, as the kernel sees it too.
const MAX_LINKS: usize = 40;

/// Whose file it has to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Custody {
    /// Root's, and nobody else can write it.
    Machine,
    /// Root's or this user's, and not everybody can write it.
    User,
}

/// A file that was read.
#[derive(Debug)]
pub(crate) struct PolicyText {
    /// The whole text.
    pub(crate) text: String,
    /// What somebody should look at.
    pub(crate) warnings: Vec<String>,
}

/// Reads a file. `None` when it plainly is not there, whoever could put one there: it would be
/// refused then. Every other failure is an error.
pub(crate) fn read(path: &Path, custody: Custody) -> Result<Option<PolicyText>, Problem> {
    let way = walk(path, custody)?;
    let Some(end) = &way.end else {
        return Ok(None);
    };
    let mut file = match open(end) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(path, &error)),
    };
    let metadata = file.metadata().map_err(|error| unreadable(path, &error))?;
    if !metadata.is_file() {
        return Err(refused(path, "it is not a regular file", "name a file"));
    }
    let mut warnings = check_way(path, &way, custody)?;
    if let Some(warning) = check_file(path, &file, &metadata, custody)? {
        warnings.push(warning);
    }
    let text = read_text(path, &mut file)?;
    Ok(Some(PolicyText { text, warnings }))
}

/// Refuses a place where a file would not be read, so that none is made there.
pub(crate) fn check_place(path: &Path, custody: Custody) -> Result<(), Problem> {
    let way = walk(path, custody)?;
    check_way(path, &way, custody).map(|_| ())
}

/// A path without links, and what was seen on the way to its end.
#[derive(Debug, Default)]
struct Way {
    /// Where it leads; `None` where nothing is there.
    end: Option<PathBuf>,
    /// The first directory that others can write.
    open: Option<PathBuf>,
    /// The first directory that belongs to somebody else, and to whom.
    foreign: Option<(PathBuf, u32)>,
    /// The first directory that a group can write, and which.
    shared: Option<(PathBuf, u32)>,
}

/// Follows the path from the root, and looks at every directory and link on it. What makes no
/// difference where there is no file is kept for [`check_way`].
fn walk(path: &Path, custody: Custody) -> Result<Way, Problem> {
    let absolute = std::path::absolute(path).map_err(|error| unreadable(path, &error))?;
    let mut ahead: VecDeque<(OsString, Origin)> = VecDeque::new();
    queue(&mut ahead, &absolute, Origin::Typed);
    let mut way = Way::default();
    let mut done = PathBuf::from("/");
    let mut links = 0;
    while let Some((name, origin)) = ahead.pop_front() {
        if name == ".." {
            done.pop();
            continue;
        }
        check_directory(path, &done, custody, &mut way)?;
        let next = done.join(&name);
        let metadata = match fs::symlink_metadata(&next) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound && origin == Origin::Typed => {
                return Ok(way);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(refused(
                    path,
                    &format!(
                        "a link on the way leads to `{}`, which is not there",
                        next.display()
                    ),
                    "repair or remove the link",
                ));
            }
            Err(error) => return Err(unreadable(path, &error)),
        };
        if !metadata.is_symlink() {
            done = next;
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(refused(
                path,
                "its links lead in a circle",
                "repair the links",
            ));
        }
        check_link(path, &next, &metadata, &done, custody)?;
        let target = fs::read_link(&next).map_err(|error| unreadable(path, &error))?;
        if target.is_absolute() {
            done = PathBuf::from("/");
        }
        queue(&mut ahead, &target, Origin::Link);
    }
    way.end = Some(done);
    Ok(way)
}

/// Who owns a directory or can write it can put another file in its place.
fn check_way(path: &Path, way: &Way, custody: Custody) -> Result<Vec<String>, Problem> {
    if let Some(directory) = &way.open {
        let directory = directory.display();
        return Err(refused(
            path,
            &format!("others can write the directory `{directory}`"),
            &match custody {
                Custody::Machine => format!("`chmod go-w {directory}`"),
                Custody::User => format!("`chmod o-w {directory}`"),
            },
        ));
    }
    if let Some((directory, owner)) = &way.foreign {
        let directory = directory.display();
        return Err(refused(
            path,
            &format!("the directory `{directory}` belongs to user {owner}"),
            "keep the policy in a directory of root or of the user who runs Moat",
        ));
    }
    let shared = way.shared.iter().map(|(directory, group)| {
        let directory = directory.display();
        format!(
            "`{directory}` can be written by group {group}; `chmod g-w {directory}` if that is not meant"
        )
    });
    Ok(shared.collect())
}

/// Where a name on the path comes from: only a typed one may be absent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Origin {
    Typed,
    Link,
}

/// Puts the names of a path in front of those that are still ahead.
fn queue(ahead: &mut VecDeque<(OsString, Origin)>, path: &Path, origin: Origin) {
    let names = path.components().rev();
    for name in names {
        if let Component::Normal(_) | Component::ParentDir = name {
            ahead.push_front((name.as_os_str().to_owned(), origin));
        }
    }
}

/// Opens without following a link and without waiting for a pipe's other end.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits();
    OpenOptions::new()
        .read(true)
        .custom_flags(i32::from_ne_bytes(flags.to_ne_bytes()))
        .open(path)
}

fn read_text(path: &Path, file: &mut File) -> Result<String, Problem> {
    let mut bytes = Vec::new();
    file.take(MAX_SIZE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > MAX_SIZE {
        return Err(refused(
            path,
            "it is larger than 16 MiB",
            "split the policy into several files and name each with `--policy`",
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = error.as_bytes().get(..valid).unwrap_or_default();
        let line = before.split(|byte| *byte == b'\n').count();
        refused(
            path,
            &format!("line {line} is not UTF-8"),
            "save the file as UTF-8",
        )
    })
}

/// The owner and mode of the file itself; a warning where somebody should look.
fn check_file(
    path: &Path,
    file: &File,
    metadata: &Metadata,
    custody: Custody,
) -> Result<Option<String>, Problem> {
    let mode = metadata.mode();
    let name = path.display();
    if mode & 0o002 != 0 {
        return Err(refused(
            path,
            "everybody can write it",
            &format!("`chmod o-w {name}`"),
        ));
    }
    let read_only = is_read_only(path, rustix::fs::fstatvfs(file.as_fd()))?;
    if !read_only && !is_trusted(metadata.uid(), custody) {
        return Err(refused(
            path,
            &format!("it belongs to user {}", metadata.uid()),
            match custody {
                Custody::Machine => "it has to belong to root",
                Custody::User => "it has to belong to root or to the user who runs Moat",
            },
        ));
    }
    if mode & 0o020 == 0 {
        return Ok(None);
    }
    match custody {
        Custody::Machine => Err(refused(
            path,
            &format!("group {} can write it", metadata.gid()),
            &format!("`chmod g-w {name}`"),
        )),
        Custody::User => Ok(Some(format!(
            "`{name}` can be written by group {}; `chmod g-w {name}` if that is not meant",
            metadata.gid()
        ))),
    }
}

/// Looks at a directory on the way.
fn check_directory(
    path: &Path,
    directory: &Path,
    custody: Custody,
    way: &mut Way,
) -> Result<(), Problem> {
    /// In such a directory only its owner and a file's owner can move the file.
    const STICKY: u32 = 0o1000;
    let metadata = fs::metadata(directory).map_err(|error| unreadable(path, &error))?;
    if !metadata.is_dir() {
        return Ok(());
    }
    let (mode, owner) = (metadata.mode(), metadata.uid());
    let is_foreign = !is_trusted(owner, custody) && !is_unmapped(owner);
    let is_shared = mode & 0o022 != 0 && mode & STICKY == 0;
    if !(is_foreign || is_shared) || is_read_only(path, rustix::fs::statvfs(directory))? {
        return Ok(());
    }
    if is_foreign {
        way.foreign
            .get_or_insert_with(|| (directory.to_owned(), owner));
    }
    if !is_shared {
        return Ok(());
    }
    if custody == Custody::User && mode & 0o002 == 0 {
        way.shared
            .get_or_insert_with(|| (directory.to_owned(), metadata.gid()));
    } else {
        way.open.get_or_insert_with(|| directory.to_owned());
    }
    Ok(())
}

/// A link on the way: who owns it chooses the file.
fn check_link(
    path: &Path,
    link: &Path,
    metadata: &Metadata,
    directory: &Path,
    custody: Custody,
) -> Result<(), Problem> {
    if is_trusted(metadata.uid(), custody) {
        return Ok(());
    }
    if is_read_only(path, rustix::fs::statvfs(directory))? {
        return Ok(());
    }
    Err(refused(
        path,
        &format!(
            "the link `{}` on the way belongs to user {}",
            link.display(),
            metadata.uid()
        ),
        "name the file itself",
    ))
}

fn is_trusted(owner: u32, custody: Custody) -> bool {
    match custody {
        Custody::Machine => owner == 0,
        Custody::User => owner == 0 || owner == rustix::process::geteuid().as_raw(),
    }
}

/// Whether an owner is one that the user namespace of this process has no number for, as root
/// itself often is in a container. Where it has, the same number is a user like any other.
fn is_unmapped(owner: u32) -> bool {
    /// How the kernel shows them all (`user_namespaces(7)`).
    const UNMAPPED: u32 = 65_534;
    let map = || fs::read_to_string("/proc/self/uid_map");
    owner == UNMAPPED && map().is_ok_and(|map| !may_map(&map, owner))
}

/// Whether a map of users, lines of first number inside, first outside and count, may hold one.
fn may_map(map: &str, user: u32) -> bool {
    map.lines().any(|line| {
        let numbers: Result<Vec<u32>, _> = line.split_whitespace().map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[first, _, count]) => user.checked_sub(first).is_some_and(|at| at < count),
            _ => true,
        }
    })
}

/// Whether nobody can change it from here: a `ConfigMap`, a read-only bind mount.
fn is_read_only(
    path: &Path,
    stat: rustix::io::Result<rustix::fs::StatVfs>,
) -> Result<bool, Problem> {
    let stat = stat.map_err(|error| unreadable(path, &error.into()))?;
    Ok(stat.f_flag.contains(StatVfsMountFlags::RDONLY))
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    Problem::usage(format!("cannot read `{}`: {error}", path.display())).with_hint(
        "without a policy that can be read nothing starts; make it readable or remove it",
    )
}

fn refused(path: &Path, cause: &str, fix: &str) -> Problem {
    Problem::usage(format!(
        "the policy `{}` is refused: {cause}",
        path.display()
    ))
    .with_hint(fix)
}

#[cfg(test)]
mod tests;
