//! Groups by what their paths begin with.

use std::collections::HashMap;

use foldhash::quality::RandomState;

use super::{Gathered, Group, MAX_TRIED, group};
use crate::http::HttpRule;
use crate::policy::ports::Rank;

/// Many groups with paths.
#[derive(Debug)]
pub(super) struct PathIndex {
    groups: Box<[Group]>,
    /// By the beginning of a path, up to the last `/` before its first wildcard, or by the whole of
    /// a path without wildcards: the numbers of the groups, ascending.
    beginnings: HashMap<Box<str>, Vec<u32>, RandomState>,
    /// The most slashes of a beginning.
    depth: usize,
    /// The groups that deny, with their paths left out: those for a path that cannot be read.
    unread: Box<[Group]>,
}

impl PathIndex {
    /// Files groups; or answers with the entry that is too many.
    pub(super) fn build(
        groups: Vec<Gathered<'_>>,
        unread: Vec<Gathered<'_>>,
    ) -> Result<Self, Rank> {
        let mut beginnings: HashMap<Box<str>, Vec<u32>, RandomState> = HashMap::default();
        let mut depth = 0;
        for (number, group) in groups.iter().enumerate() {
            let Some(first) = group.first() else {
                continue;
            };
            let number = u32::try_from(number).map_err(|_| first.rank)?;
            for beginning in first.entry.http.iter().flat_map(HttpRule::beginnings) {
                depth = depth.max(beginning.matches('/').count());
                let filed = beginnings.entry(beginning.into()).or_default();
                if filed.last() != Some(&number) {
                    filed.push(number);
                }
                if filed.len() > MAX_TRIED {
                    return Err(first.rank);
                }
            }
        }
        Ok(Self {
            groups: groups.into_iter().filter_map(group).collect(),
            beginnings,
            depth,
            unread: unread.into_iter().filter_map(group).collect(),
        })
    }

    /// Calls back with every group that could match a path, in both readings of it, or where there
    /// is none.
    pub(super) fn each(&self, path: Option<(&str, Option<&str>)>, mut found: impl FnMut(&Group)) {
        let Some((kept, split)) = path else {
            return self.unread.iter().for_each(found);
        };
        for path in std::iter::once(kept).chain(split) {
            let slashes = path.match_indices('/').take(self.depth);
            let ends = slashes.map(|(slash, _)| slash + 1);
            let whole = Some(path.len()).filter(|_| !path.ends_with('/'));
            for end in ends.chain(whole) {
                let filed = path.get(..end).and_then(|path| self.beginnings.get(path));
                for &number in filed.into_iter().flatten() {
                    if let Some(group) = self.groups.get(number as usize) {
                        found(group);
                    }
                }
            }
        }
    }
}
