//! The globs of a tail that go into no shape.

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use super::{Glob, Lead, TooManyGlobs};

/// One `GlobSet` of the whole would not build.
const SPLIT: usize = 250;
/// So few are tried one by one at once.
const FEW: usize = 16;
/// The bytes of the longest name.
const NAME_BYTES: usize = 253;

/// Globs that are tried one by one, behind a set that says whether any of them matches.
#[derive(Debug, Default)]
pub(super) struct Rest(Vec<Chunk>);

#[derive(Debug)]
struct Chunk {
    /// Matches at least what the globs match; `None` for a few globs.
    any: Option<GlobSet>,
    globs: Vec<Glob>,
}

impl Rest {
    pub(super) fn build(globs: &[Glob]) -> Result<Self, TooManyGlobs> {
        globs
            .chunks(SPLIT)
            .map(Chunk::build)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn each(&self, head: &str, mut found: impl FnMut(&Glob)) {
        if self.0.is_empty() {
            return;
        }
        let mut buffer = [0; NAME_BYTES];
        let Some(path) = buffer.get_mut(..head.len()) else {
            return;
        };
        for (slot, byte) in path.iter_mut().zip(head.bytes()) {
            *slot = if byte == b'.' { b'/' } else { byte };
        }
        let path = Candidate::from_bytes(path);
        for chunk in &self.0 {
            if chunk
                .any
                .as_ref()
                .is_some_and(|any| !any.is_match_candidate(&path))
            {
                continue;
            }
            for glob in &chunk.globs {
                if glob.matches(head) {
                    found(glob);
                }
            }
        }
    }
}

impl Chunk {
    fn build(globs: &[Glob]) -> Result<Self, TooManyGlobs> {
        let mut set = GlobSetBuilder::new();
        for glob in globs {
            // What separates labels separates folders there, and `*` may be nothing.
            let head = glob.head().replace('.', "/").replace('*', "?*");
            let text = match glob.lead {
                Lead::None => head,
                Lead::OneOrMore | Lead::ZeroOrMore => format!("**/{head}"),
            };
            let glob = GlobBuilder::new(&text).literal_separator(true).build();
            set.add(glob.map_err(|_| TooManyGlobs)?);
        }
        let any = (globs.len() > FEW)
            .then(|| set.build())
            .transpose()
            .map_err(|_| TooManyGlobs)?;
        Ok(Self {
            any,
            globs: globs.to_vec(),
        })
    }
}
