//! `moat allow` and `moat deny`: one line more or less in a policy file, shown before it is
//! written.

mod change;
mod refusal;
mod remaining;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::{ArgGroup, Args};
use moat_policy::edit::{Edit, Item, Section};
use moat_policy::entry;
use moat_policy::parse::parse;
use moat_policy::port::PortSet;
use moat_policy::source::SourceFile;

use crate::command::preset::PresetName;
use crate::context::Context;
use crate::duration;
use crate::exit::Exit;
use crate::layers::Layers;
use crate::places::MACHINE_POLICY;
use crate::policy_file::{self, Custody};
use crate::problem::{self, Problem};
use crate::review::{self, Answer, Yes};
use crate::rewrite::Rewrite;

use refusal::Which;

/// Allow hosts, addresses or presets.
///
/// Shows what would change in the policy file and asks; a running proxy that reads the file has
/// the change within a second.
/// A file that does not exist begins with what holds without one, the `default` preset.
#[derive(Args, Debug)]
pub(crate) struct AllowArguments {
    #[command(flatten)]
    wanted: Wanted,
}

/// Deny hosts, addresses or presets, whatever allows them.
///
/// Shows what would change in the policy file and asks; a running proxy that reads the file has
/// the change within a second.
#[derive(Args, Debug)]
pub(crate) struct DenyArguments {
    #[command(flatten)]
    wanted: Wanted,
}

#[derive(Args, Debug)]
#[command(group(
    ArgGroup::new("what").required(true).multiple(true).args(["patterns", "last", "id", "preset"])
))]
struct Wanted {
    /// Hosts or addresses: `docs.rs`, `*.example.com:8443`, `10.20.0.0/16:5432`.
    #[arg(value_name = "PATTERN")]
    patterns: Vec<String>,

    /// What a running proxy refused last; at a terminal only.
    #[arg(long, conflicts_with_all = ["patterns", "id", "preset", "port", "remove", "policy"])]
    last: bool,

    /// What a running proxy refused under this id; at a terminal only.
    #[arg(long, value_name = "ID", conflicts_with_all = ["patterns", "preset", "port", "remove", "policy"])]
    id: Option<String>,

    /// A host list that comes with Moat; `moat preset list` names them.
    #[arg(long, value_name = "NAME", value_parser = PresetName, hide_possible_values = true)]
    preset: Vec<String>,

    /// Ports for the patterns that write none, such as `22,8000-8100` or `*`.
    #[arg(long, value_name = "PORTS", value_parser = ports)]
    port: Option<PortSet>,

    /// How long it holds, such as `30m`.
    #[arg(long = "for", value_name = "DURATION", value_parser = duration::parse_positive, conflicts_with = "remove")]
    lifetime: Option<Duration>,

    /// Why, for whoever reads the policy later.
    #[arg(long, value_name = "TEXT", conflicts_with = "remove")]
    reason: Option<String>,

    /// Take it out of the policy again.
    #[arg(long)]
    remove: bool,

    /// The policy file [default: the user's].
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,

    /// Write without asking.
    #[arg(long)]
    yes: bool,
}

fn ports(text: &str) -> Result<PortSet, String> {
    entry::parse_ports(text).map_err(|error| format!("{error}; {}", error.help))
}

/// Runs `moat allow`.
pub(crate) fn allow(
    arguments: &AllowArguments,
    context: &mut Context<'_>,
) -> Result<Exit, Problem> {
    run(Section::Allow, &arguments.wanted, context)
}

/// Runs `moat deny`.
pub(crate) fn deny(arguments: &DenyArguments, context: &mut Context<'_>) -> Result<Exit, Problem> {
    run(Section::Deny, &arguments.wanted, context)
}

