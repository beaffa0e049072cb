//! Reads record files: the rotated ones first, line by line, in bounded memory.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use moat_policy::host::Host;
use moat_policy::port::Port;
use moat_policy::record::Record;

use crate::places::Places;
use crate::problem::Problem;
use crate::state;

/// No record is longer; what is longer is no record.
const MAX_LINE: u64 = 64 << 10;

/// The record files that a command looks at unless one is named: those of running proxies and
/// the default one, each once.
pub(crate) fn installed(places: &Places) -> Result<Vec<PathBuf>, Problem> {
    let directory = places.running();
    let running =
        state::running(&directory).map_err(|error| state::unreadable(&directory, &error))?;
    let mut files = Vec::new();
    for path in running.into_iter().filter_map(|running| running.record) {
        if !files.contains(&path) {
            files.push(path);
        }
    }
    let default = places.default_record();
    if !files.contains(&default) {
        files.push(default);
    }
    Ok(files)
}

/// The host of a record, which writes IPv6 without brackets; `None` where it is unreadable.
pub(crate) fn host(record: &Record) -> Option<Host> {
    let text = record.host.as_deref()?;
    if let Ok(address) = text.parse() {
        return Some(Host::Address(address));
    }
    Host::parse(text.as_bytes()).ok()
}

/// The port of a record; that of https where it says none.
pub(crate) fn port(record: &Record) -> Port {
    let port = record.port.and_then(Port::from_number);
    port.unwrap_or(Port::HTTPS)
}

/// Host and port of a record as an authority writes them; `None` where it has no host.
pub(crate) fn authority(record: &Record) -> Option<String> {
    let text = record.host.as_deref()?;
    let host = host(record).map_or_else(|| text.to_owned(), |host| host.to_string());
    Some(match record.port {
        Some(port) => format!("{host}:{port}"),
        None => host,
    })
}

/// A record file and what was rotated away from it, the oldest first. Only files that exist.
pub(crate) fn with_rotated(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Ok(vec![path.to_owned()]);
    };
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let file = entry.file_name();
        let number = file.to_str().and_then(|file| rotation(file, name));
        found.extend(number.map(|number| (number, entry.path())));
    }
    found.sort_by(|a, b| b.cmp(a));
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// `audit.jsonl` is 0, `audit.jsonl.1` the one before it; anything else is another file.
fn rotation(file: &str, name: &str) -> Option<u32> {
    match file.strip_prefix(name)? {
        "" => Some(0),
        rest => {
            let digits = rest.strip_prefix('.')?;
            digits.parse().ok().filter(|number| *number > 0)
        }
    }
}

/// One line of a record file.
#[derive(Debug)]
pub(crate) enum Line {
    /// A record, and its text.
    Record(Box<Record>, String),
    /// Something else: cut off by a full disk, or written by another program.
    Unreadable,
}

/// The lines of one open record file, from where the last call stopped.
#[derive(Debug)]
pub(crate) struct Lines {
    reader: BufReader<File>,
    /// The beginning of a line whose end is not written yet.
    partial: Vec<u8>,
    /// Whether the line is too long to be a record.
    skipping: bool,
}

impl Lines {
    /// The lines of a file.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            reader: BufReader::new(File::open(path)?),
            partial: Vec::new(),
            skipping: false,
        })
    }

    /// The next whole line; `None` where there is none yet.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let room = MAX_LINE.saturating_sub(self.partial.len() as u64);
            let mut limited = (&mut self.reader).take(room.max(1));
            let read = limited.read_until(b'\n', &mut self.partial)?;
            if self.partial.last() == Some(&b'\n') {
                let line = std::mem::take(&mut self.partial);
                let skipped = std::mem::take(&mut self.skipping);
                return Ok(Some(if skipped {
                    Line::Unreadable
                } else {
                    parse(&line)
                }));
            }
            if read == 0 {
                return Ok(None);
            }
            if self.partial.len() as u64 >= MAX_LINE {
                self.partial.clear();
                self.skipping = true;
            }
        }
    }

    /// The open file, to compare with what its path names now.
    pub(crate) fn file(&self) -> &File {
        self.reader.get_ref()
    }
}

fn parse(line: &[u8]) -> Line {
    let Ok(text) = std::str::from_utf8(line) else {
        return Line::Unreadable;
    };
    match serde_json::from_str(text) {
        Ok(record) => Line::Record(Box::new(record), text.trim_end().to_owned()),
        Err(_) => Line::Unreadable,
    }
}

/// A record file cannot be read.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Problem {
    let path = path.display();
    if error.kind() == io::ErrorKind::NotFound {
        return Problem::failed(format!("there is no record file `{path}`"))
            .with_hint("`moat proxy` writes one, unless `--audit` says otherwise");
    }
    Problem::failed(format!("cannot read `{path}`: {error}"))
}

#[cfg(test)]
mod tests;
