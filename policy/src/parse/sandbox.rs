//! What a file says about sandboxed commands: kept as typed data for the sandbox.

use super::{Reader, written};
use crate::diagnostic::code;
use crate::document::{Placed, Sandbox};
use crate::gate::Node;

impl Reader<'_> {
    pub(super) fn sandbox(&mut self, written: &written::Sandbox, node: Node<'_>) -> Sandbox {
        let mut sandbox = Sandbox {
            read: self.texts(written.read.as_ref(), node, "read"),
            write: self.texts(written.write.as_ref(), node, "write"),
            env: self.texts(written.env.as_ref(), node, "env"),
            unix_sockets: self.texts(written.unix_sockets.as_ref(), node, "unix_sockets"),
            credentials: self.texts(written.credentials.as_ref(), node, "credentials"),
            lifetime: self.single(written.lifetime.as_ref(), node, "lifetime"),
            require: self.single(written.require.as_ref(), node, "require"),
            ..Sandbox::default()
        };
        if let Some(lifetime) = &sandbox.lifetime
            && !is_amount(&lifetime.value, &["ms", "s", "m", "h"])
        {
            let message = format!("`{}` is no duration", lifetime.value);
            self.problem(
                code::TEXT,
                lifetime.span,
                message,
                "write it as 250ms, 2s, 5m or 1h",
            );
        }
        if let (Some(limits), Some(node)) = (&written.limits, node.get("limits")) {
            sandbox.memory = self.single(limits.memory.as_ref(), node, "memory");
            sandbox.processes = limits.processes;
            sandbox.open_files = limits.open_files;
        }
        if let Some(memory) = &sandbox.memory
            && !is_amount(&memory.value, &["", "KiB", "MiB", "GiB", "TiB"])
        {
            let message = format!("`{}` is no size", memory.value);
            self.problem(
                code::TEXT,
                memory.span,
                message,
                "write it as 512MiB or 2GiB",
            );
        }
        sandbox
    }

    fn single(
        &mut self,
        written: Option<&String>,
        parent: Node<'_>,
        key: &str,
    ) -> Option<Placed<Box<str>>> {
        let (text, node) = (written?, parent.get(key)?);
        self.same(text, node);
        self.pattern(text, node)
    }
}

/// A whole number of at most nine digits with one of the units behind it.
fn is_amount(text: &str, units: &[&str]) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = text.get(digits..).unwrap_or_default();
    (1..=9).contains(&digits) && units.contains(&unit)
}
