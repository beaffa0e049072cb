//! The kinds of policies that are measured: many patterns, many paths, many lists.

use std::time::SystemTime;

use moat_policy::entry::{Entry, EntryList, Exclusion, parse};
use moat_policy::host::Host;
use moat_policy::http::HttpRule;
use moat_policy::port::{Port, PortSet};
use moat_policy::request::{Request, Surface, Target};
use moat_policy::verdict::{Effect, Layer};

use super::generate::{self, Numbers};

/// What a policy has many of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// Names and patterns of names.
    Patterns,
    /// Entries of one host, each with a path of its own.
    Paths,
    /// Hosts, each with a path.
    Hosts,
    /// Lists of one entry, each with an exclusion.
    Lists,
}

/// A request.
#[derive(Debug)]
pub(super) struct Asked {
    target: Target,
    path: Option<Box<str>>,
}

impl Asked {
    fn new(host: &str, port: Port, path: Option<String>) -> anyhow::Result<Self> {
        let host = Host::parse(host.as_bytes())?;
        Ok(Self {
            target: Target { host, port },
            path: path.map(Into::into),
        })
    }

    pub(super) fn request(&self) -> Request<'_> {
        Request {
            method: self.path.as_ref().map(|_| "GET"),
            path: self.path.as_deref(),
            ..Request::connection(&self.target, SystemTime::UNIX_EPOCH)
        }
    }
}

impl Shape {
    pub(super) const ALL: [Self; 4] = [Self::Patterns, Self::Paths, Self::Hosts, Self::Lists];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Patterns => "patterns",
            Self::Paths => "path rules of one host",
            Self::Hosts => "hosts with a path rule each",
            Self::Lists => "lists with an exclusion each",
        }
    }

    /// From small to large. A path rule holds a compiled matcher of some kilobytes.
    pub(super) fn sizes(self) -> [usize; 3] {
        match self {
            Self::Patterns | Self::Hosts | Self::Lists => [10, 1_000, 100_000],
            Self::Paths => [10, 1_000, 10_000],
        }
    }

    /// A policy with so many rules, and so many requests near them.
    pub(super) fn generate(
        self,
        rules: usize,
        requests: usize,
    ) -> anyhow::Result<(Vec<EntryList>, Vec<Asked>)> {
        let mut numbers = Numbers::new(0x6d6f_6174);
        if let Self::Patterns = self {
            let patterns: Vec<_> = (0..rules)
                .map(|_| generate::pattern(&mut numbers))
                .collect();
            let asked = (0..requests).map(|_| {
                let target = generate::target_near(&mut numbers, &patterns)?;
                Ok(Asked { target, path: None })
            });
            let asked = asked.collect::<anyhow::Result<_>>()?;
            return Ok((generate::lists(&patterns)?, asked));
        }
        let http = HttpRule::parse::<&str, _>(&[], &["/repos/acme/**"])?;
        let lists: Vec<_> = (0..rules)
            .map(|rule| self.list(rule, &http))
            .collect::<Result<_, _>>()?;
        let asked = (0..requests)
            .map(|_| self.asked(&mut numbers, rules))
            .collect::<Result<_, _>>()?;
        Ok((lists, asked))
    }

    fn list(self, rule: usize, http: &HttpRule) -> anyhow::Result<EntryList> {
        let (text, http, excluded) = match self {
            Self::Patterns => (format!("host{rule}.test"), None, None),
            Self::Paths => {
                let path = format!("/repos/project{rule}/**");
                let http = HttpRule::parse::<&str, _>(&[], &[path])?;
                ("api.test".to_owned(), Some(http), None)
            }
            Self::Hosts => (format!("api.host{rule}.test"), Some(http.clone()), None),
            Self::Lists => {
                let excluded = format!("private.host{rule}.test");
                (format!("*.host{rule}.test"), None, Some(excluded))
            }
        };
        let exclusion = |text: String| -> anyhow::Result<Exclusion> {
            Ok(Exclusion {
                pattern: parse(&text)?.pattern,
                ports: PortSet::all(),
            })
        };
        let entry = generate::entry(Effect::Allow, &text, rule)?;
        Ok(EntryList {
            effect: Effect::Allow,
            layer: Layer::User,
            surface: Surface::Net,
            entries: vec![Entry { http, ..entry }],
            exclusions: excluded
                .into_iter()
                .map(exclusion)
                .collect::<Result<_, _>>()?,
        })
    }

    /// A request for the host of one of the rules; one in two is not allowed.
    fn asked(self, numbers: &mut Numbers, rules: usize) -> anyhow::Result<Asked> {
        let rule = numbers.below(rules);
        let good = numbers.below(2) == 0;
        let words = if good {
            ["acme", "api"]
        } else {
            ["other", "private"]
        };
        let [owner, label] = words;
        match self {
            Self::Patterns | Self::Lists => {
                Asked::new(&format!("{label}.host{rule}.test"), Port::HTTPS, None)
            }
            Self::Paths => {
                let project = if good { rule } else { rule + rules };
                let path = format!("/repos/project{project}/issues/1");
                Asked::new("api.test", Port::HTTP, Some(path))
            }
            Self::Hosts => {
                let path = format!("/repos/{owner}/issues/1");
                Asked::new(&format!("api.host{rule}.test"), Port::HTTP, Some(path))
            }
        }
    }
}
