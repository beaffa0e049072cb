//! `moat proxy`: from flags to a running proxy.

mod arguments;
mod policy;

use std::env;
use std::error::Error;
use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use moat_proxy::{
    AuditTo, BindError, Bound, Config, ListenAddress, Mode, Server, ServerTls, Timeouts,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

pub(crate) use self::arguments::{Arguments, Audit};
use self::policy::InstalledPolicy;
use crate::context::Context;
use crate::exit::Exit;
use crate::layers::Layers;
use crate::log;
use crate::output::record_sink;
use crate::problem::{Problem, note};
use crate::state::{self, RunFile, Running};

/// Runs the verb: until a signal ends it.
pub(crate) fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<Exit, Problem> {
    log::start(arguments.log_format)?;
    for name in UNREAD
        .into_iter()
        .filter(|name| env::var_os(name).is_some())
    {
        tracing::warn!("{name} is not read, since it could be planted; give the flag");
    }
    let layers = Layers::of_proxy(&context.places, &arguments.policy);
    let policy = Arc::new(InstalledPolicy::new(layers));
    let descriptors = raise_descriptor_limit();
    let config = configure(arguments, descriptors, context)?;
    let records_to_stdout = config.audit == AuditTo::Stdout;
    let stdout = records_to_stdout.then(record_sink);
    let observe = config.mode == Mode::Observe;
    let record = record_file(&config.audit);
    let server = Server::bind(config, policy.clone(), stdout)
        .map_err(|error| cannot_bind(&error, policy.take_failure()))?;
    policy.set_run_file(write_run_file(&server, record, observe, &policy, context));
    announce(&server, records_to_stdout, context);
    policy.announce()?;
    if observe {
        note(UNENFORCED);
    }
    context.output.flush();
    let ended = server.run();
    policy.set_run_file(None);
    ended.map_err(|error| Problem::failed(chain(&error)))?;
    Ok(Exit::Ok)
}

/// The variables that somebody may expect, of flags that no environment may set.
const UNREAD: [&str; 3] = ["MOAT_POLICY", "MOAT_OBSERVE", "MOAT_AUDIT_ON_FAILURE"];

/// What everybody must see who starts a proxy that lets refused requests through.
const UNENFORCED: &str = "UNENFORCED: what only the default or an `ask` refuses is recorded and \
                          let through (--observe); explicit denies and guarded addresses hold";

/// From what was typed to what the proxy is told.
fn configure(
    arguments: Arguments,
    descriptors: u64,
    context: &Context<'_>,
) -> Result<Config, Problem> {
    let tls = arguments
        .tls_cert
        .zip(arguments.tls_key)
        .map(|(certificate, key)| ServerTls { certificate, key });
    let wants_tls = |address: &ListenAddress| matches!(address, ListenAddress::Tls(_));
    if tls.is_none() && arguments.listen.iter().any(wants_tls) {
        return Err(Problem::usage("a `tls:` listener has no certificate")
            .with_hint("add `--tls-cert FILE` and `--tls-key FILE`"));
    }
    Ok(Config {
        listen: arguments.listen,
        admin: Some(arguments.admin),
        tls,
        dns: arguments.dns,
        workers: arguments.workers.unwrap_or_else(cores),
        max_connections: arguments
            .max_connections
            .map_or_else(|| connections_within(descriptors), NonZeroUsize::get),
        timeouts: Timeouts {
            head: arguments.head_timeout,
            dns: arguments.dns_timeout,
            connect: arguments.connect_timeout,
            idle: arguments.idle_timeout,
            drain: arguments.drain,
        },
        audit: audit_to(arguments.audit, context)?,
        audit_on_failure: arguments.audit_on_failure.into(),
        mode: if arguments.observe {
            Mode::Observe
        } else {
            Mode::Enforce
        },
        recheck: arguments.recheck,
        metrics_hosts: arguments.metrics_hosts,
    })
}

fn audit_to(audit: Option<Audit>, context: &Context<'_>) -> Result<AuditTo, Problem> {
    Ok(match audit {
        Some(Audit::File(path)) => AuditTo::File(context.places.resolve(&path)),
        Some(Audit::Stdout) => AuditTo::Stdout,
        Some(Audit::Off) => AuditTo::Off,
        None => {
            let path = context.places.default_record();
            state::make_private(&context.places.state)
                .map_err(|error| cannot_record(&path.display().to_string(), &error))?;
            AuditTo::File(path)
        }
    })
}

fn cores() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Raises the soft limit of descriptors to the hard one, and says what it is now.
fn raise_descriptor_limit() -> u64 {
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: before.maximum,
        maximum: before.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!("cannot raise the descriptor limit: {error}");
    }
    // No limit at all is `None`.
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// How many clients fit: each may need a descriptor of its own and one to its origin, and some
/// are left for listeners, name servers and files.
fn connections_within(descriptors: u64) -> usize {
    const RESERVED: u64 = 64;
    const MOST: usize = 100_000;
    let each_way = descriptors.saturating_sub(RESERVED) / 2;
    usize::try_from(each_way).unwrap_or(MOST).clamp(1, MOST)
}

/// One line for each listener, for people and for scripts that wait for it.
fn announce(server: &Server, records_to_stdout: bool, context: &mut Context<'_>) {
    for line in listening(server.bound()) {
        if records_to_stdout {
            note(line);
        } else {
            context.output.line(line);
        }
    }
}

fn listening(bound: &Bound) -> Vec<String> {
    let listeners = bound.listeners.iter();
    let admin = bound.admin.iter();
    listeners
        .map(|address| format!("listening on {address}"))
        .chain(admin.map(|address| format!("admin on http://{address}")))
        .collect()
}

fn record_file(audit: &AuditTo) -> Option<PathBuf> {
    match audit {
        AuditTo::File(path) => Some(path.clone()),
        AuditTo::Stdout | AuditTo::Off => None,
    }
}

/// Writes what other commands want to know. Without a place for it the proxy still serves.
fn write_run_file(
    server: &Server,
    record: Option<PathBuf>,
    observe: bool,
    policy: &InstalledPolicy,
    context: &Context<'_>,
) -> Option<RunFile> {
    let pid = std::process::id();
    let bound = server.bound();
    let running = Running {
        pid,
        started: started(context.now),
        start_ticks: state::start_ticks(pid),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        listeners: bound.listeners.iter().map(ToString::to_string).collect(),
        admin: bound.admin,
        record,
        policy: policy.present_files(),
        observe,
    };
    match RunFile::write(&context.places.running(), running) {
        Ok(file) => Some(file),
        Err(error) => {
            tracing::warn!(
                "`moat status` and `moat why` will not find this proxy: \
                 cannot write `{}`: {error}",
                context.places.running().display()
            );
            None
        }
    }
}

/// The time of the start in whole seconds.
fn started(now: SystemTime) -> String {
    let now = OffsetDateTime::from(now);
    let whole = now.replace_nanosecond(0).unwrap_or(now);
    // Every time of this millennium can be written.
    whole.format(&Rfc3339).unwrap_or_default()
}

/// A proxy that cannot start, by whose fault: a policy or a record is configuration.
fn cannot_bind(error: &BindError, policy: Option<Problem>) -> Problem {
    let problem = match (error, policy) {
        (BindError::Policy(_), Some(problem)) => return problem,
        (BindError::Policy(_), None) => return Problem::usage(error.to_string()),
        (BindError::Audit { path, source }, _) => return cannot_record(path, source),
        (BindError::Tls(_), _) => Problem::usage(chain(error)),
        (BindError::Listen { source, .. } | BindError::Admin { source, .. }, _)
            if source.kind() == ErrorKind::AddrInUse =>
        {
            return Problem::failed(chain(error)).with_hint(
                "another program listens there; `moat status` shows your proxies that run, \
                 `--listen` and `--admin` take another address, and port 0 picks a free one",
            );
        }
        (_, _) => Problem::failed(chain(error)),
    };
    match error.help() {
        Some(help) => problem.with_hint(help),
        None => problem,
    }
}

fn cannot_record(path: &str, error: &std::io::Error) -> Problem {
    Problem::usage(format!("cannot write the record to `{path}`: {error}")).with_hint(
        "name another file with `--audit FILE`, or write it to standard output with `--audit -`",
    )
}

/// An error with its causes, in one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
