//! What holds for every text that somebody could give to the loader.

use super::Broken;
use crate::compile::{Compiled, compile};
use crate::diagnostic::Diagnostic;
use crate::layer::{LayerInput, Origin};
use crate::lint::lint;
use crate::source::{SourceFile, Span};
use crate::verdict::Effect;

/// A text is a policy or has problems, and every problem, group and entry has its place in it.
/// As the file of a project that nobody trusts it lets nothing through.
pub fn document(data: &[u8]) -> Result<(), Broken> {
    let Ok(text) = std::str::from_utf8(data) else {
        return Ok(());
    };
    let source = SourceFile::new("fuzz", text);
    let load = |origin| {
        let source = source.clone();
        compile(vec![LayerInput { origin, source }])
    };
    let compiled = match load(Origin::User) {
        Ok(compiled) => compiled,
        Err(problems) if problems.is_empty() => return Err("refused without a problem".into()),
        Err(problems) => return problems.iter().try_for_each(placed),
    };
    lint(&compiled, std::time::UNIX_EPOCH)
        .iter()
        .try_for_each(placed)?;
    entries_placed(&source, &compiled)?;
    let Ok(project) = load(Origin::UntrustedProject) else {
        return Err("it loads for the user and not for a project".into());
    };
    let lists = project.policy.lists();
    if lists.iter().any(|list| list.effect == Effect::Allow) {
        return Err("an untrusted file lets something through".into());
    }
    let (user, project) = (compiled.policy.defaults(), project.policy.defaults());
    if project.net != Effect::Deny || project.fetch < user.fetch.max(Effect::Ask) {
        return Err(format!("an untrusted file loosens {user:?} to {project:?}"));
    }
    Ok(())
}

fn entries_placed(source: &SourceFile, compiled: &Compiled) -> Result<(), Broken> {
    let groups = compiled
        .layers
        .iter()
        .flat_map(|layer| &layer.document.groups);
    for group in groups {
        fits(source, group.id_span)?;
        for entry in group.lists.iter().flat_map(|list| &list.entries) {
            fits(source, entry.span)?;
        }
    }
    Ok(())
}

fn placed(problem: &Diagnostic) -> Result<(), Broken> {
    fits(&problem.source, problem.span).map_err(|broken| format!("{problem}: {broken}"))
}

fn fits(source: &SourceFile, span: Span) -> Result<(), Broken> {
    let inside = source.text.get(span.start..span.end).is_some();
    if inside && source.span(span.start, span.end) == span {
        Ok(())
    } else {
        Err(format!("{span:?} is no place of {:?}", source.text))
    }
}
