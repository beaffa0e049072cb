//! Durations as they are written on the command line: `250ms`, `2s`, `5m`, `1h`.

use std::time::Duration;

/// A text is no duration.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct DurationError;

impl std::fmt::Display for DurationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a duration is a whole number and a unit, such as `250ms`, `2s`, `5m` or `1h`")
    }
}

impl std::error::Error for DurationError {}

/// Reads a whole number directly followed by `ms`, `s`, `m` or `h`.
pub(crate) fn parse(text: &str) -> Result<Duration, DurationError> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits).ok_or(DurationError)?;
    let number: u64 = number.parse().map_err(|_| DurationError)?;
    let seconds_each = match unit {
        "ms" => return Ok(Duration::from_millis(number)),
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(DurationError),
    };
    number
        .checked_mul(seconds_each)
        .map(Duration::from_secs)
        .ok_or(DurationError)
}

/// The same, for limits of which zero would mean that nothing ever works.
pub(crate) fn parse_positive(text: &str) -> Result<Duration, String> {
    match parse(text) {
        Ok(Duration::ZERO) => Err("it must be longer than nothing".to_owned()),
        Ok(duration) => Ok(duration),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
