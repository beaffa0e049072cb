//! `moat log`: the record, read and filtered.

mod filter;
mod follow;
mod line;

use std::path::{Path, PathBuf};

use clap::Args;

use self::filter::Filter;
use self::follow::Follow;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::{Problem, note};
use crate::record_file::{self, Line, Lines};

/// Read what was decided, and how connections ended.
///
/// Rotated files are read too, the oldest first.
/// Without FILE the records of running proxies are read, else the default record file.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  moat log --effect deny --since 1h
  moat log --follow --host example.com
  moat log --id K7Q2FXMA --json")]
pub(crate) struct Arguments {
    /// A record file.
    file: Option<PathBuf>,

    #[command(flatten)]
    filter: Filter,

    /// Wait for new records, until interrupted.
    #[arg(long, short)]
    follow: bool,

    /// Print the records as they are, one JSON line each.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(arguments: &Arguments, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let filter = arguments.filter.starting_from(context.now)?;
    let printer = Printer {
        filter: &filter,
        json: arguments.json,
    };
    let files = match &arguments.file {
        Some(file) => vec![file.clone()],
        None => record_file::installed(&context.places)?,
    };
    let [.., newest] = files.as_slice() else {
        return Ok(Exit::Ok);
    };
    if arguments.follow {
        // One record can be followed: the named one, or that of the newest proxy.
        let path = files.first().unwrap_or(newest);
        let follow = Follow::start(path)?;
        let last = print_file(path, &printer, context.output)?;
        return follow.run(last, &printer, context.output);
    }
    let mut found = false;
    for path in &files {
        found |= print_file(path, &printer, context.output)?.is_some();
    }
    if found {
        return Ok(Exit::Ok);
    }
    Err(record_file::unreadable(
        newest,
        &std::io::ErrorKind::NotFound.into(),
    ))
}

/// What is printed of a record file, and how.
#[derive(Debug)]
struct Printer<'a> {
    filter: &'a filter::Since<'a>,
    json: bool,
}

impl Printer<'_> {
    /// Prints every whole line that there is and that passes. Gives the number of lines that
    /// are no records.
    fn print(&self, lines: &mut Lines, path: &Path, output: &mut Output) -> Result<u64, Problem> {
        let mut unreadable = 0;
        while let Some(line) = lines
            .next()
            .map_err(|error| record_file::unreadable(path, &error))?
        {
            match line {
                Line::Record(record, text) if self.filter.passes(&record) => {
                    if self.json {
                        output.line(text);
                    } else {
                        output.line(line::render(&record));
                    }
                }
                Line::Record(..) => {}
                Line::Unreadable => unreadable += 1,
            }
            if output.is_closed() {
                break;
            }
        }
        Ok(unreadable)
    }
}

/// Prints a record file with what was rotated away from it. Gives the newest one, still open.
fn print_file(
    path: &Path,
    printer: &Printer<'_>,
    output: &mut Output,
) -> Result<Option<Lines>, Problem> {
    let unreadable = |error| record_file::unreadable(path, &error);
    let mut newest = None;
    let mut skipped = 0;
    for path in record_file::with_rotated(path).map_err(unreadable)? {
        let mut lines = match Lines::open(&path) {
            Ok(lines) => lines,
            // Rotated away while this was reading.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(record_file::unreadable(&path, &error)),
        };
        skipped += printer.print(&mut lines, &path, output)?;
        newest = Some(lines);
    }
    if skipped > 0 {
        note(format_args!(
            "warning: {skipped} lines of `{}` are no records",
            path.display()
        ));
    }
    Ok(newest)
}

#[cfg(test)]
mod tests;
