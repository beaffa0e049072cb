//! `moat generate`: what is made from the grammar and the policy language, never by hand.

mod fish;
mod reference;

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::{Args, CommandFactory, Subcommand};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::context::Context;
use crate::exit::Exit;
use crate::problem::Problem;

/// Write man pages, shell completions, the schema of policies or the command reference.
///
/// Everything goes to standard output, except man pages with --out.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Write the man page of a command.
    ///
    /// To install all of them: `moat generate man --out ~/.local/share/man/man1`.
    Man {
        /// The command's name, such as `proxy`; without it the page of `moat` itself.
        #[arg(value_name = "VERB", conflicts_with = "out")]
        verb: Option<String>,

        /// Write the pages of all commands into this directory.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Write the completions of a shell.
    ///
    /// Bash, in `~/.bashrc`: `source <(moat generate completions bash)`.
    /// Zsh, into a directory of `$fpath`: `moat generate completions zsh > DIR/_moat`.
    /// Fish: `moat generate completions fish > ~/.config/fish/completions/moat.fish`.
    Completions {
        /// Which shell.
        shell: Shell,
    },
    /// Write the JSON Schema of policy files, for editors.
    Schema,
    /// Write the whole command line as one page of Markdown.
    Reference,
}

/// Runs the verb.
pub(crate) fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let text = match arguments.what {
        What::Man {
            out: Some(directory),
            ..
        } => {
            write_pages(&directory)?;
            return Ok(Exit::Ok);
        }
        What::Man { verb, out: None } => man_page(verb.as_deref())?,
        What::Completions { shell } => completions(shell)?,
        What::Schema => schema(),
        What::Reference => reference::markdown(),
    };
    context.output.text(text);
    Ok(Exit::Ok)
}

/// The grammar with every default of clap filled in.
fn grammar() -> clap::Command {
    let mut grammar = Cli::command();
    grammar.build();
    grammar
}

/// Every page as its file name and text.
fn pages() -> Result<Vec<(String, String)>, Problem> {
    let grammar = grammar();
    let mut pages = vec![page(&grammar, "moat")?];
    for verb in verbs(&grammar) {
        pages.push(page(verb, &format!("moat-{}", verb.get_name()))?);
        for action in verbs(verb) {
            let name = format!("moat-{}-{}", verb.get_name(), action.get_name());
            pages.push(page(action, &name)?);
        }
    }
    Ok(pages)
}

/// The commands below one, without those that clap adds.
fn verbs(command: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    command
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set() && verb.get_name() != "help")
}

fn page(command: &clap::Command, name: &str) -> Result<(String, String), Problem> {
    let command = command
        .clone()
        .display_name(name.to_owned())
        .disable_help_subcommand(true);
    let mut bytes = Vec::new();
    clap_mangen::Man::new(command)
        .date("")
        .manual("Moat")
        .render(&mut bytes)
        .map_err(|error| Problem::failed(format!("cannot write the page `{name}`: {error}")))?;
    Ok((format!("{name}.1"), text(bytes)?))
}

fn man_page(verb: Option<&str>) -> Result<String, Problem> {
    let name = verb.map_or_else(|| "moat.1".to_owned(), |verb| format!("moat-{verb}.1"));
    let mut pages = pages()?.into_iter();
    pages
        .find(|(page, _)| *page == name)
        .map(|(_, text)| text)
        .ok_or_else(|| {
            Problem::usage(format!(
                "there is no command `{}`",
                verb.unwrap_or_default()
            ))
            .with_hint("`moat --help` lists the commands")
        })
}

fn write_pages(directory: &Path) -> Result<(), Problem> {
    fs::create_dir_all(directory).map_err(|error| unwritable(directory, &error))?;
    for (name, text) in pages()? {
        let path = directory.join(name);
        fs::write(&path, text).map_err(|error| unwritable(&path, &error))?;
    }
    Ok(())
}

fn unwritable(path: &Path, error: &io::Error) -> Problem {
    Problem::failed(format!("cannot write `{}`: {error}", path.display()))
}

fn completions(shell: Shell) -> Result<String, Problem> {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "moat", &mut bytes);
    let mut text = text(bytes)?;
    if shell == Shell::Fish {
        text.push_str(&fish::arguments(&grammar()));
    }
    Ok(text)
}

fn schema() -> String {
    format!("{:#}\n", moat_policy::schema::schema())
}

fn text(bytes: Vec<u8>) -> Result<String, Problem> {
    String::from_utf8(bytes).map_err(|_| Problem::failed("the generated text is not UTF-8"))
}

#[cfg(test)]
mod tests;
