//! Log lines on standard error, as text or as JSON.
//!
//! What a client sent can be in a message, so control characters are escaped after formatting: a
//! line is a line, and no line can move a terminal's cursor.

use std::io::{self, Write};

use clap::ValueEnum;
use moat_policy::source::is_hidden;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::output::printable;
use crate::problem::Problem;

/// What is logged, whatever the environment says. The resolver's own warnings are left out: whoever
/// sends forged answers chooses how many there are, and a failed lookup is in the record.
const FILTER: &str = "info,hickory_net=error,hickory_proto=error,hickory_resolver=error";

/// The shape of a log line.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One line of words.
    Text,
    /// One JSON object a line.
    Json,
}

/// Sends log lines to standard error from now on.
pub(crate) fn start(format: LogFormat) -> Result<(), Problem> {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(FILTER))
        .with_ansi(false)
        .with_target(false)
        .with_writer(Escaped);
    let started = match format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| Problem::failed(format!("cannot start the log: {error}")))
}

/// Makes a writer for each log line.
#[derive(Clone, Copy, Debug)]
struct Escaped;

impl<'a> MakeWriter<'a> for Escaped {
    type Writer = EscapedLine<io::Stderr>;

    fn make_writer(&'a self) -> Self::Writer {
        EscapedLine(io::stderr())
    }
}

/// Writes one whole log line with its control characters escaped, except the one that ends it.
#[derive(Debug)]
struct EscapedLine<W>(W);

impl<W: Write> Write for EscapedLine<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let body = text.strip_suffix('\n').unwrap_or(&text);
        if body.chars().any(is_hidden) {
            self.0
                .write_all(format!("{}\n", printable(body)).as_bytes())?;
        } else {
            self.0.write_all(text.as_bytes())?;
        }
        // The line was written or is lost as a whole, whatever its length became.
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_line_stays_one_line() {
        let mut line = EscapedLine(Vec::new());
        line.write_all(b"host a\x1b[2K\nb\n").unwrap();
        assert_eq!(line.0, b"host a\\u001b[2K\\u000ab\n");
    }
}
