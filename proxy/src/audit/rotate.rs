//! The record as a file: mode 0600, rotated at 64 MiB with eight old ones kept, and opened anew
//! when somebody moved it away.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::writer::{Place, Sink};
use crate::limit::Quiet;

/// Where a file ends and the next begins.
const LIMIT: u64 = 64 << 20;
/// How many old files are kept.
const KEPT: u32 = 8;

/// The file that is written now.
#[derive(Debug)]
pub(super) struct RotatingFile {
    path: PathBuf,
    file: File,
    size: u64,
    limit: u64,
    /// False for a device or a pipe, which is only written to.
    is_regular: bool,
    log: Quiet,
}

impl RotatingFile {
    /// Opens or creates it, to write at its end.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Self::with_limit(path, LIMIT)
    }

    fn with_limit(path: &Path, limit: u64) -> io::Result<Self> {
        let (file, size) = open(path)?;
        Ok(Self {
            is_regular: file.metadata()?.is_file(),
            path: path.to_owned(),
            file,
            size,
            limit,
            log: Quiet::default(),
        })
    }

    /// Whether the path still leads to the open file.
    fn is_in_place(&self) -> io::Result<bool> {
        let open = self.file.metadata()?;
        match fs::metadata(&self.path) {
            Ok(there) => Ok((there.dev(), there.ino()) == (open.dev(), open.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn reopen(&mut self) -> io::Result<()> {
        (self.file, self.size) = open(&self.path)?;
        Ok(())
    }

    /// Moves every file on by one, the last of them away.
    fn shift(&self) -> io::Result<()> {
        for number in (1..KEPT).rev() {
            match fs::rename(self.numbered(number), self.numbered(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        fs::rename(&self.path, self.numbered(1))
    }

    fn numbered(&self, number: u32) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(format!(".{number}"));
        name.into()
    }
}

impl Sink for RotatingFile {
    fn prepare(&mut self, length: u64) -> io::Result<Place> {
        if !self.is_regular {
            return Ok(Place::Same);
        }
        if !self.is_in_place()? {
            self.reopen()?;
            return Ok(Place::Fresh);
        }
        if self.size == 0 || self.size.saturating_add(length) <= self.limit {
            return Ok(Place::Same);
        }
        if let Err(error) = self.shift() {
            // A file that is too large is better than none: nothing is lost by it.
            self.log
                .say(|| tracing::warn!(%error, "cannot rotate the record; it grows on"));
            return Ok(Place::Same);
        }
        self.reopen()?;
        Ok(Place::Fresh)
    }
}

impl Write for RotatingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.size = self
            .size
            .saturating_add(u64::try_from(written).unwrap_or(u64::MAX));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The file at its end, and its size. A line that a crash left unfinished is ended first.
fn open(path: &Path) -> io::Result<(File, u64)> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    // Where it may be read, it is: for the last byte.
    let mut file = match options.clone().read(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => options.open(path)?,
        other => other?,
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok((file, 0));
    }
    if metadata.mode() & 0o177 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    let mut size = metadata.len();
    let mut last = [b'\n'];
    if size > 0
        && file.seek(SeekFrom::End(-1)).is_ok()
        && file.read_exact(&mut last).is_ok()
        && last != [b'\n']
    {
        file.write_all(b"\n")?;
        size += 1;
    }
    Ok((file, size))
}

#[cfg(test)]
mod tests;
