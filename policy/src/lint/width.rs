//! Entries that let through more than a reader would think.

use psl::{Psl, Type};

use super::Finder;
use crate::address::{self, AddressClass};
use crate::diagnostic::{Diagnostic, code};
use crate::host::Pattern;
use crate::host::relation::literal_tail;

/// Platforms below which everybody can have a name, in addition to the private part of the
/// public suffix list. A wildcard on one of them or on something above it is open to strangers.
const TENANTS: &[&str] = &[
    "akamaized.net",
    "amazonaws.com",
    "azure-api.net",
    "azureedge.net",
    "azurewebsites.net",
    "b-cdn.net",
    "cloudapp.net",
    "cloudflarestorage.com",
    "cloudfront.net",
    "cloudfunctions.net",
    "core.windows.net",
    "digitaloceanspaces.com",
    "fastly.net",
    "gallery.vsassets.io",
    "gallerycdn.vsassets.io",
    "googleusercontent.com",
    "herokuapp.com",
    "ngrok.io",
    "run.app",
    "trafficmanager.net",
    "vsblob.vsassets.io",
    "windows.net",
];

impl Finder<'_> {
    /// Wildcards over names that strangers can register.
    pub(super) fn too_wide(&self) -> Option<Diagnostic> {
        let text = &self.entry.rule.entry;
        match &self.entry.pattern {
            Pattern::AnyName => Some(self.finding(
                code::ANY_NAME,
                format!("`{text}` lets through every name"),
                "name the hosts that are needed; `--observe` and the record show which",
            )),
            Pattern::Below(tail) | Pattern::AtOrBelow(tail) => self.open_suffix(tail.as_str()),
            Pattern::Glob(glob) => {
                let tail = literal_tail(glob);
                let suffix = psl::suffix_str(tail).unwrap_or("");
                if tail.is_empty() || labels(tail) <= labels(suffix) {
                    return Some(self.finding(
                        code::STAR_IN_DOMAIN,
                        format!("the `*` of `{text}` also stands for domains of strangers"),
                        "put a dot behind the `*`: \"*.NAME\" or \"**.NAME\"",
                    ));
                }
                self.tenants(tail)
            }
            Pattern::Exact(_) | Pattern::Range(_) | Pattern::Localhost => None,
        }
    }

    fn open_suffix(&self, tail: &str) -> Option<Diagnostic> {
        let text = &self.entry.rule.entry;
        let suffix = psl::List.suffix(tail.as_bytes());
        let whole = suffix.filter(|suffix| suffix.as_bytes() == tail.as_bytes());
        match whole.and_then(|suffix| suffix.typ()) {
            Some(Type::Icann) => Some(self.finding(
                code::PUBLIC_SUFFIX,
                format!("`{text}` lets through every domain under `{tail}`"),
                "name the domains that are needed",
            )),
            Some(Type::Private) => Some(self.tenant(tail)),
            None => self.tenants(tail),
        }
    }

    fn tenants(&self, tail: &str) -> Option<Diagnostic> {
        let on_platform = |platform: &&&str| {
            tail == **platform
                || platform
                    .strip_suffix(tail)
                    .is_some_and(|rest| rest.ends_with('.'))
        };
        TENANTS
            .iter()
            .find(on_platform)
            .map(|platform| self.tenant(platform))
    }

    fn tenant(&self, platform: &str) -> Diagnostic {
        let text = &self.entry.rule.entry;
        self.finding(
            code::TENANT,
            format!("`{text}` lets through names that anybody can have under `{platform}`"),
            "name the tenant's host in full",
        )
    }

    /// Whether the entry opens the metadata service of a cloud.
    pub(super) fn guarded(&self) -> Option<Diagnostic> {
        let text = &self.entry.rule.entry;
        let is_metadata = match &self.entry.pattern {
            Pattern::Exact(name) => address::is_metadata_name(name),
            Pattern::Range(range) => {
                range.prefix_len() == range.max_prefix_len()
                    && address::classify(range.addr()) == Some(AddressClass::Metadata)
            }
            Pattern::Below(_)
            | Pattern::AtOrBelow(_)
            | Pattern::Glob(_)
            | Pattern::AnyName
            | Pattern::Localhost => false,
        };
        is_metadata.then(|| {
            self.finding(
                code::METADATA,
                format!("`{text}` opens the metadata service of a cloud"),
                "remove it unless the workload must have the machine's own credentials",
            )
        })
    }
}

fn labels(name: &str) -> usize {
    if name.is_empty() {
        0
    } else {
        name.split('.').count()
    }
}
