//! The flags of `moat proxy`, and what each value may look like.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use moat_proxy::{AuditOnFailure, ListenAddress};

use crate::duration;
use crate::log::LogFormat;

/// Run the egress proxy.
///
/// Clients reach it as an HTTP proxy (CONNECT and plain HTTP) or as a SOCKS5 proxy, on the same
/// port: the first byte tells them apart.
/// What the policy does not allow is refused before a name is looked up or a connection opened.
///
/// Without a policy file the built-in default holds: what a coding agent needs to install and
/// build, and nothing else.
/// The policy is read again when a file of it changes or on SIGHUP; one that does not load is
/// reported and the old one stays.
/// SIGTERM stops accepting and waits for open connections, a second SIGTERM ends at once.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  moat proxy
  moat proxy --policy ci.yaml --audit - | jq .
  moat proxy --listen 10.0.0.5:3128 --listen unix:/run/moat/proxy.sock")]
pub(crate) struct Arguments {
    /// Where clients connect; repeatable.
    ///
    /// `ADDRESS:PORT`, `unix:PATH`, or `tls:ADDRESS:PORT` with --tls-cert and --tls-key.
    /// Port 0 picks a free one, which is printed.
    #[arg(
        long,
        value_name = "ADDR",
        env = "MOAT_LISTEN", hide_env_values = true,
        value_delimiter = ',',
        value_parser = parse_listen,
        default_value = "127.0.0.1:3128"
    )]
    pub(super) listen: Vec<ListenAddress>,

    /// Certificate chain of `tls:` listeners, PEM, leaf first.
    #[arg(
        long,
        value_name = "FILE",
        env = "MOAT_TLS_CERT",
        hide_env_values = true,
        requires = "tls_key"
    )]
    pub(super) tls_cert: Option<PathBuf>,

    /// Private key of `tls:` listeners, PEM.
    #[arg(
        long,
        value_name = "FILE",
        env = "MOAT_TLS_KEY",
        hide_env_values = true,
        requires = "tls_cert"
    )]
    pub(super) tls_key: Option<PathBuf>,

    /// Where /metrics, /livez and /readyz are served.
    ///
    /// It changes nothing and cannot be reached through the proxy itself.
    #[arg(
        long,
        value_name = "ADDR",
        env = "MOAT_ADMIN",
        hide_env_values = true,
        value_parser = parse_admin,
        default_value = "127.0.0.1:9128"
    )]
    pub(super) admin: SocketAddr,

    /// Policy file; repeatable, all of them are united.
    ///
    /// It stands in place of the user's policy; the machine's policy holds beside it.
    #[arg(long, value_name = "FILE")]
    pub(super) policy: Vec<PathBuf>,

    /// Name server, as ADDRESS or ADDRESS:PORT; repeatable.
    ///
    /// Without it the system's name servers and its hosts file are asked.
    #[arg(
        long,
        value_name = "ADDR",
        env = "MOAT_DNS", hide_env_values = true,
        value_delimiter = ',',
        value_parser = parse_name_server
    )]
    pub(super) dns: Vec<SocketAddr>,

    /// Worker threads [default: one for each core].
    #[arg(
        long,
        value_name = "N",
        env = "MOAT_WORKERS", hide_env_values = true,
        value_parser = parse_count,
        allow_negative_numbers = true
    )]
    pub(super) workers: Option<NonZeroUsize>,

    /// Client connections at a time [default: half of what the descriptor limit allows].
    ///
    /// One more gets 503 with Retry-After.
    #[arg(
        long,
        value_name = "N",
        env = "MOAT_MAX_CONNECTIONS",
        hide_env_values = true,
        value_parser = parse_count,
        allow_negative_numbers = true
    )]
    pub(super) max_connections: Option<NonZeroUsize>,

    /// How long a request head, a SOCKS handshake or a TLS hello may take from its first byte.
    #[arg(
        long,
        value_name = "D",
        env = "MOAT_HEAD_TIMEOUT", hide_env_values = true,
        value_parser = duration::parse_positive,
        default_value = "10s"
    )]
    pub(super) head_timeout: Duration,

    /// How long looking up one name may take.
    #[arg(
        long,
        value_name = "D",
        env = "MOAT_DNS_TIMEOUT", hide_env_values = true,
        value_parser = duration::parse_positive,
        default_value = "5s"
    )]
    pub(super) dns_timeout: Duration,

    /// How long connecting may take, over all addresses of a name.
    #[arg(
        long,
        value_name = "D",
        env = "MOAT_CONNECT_TIMEOUT", hide_env_values = true,
        value_parser = duration::parse_positive,
        default_value = "10s"
    )]
    pub(super) connect_timeout: Duration,

    /// How long a connection may be silent in both directions.
    #[arg(
        long,
        value_name = "D",
        env = "MOAT_IDLE_TIMEOUT", hide_env_values = true,
        value_parser = duration::parse_positive,
        default_value = "1h"
    )]
    pub(super) idle_timeout: Duration,

    /// How long SIGTERM waits for open connections before it cuts them.
    #[arg(
        long,
        value_name = "D",
        env = "MOAT_DRAIN", hide_env_values = true,
        value_parser = duration::parse,
        default_value = "30s"
    )]
    pub(super) drain: Duration,

    /// Where records go: a file, `-` for standard output, or `off`
    /// [default: audit.jsonl in the state directory].
    ///
    /// One JSON line for each decision and each end of a connection.
    /// A file is rotated at 64 MiB, 8 are kept.
    /// The environment variable can name a place but not turn records off, nor name a device.
    #[arg(
        long,
        value_name = "FILE|-|off",
        env = "MOAT_AUDIT", hide_env_values = true,
        value_parser = parse_audit
    )]
    pub(super) audit: Option<Audit>,

    /// What an allowed request gets when its record cannot be kept.
    #[arg(long, value_name = "WHAT", value_enum, default_value = "deny")]
    pub(super) audit_on_failure: OnFailure,

    /// Let through what only the default or an `ask` refuses, and record it as not enforced.
    ///
    /// For finding out what a policy must allow.
    /// Explicit denies and guarded addresses still refuse.
    #[arg(long)]
    pub(super) observe: bool,

    /// Cut open tunnels and exchanges that a new policy refuses.
    #[arg(
        long,
        env = "MOAT_RECHECK", hide_env_values = true,
        value_parser = clap::builder::BoolishValueParser::new()
    )]
    pub(super) recheck: bool,

    /// How many host names metrics may carry as labels.
    #[arg(
        long,
        value_name = "N",
        env = "MOAT_METRICS_HOSTS", hide_env_values = true,
        default_value_t = 0,
        value_parser = parse_host_labels
    )]
    pub(super) metrics_hosts: usize,

    /// The shape of log lines on standard error.
    #[arg(
        long,
        value_name = "FORMAT",
        env = "MOAT_LOG_FORMAT",
        hide_env_values = true,
        value_enum,
        default_value = "text"
    )]
    pub(super) log_format: LogFormat,
}

