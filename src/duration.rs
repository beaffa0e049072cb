//! Durations as they are written on the command line: `250ms`, `2s`, `5m`, `1h`.

use std::time::Duration;

/// The longest duration, more than a century: what lies so far ahead or back can still be added to
/// the time of a clock and be written as a date.
const LONGEST_HOURS: u64 = 1_000_000;

/// Why a text is no duration.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum DurationError {
    /// It is not written as one.
    #[error("a duration is a whole number and a unit, such as `250ms`, `2s`, `5m` or `1h`")]
    Form,
    /// It is longer than any that is meant.
    #[error("a duration is at most `{LONGEST_HOURS}h`")]
    TooLong,
    /// It is nothing, where that would mean that nothing ever works.
    #[error("it must be longer than nothing")]
    Nothing,
}

/// Reads a whole number directly followed by `ms`, `s`, `m` or `h`.
pub(crate) fn parse(text: &str) -> Result<Duration, DurationError> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits).ok_or(DurationError::Form)?;
    let milliseconds_each = match unit {
        _ if number.is_empty() => return Err(DurationError::Form),
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(DurationError::Form),
    };
    // Only digits stand there, so that what cannot be read is too large.
    let number: u64 = number.parse().map_err(|_| DurationError::TooLong)?;
    number
        .checked_mul(milliseconds_each)
        .map(Duration::from_millis)
        .filter(|duration| *duration <= Duration::from_hours(LONGEST_HOURS))
        .ok_or(DurationError::TooLong)
}

/// The same, for limits of which zero would mean that nothing ever works.
pub(crate) fn parse_positive(text: &str) -> Result<Duration, DurationError> {
    match parse(text) {
        Ok(Duration::ZERO) => Err(DurationError::Nothing),
        parsed => parsed,
    }
}

#[cfg(test)]
mod tests;
