//! Results: printed, and kept as JSON where that is asked for.

use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;

/// Prints a result and writes it to the file, if there is one.
pub(crate) fn give(result: &Value, file: Option<&Path>) -> anyhow::Result<()> {
    let text = format!("{result:#}\n");
    std::io::stdout().lock().write_all(text.as_bytes())?;
    if let Some(file) = file {
        std::fs::write(file, text).with_context(|| format!("cannot write `{}`", file.display()))?;
    }
    Ok(())
}