/// Where records go, as typed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Audit {
    File(PathBuf),
    Stdout,
    Off,
}

impl Audit {
    /// Whether nobody could read the records later: none are written, or to a device.
    pub(crate) fn keeps_nothing(&self) -> bool {
        match self {
            Self::Off => true,
            Self::Stdout => false,
            Self::File(path) => std::fs::metadata(path).is_ok_and(|metadata| {
                let kind = metadata.file_type();
                kind.is_char_device() || kind.is_block_device()
            }),
        }
    }
}

/// The two choices of `--audit-on-failure`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum OnFailure {
    /// It is refused with 503.
    Deny,
    /// It goes on; the loss is counted.
    Continue,
}

impl From<OnFailure> for AuditOnFailure {
    fn from(choice: OnFailure) -> Self {
        match choice {
            OnFailure::Deny => Self::Deny,
            OnFailure::Continue => Self::Continue,
        }
    }
}

fn parse_audit(text: &str) -> Result<Audit, String> {
    Ok(match text {
        "" => return Err("it is a file, `-` or `off`".to_owned()),
        "-" => Audit::Stdout,
        "off" => Audit::Off,
        file => Audit::File(file.into()),
    })
}

fn parse_listen(text: &str) -> Result<ListenAddress, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        if path.is_empty() {
            return Err("`unix:` is followed by the path of a socket".to_owned());
        }
        return Ok(ListenAddress::Unix(path.into()));
    }
    let (address, is_tls) = match text.strip_prefix("tls:") {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let address = SocketAddr::from_str(address).map_err(|_| {
        "it is an address and a port such as `127.0.0.1:3128` or `[::1]:3128`, \
         `tls:` and the same, or `unix:` and a path"
            .to_owned()
    })?;
    Ok(if is_tls {
        ListenAddress::Tls(address)
    } else {
        ListenAddress::Tcp(address)
    })
}

fn parse_admin(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "it is an address and a port such as `127.0.0.1:9128` or `[::1]:9128`".to_owned()
    })
}

fn parse_count(text: &str) -> Result<NonZeroUsize, String> {
    text.parse()
        .map_err(|_| "it is a whole number from 1".to_owned())
}

/// The port of DNS (RFC 1035, section 4.2).
const DNS_PORT: u16 = 53;

fn parse_name_server(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok((address, DNS_PORT).into());
    }
    match text.parse::<SocketAddr>() {
        Ok(address) if address.port() != 0 => Ok(address),
        _ => Err(
            "it is an address such as `192.0.2.53`, or one with a port such as \
             `192.0.2.53:5353` or `[2001:db8::53]:53`"
                .to_owned(),
        ),
    }
}

/// More labels than this make a metrics server, not Moat, the thing that breaks.
const MAX_HOST_LABELS: usize = 10_000;

fn parse_host_labels(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number <= MAX_HOST_LABELS => Ok(number),
        _ => Err(format!("it is a number from 0 to {MAX_HOST_LABELS}")),
    }
}

#[cfg(test)]
mod tests;
