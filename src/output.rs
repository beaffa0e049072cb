//! Standard output's only door.
//!
//! A reader that closes its end has seen enough: a broken pipe is success, and what follows is
//! dropped. Every other failure to write is reported once, at the end.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{self, ErrorKind, IsTerminal, Write};

use moat_policy::source::is_hidden;
use serde::Serialize;

use crate::problem::Problem;

/// Where a command writes its result.
pub(crate) struct Output {
    sink: Box<dyn Write + Send>,
    coloured: bool,
    failure: Option<io::Error>,
}

impl Output {
    /// Standard output.
    pub(crate) fn stdout() -> Self {
        Self {
            sink: Box::new(io::stdout()),
            coloured: is_coloured(&io::stdout()),
            failure: None,
        }
    }

    /// Any other sink, for tests; it is no terminal.
    #[cfg(test)]
    pub(crate) fn to(sink: impl Write + Send + 'static) -> Self {
        Self {
            sink: Box::new(sink),
            coloured: false,
            failure: None,
        }
    }

    /// Whether text may have colours.
    pub(crate) const fn is_coloured(&self) -> bool {
        self.coloured
    }

    /// Writes one line for people. Control characters in it are escaped: a line is a line.
    pub(crate) fn line(&mut self, text: impl fmt::Display) {
        let text = text.to_string();
        self.put(format_args!("{}\n", printable(&text)));
    }

    /// Writes text that is already in its final form: generated files, help.
    pub(crate) fn text(&mut self, text: impl fmt::Display) {
        self.put(format_args!("{text}"));
    }

    /// Writes one value as one line of JSON. What is escaped for the terminal's sake stands in
    /// texts, where JSON reads the escape as the character.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Problem> {
        let text = serde_json::to_string(value)
            .map_err(|error| Problem::failed(format!("cannot write JSON: {error}")))?;
        self.put(format_args!("{}\n", printable(&text)));
        Ok(())
    }

    /// Whether the reader has gone, so that a command that follows something may end.
    pub(crate) const fn is_closed(&self) -> bool {
        self.failure.is_some()
    }

    /// Hands over what was written.
    pub(crate) fn flush(&mut self) {
        if self.failure.is_none() {
            self.failure = self.sink.flush().err();
        }
    }

    /// Flushes, and says whether everything was written that somebody wanted to read.
    pub(crate) fn finish(&mut self) -> Result<(), Problem> {
        self.flush();
        match self.failure.take() {
            Some(error) if error.kind() != ErrorKind::BrokenPipe => Err(Problem::failed(format!(
                "cannot write to standard output: {error}"
            ))),
            _ => Ok(()),
        }
    }

    fn put(&mut self, text: fmt::Arguments<'_>) {
        if self.failure.is_none() {
            self.failure = self.sink.write_fmt(text).err();
        }
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output")
            .field("coloured", &self.coloured)
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}

/// Whether text for people is coloured on a stream: a terminal, where nobody asked for none.
pub(crate) fn is_coloured(stream: &impl IsTerminal) -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    stream.is_terminal() && !refused && !dumb
}

/// Standard output as a plain sink, for a proxy that writes its records there.
pub(crate) fn record_sink() -> Box<dyn Write + Send> {
    Box::new(io::stdout())
}

/// What a function writes, for tests.
#[cfg(test)]
pub(crate) fn captured(write: impl FnOnce(&mut Output)) -> String {
    use std::sync::{Arc, Mutex};

    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let bytes = Arc::default();
    let mut output = Output::to(Shared(Arc::clone(&bytes)));
    write(&mut output);
    output.finish().unwrap();
    let text = bytes.lock().unwrap().clone();
    String::from_utf8(text).unwrap()
}

/// The text with everything escaped that could move a terminal's cursor, hide text or begin a
/// line of its own, as JSON escapes it.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a `String` cannot fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests;
