//! Bare words that some YAML version reads as something else than a text (YAML 1.1, sections
//! "bool", "int", "float", "null", "timestamp"; YAML 1.2.2, section 10.3).

/// What YAML takes a bare text for, if not for a text.
pub(super) fn retyped(text: &str) -> Option<&'static str> {
    const TRUTHS: [&str; 8] = ["y", "yes", "n", "no", "true", "false", "on", "off"];
    let lower = text.to_ascii_lowercase();
    if matches!(lower.as_str(), "" | "~" | "null") {
        Some("nothing")
    } else if TRUTHS.contains(&lower.as_str()) {
        Some("a truth value")
    } else if is_number(&lower) {
        Some("a number")
    } else if is_date(text) {
        Some("a date")
    } else {
        None
    }
}

fn is_number(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(text, ".inf" | ".nan") {
        return true;
    }
    let radix = [("0x", 16), ("0o", 8), ("0b", 2)];
    for (prefix, radix) in radix {
        if let Some(digits) = text.strip_prefix(prefix) {
            let is_digit = |c: char| c.is_digit(radix) || c == '_';
            return !digits.is_empty() && digits.chars().all(is_digit);
        }
    }
    if !text.bytes().any(|b| b.is_ascii_digit()) {
        return false;
    }
    if let Some((first, rest)) = text.split_once(':') {
        // Base 60, which only the last part may end in a fraction.
        let (rest, fraction) = rest.split_once('.').unwrap_or((rest, ""));
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || b == b'_');
        let two = |part: &str| (1..=2).contains(&part.len()) && digits(part);
        return !first.is_empty() && digits(first) && digits(fraction) && rest.split(':').all(two);
    }
    let (mantissa, exponent) = match text.split_once('e') {
        Some((mantissa, exponent)) => (
            mantissa,
            exponent.strip_prefix(['+', '-']).unwrap_or(exponent),
        ),
        None => (text, "0"),
    };
    !exponent.is_empty()
        && exponent.bytes().all(|b| b.is_ascii_digit())
        && mantissa.bytes().filter(|&b| b == b'.').count() <= 1
        && mantissa.bytes().any(|b| b.is_ascii_digit())
        && mantissa
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'_'))
}

/// Whether it begins like `2026-12-31`.
fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let mut digits = |length: std::ops::RangeInclusive<usize>| {
        parts.next().is_some_and(|part| {
            let count = part.bytes().take_while(u8::is_ascii_digit).count();
            let rest = part.get(count..).unwrap_or("");
            length.contains(&count) && (rest.is_empty() || rest.starts_with(['t', 'T', ' ']))
        })
    };
    digits(4..=4) && digits(1..=2) && digits(1..=2)
}