fn run(section: Section, wanted: &Wanted, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let yes = Yes::from(wanted.yes);
    let (items, path) = if let Some(which) = Which::of(wanted.last, wanted.id.as_deref()) {
        let refusal = refusal::find(&which, section, yes, &context.places)?;
        context.output.line(&refusal.words);
        (refusal.items, refusal.policy)
    } else {
        let named = wanted.policy.clone();
        let path = named.unwrap_or_else(|| context.places.user_policy.clone());
        (items(wanted)?, path)
    };
    if section == Section::Allow && !wanted.remove {
        refuse_beside_exclusive(&path)?;
    }
    let file = Rewrite::open(&path, yes.into())?;
    let edits: Vec<Edit> = items
        .iter()
        .map(|item| edit_of(section, item.clone(), wanted, context.now))
        .collect();
    let outcome = change::apply(&file, &edits)?;
    for note in &outcome.notes {
        context.output.line(note);
    }
    let widens = section == Section::Allow && !wanted.remove;
    let Some(text) = outcome.text else {
        if widens {
            note_remaining(&items, wanted, None, context);
        }
        return Ok(Exit::Ok);
    };
    if review::put(file, &text, yes, context)? == Answer::No {
        return Ok(Exit::Failed);
    }
    refusal::note_other_policies(&path, &context.places);
    if widens {
        note_remaining(&items, wanted, Some(&path), context);
    }
    Ok(Exit::Ok)
}

/// Says what still refuses the items, but for the rules of one file, which have been shown.
fn note_remaining(items: &[Item], wanted: &Wanted, shown: Option<&Path>, context: &Context<'_>) {
    let named: Vec<PathBuf> = wanted.policy.iter().cloned().collect();
    let all = Layers::of_command(&context.places, &named).and_then(|layers| layers.load());
    match all {
        Ok(all) => remaining::note(&all.compiled.policy, items, shown, context.now),
        // What was asked is done; that another file is broken is worth a word.
        Err(problem) => problem::note(format_args!(
            "note: whether other policy files refuse it is not known, since they do not load: {}",
            problem.summary()
        )),
    }
}

/// What the command line names.
fn items(wanted: &Wanted) -> Result<Vec<Item>, Problem> {
    if wanted.port.is_some() && wanted.patterns.is_empty() {
        return Err(Problem::usage("`--port` without a pattern")
            .with_hint("a preset has ports of its own; leave out `--port`"));
    }
    let mut items = Vec::new();
    for text in &wanted.patterns {
        let own =
            Item::parse(text, None).map_err(|error| change::refused("this command", error))?;
        let has_ports = matches!(own, Item::Entry { ports: Some(_), .. });
        if has_ports && wanted.port.is_some() {
            return Err(Problem::usage(format!("`{text}` has ports of its own"))
                .with_hint("leave out either these or `--port`"));
        }
        let item = Item::parse(text, wanted.port.as_ref());
        items.push(item.map_err(|error| change::refused("this command", error))?);
    }
    items.extend(wanted.preset.iter().cloned().map(Item::Preset));
    Ok(items)
}

fn edit_of(section: Section, item: Item, wanted: &Wanted, now: SystemTime) -> Edit {
    if wanted.remove {
        return Edit::Remove { section, item };
    }
    Edit::Add {
        section,
        item,
        until: wanted.lifetime.map(|lifetime| now + lifetime),
        reason: wanted.reason.clone(),
    }
}

/// The machine's owner may have said that nobody else allows anything.
fn refuse_beside_exclusive(path: &Path) -> Result<(), Problem> {
    let machine = Path::new(MACHINE_POLICY);
    if path == machine {
        return Ok(());
    }
    let Some(read) = policy_file::read(machine, Custody::Machine)? else {
        return Ok(());
    };
    let source = SourceFile::new(MACHINE_POLICY, &read.text);
    exclusive(&source)
}

/// Nothing that this user writes would let anything through.
fn exclusive(machine: &SourceFile) -> Result<(), Problem> {
    let document = parse(machine).map_err(Problem::policy)?;
    if document.exclusive.is_none() {
        return Ok(());
    }
    Err(Problem::failed(format!(
        "the machine's policy says `exclusive: true`: only {} can allow",
        machine.name
    ))
    .with_hint("ask whoever keeps it"))
}

#[cfg(test)]
mod tests;
