//! `moat edit`: a change made by hand, checked before it holds.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use moat_policy::compile;
use moat_policy::edit::FIRST_TEXT;

use crate::context::Context;
use crate::exit::Exit;
use crate::problem::{self, Problem};
use crate::review::{self, Answer, Yes};
use crate::rewrite::{Lock, Rewrite};
use crate::state::{create_private, make_private};

/// Edit a policy file by hand.
///
/// Opens a copy in `$VISUAL` or `$EDITOR`, checks it, shows the difference and asks; only then
/// the file is replaced.
/// A file that does not exist begins with what holds without one, the `default` preset.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The policy file [default: the user's].
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,

    /// Write without asking; a copy that does not load is thrown away.
    #[arg(long)]
    yes: bool,
}

/// Runs the verb.
pub(crate) fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let yes = Yes::from(arguments.yes);
    if yes == Yes::Absent && !review::at_terminal() {
        return Err(Problem::usage("an editor needs a terminal")
            .with_hint("`--yes` makes the change without asking"));
    }
    let path = arguments
        .policy
        .unwrap_or_else(|| context.places.user_policy.clone());
    // The editor may be open for long: others need not wait for it.
    let file = Rewrite::open(&path, Lock::AtTheEnd)?;
    let before = file.text().unwrap_or(FIRST_TEXT);
    let copy = Copy::make(&context.places.state, before)?;
    let text = loop {
        open_editor(&copy.path)?;
        let text = copy.read()?;
        if text == before {
            context.output.line("nothing was changed");
            return Ok(Exit::Ok);
        }
        let Err(findings) = compile::lists(file.layer(&text)) else {
            break text;
        };
        if yes == Yes::Given {
            return Err(Problem::policy(findings));
        }
        problem::report_findings(&findings);
        if review::ask("it does not load; edit it again?")? == Answer::No {
            context.output.line("nothing was changed");
            return Ok(Exit::Failed);
        }
    };
    Ok(match review::put(file, &text, yes, context)? {
        Answer::Yes => Exit::Ok,
        Answer::No => Exit::Failed,
    })
}

/// The copy that the editor works on; removed at the end.
struct Copy {
    path: PathBuf,
}

impl Copy {
    fn make(state: &Path, text: &str) -> Result<Self, Problem> {
        let path = state.join(format!("edit-{}.yaml", std::process::id()));
        let made = make_private(state).and_then(|()| {
            let mut file = create_private(&path)?;
            file.write_all(text.as_bytes())
        });
        made.map_err(|error| failed(&path, "write", &error))?;
        Ok(Self { path })
    }

    fn read(&self) -> Result<String, Problem> {
        fs::read_to_string(&self.path).map_err(|error| failed(&self.path, "read", &error))
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // An editor may have removed it itself.
        let _ = fs::remove_file(&self.path);
    }
}

/// Runs the editor as a shell would, since its variable may hold options.
fn open_editor(path: &Path) -> Result<(), Problem> {
    let editor = editor(|name| std::env::var_os(name)).ok_or_else(|| {
        Problem::usage("no editor is known").with_hint("set `EDITOR` to the name of one")
    })?;
    let mut script = editor.clone();
    script.push(" \"$1\"");
    let status = Command::new("sh")
        .arg("-c")
        .arg(script)
        .arg("moat-edit")
        .arg(path)
        .status()
        .map_err(|error| Problem::failed(format!("cannot start a shell: {error}")))?;
    if status.success() {
        return Ok(());
    }
    Err(Problem::failed(format!(
        "the editor `{}` failed ({status}); nothing was changed",
        editor.display()
    )))
}

fn editor(variable: impl Fn(&str) -> Option<OsString>) -> Option<OsString> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    set("VISUAL").or_else(|| set("EDITOR"))
}

fn failed(path: &Path, what: &str, error: &io::Error) -> Problem {
    Problem::failed(format!(
        "cannot {what} the copy `{}`: {error}",
        path.display()
    ))
}

#[cfg(test)]
mod tests;
