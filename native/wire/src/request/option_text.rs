//! Amounts that options may be given in words: `1 GiB`, `7 days`. The metadata read them by the same grammar:
//! what is let through here is understood there.

/// The bytes a topic may hold.
pub(super) fn capacity(text: &str) -> Option<u64> {
    limit(text).or_else(|| size(text))
}

/// The microseconds a message is kept.
pub(super) fn expiry(text: &str) -> Option<u64> {
    limit(text).or_else(|| duration(text))
}

/// Digits alone.
pub(super) fn whole_number(text: &str) -> Option<u64> {
    u64::try_from(digits(text, WHOLE_DIGITS_MAX)?).ok()
}

/// The bytes that a size stands for: a number, which may have decimals, and a unit in any case.
pub(super) fn size(text: &str) -> Option<u64> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let number = number.trim_end_matches(' ');
    let factor = size_unit(&unit.to_ascii_lowercase())?;
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let parts = digits(decimals, 9)? * factor;
    let scale = 10_u128.pow(u32::try_from(decimals.len()).ok()?);
    let bytes = digits(whole, WHOLE_DIGITS_MAX)?.checked_mul(factor)?.checked_add(parts / scale)?;
    u64::try_from(bytes).ok().filter(|_| parts.is_multiple_of(scale))
}

const WHOLE_DIGITS_MAX: usize = 20;

/// Words for no limit, and for the one that the server has.
fn limit(text: &str) -> Option<u64> {
    match text {
        "none" | "None" | "unlimited" | "Unlimited" | "never_expire" => Some(u64::MAX),
        "default" | "Default" | "server_default" | "Server_default" => Some(0),
        _ => None,
    }
}

fn size_unit(unit: &str) -> Option<u128> {
    if matches!(unit, "" | "b") {
        return Some(1);
    }
    let (letter, tail) = unit.split_at_checked(1)?;
    let power = u32::try_from("kmgtpe".find(letter)?).ok()? + 1;
    match tail {
        "" | "b" => Some(1000_u128.pow(power)),
        "i" | "ib" => Some(1024_u128.pow(power)),
        _ => None,
    }
}

/// Numbers with units, which add up, or a number of microseconds.
fn duration(text: &str) -> Option<u64> {
    if let Some(microseconds) = whole_number(text) {
        return Some(microseconds);
    }
    let mut rest = text;
    let mut total = 0_u128;
    while !rest.is_empty() {
        let term = rest.trim_start_matches(' ');
        let (number, behind) = term.split_at(term.find(|c: char| !c.is_ascii_digit())?);
        let behind = behind.trim_start_matches(' ');
        let unit_ends = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(unit_ends);
        total = total.checked_add(digits(number, WHOLE_DIGITS_MAX)? * duration_unit(unit)?)?;
        rest = behind;
    }
    let exact = !text.is_empty() && total.is_multiple_of(1000);
    u64::try_from(total / 1000).ok().filter(|_| exact)
}

/// Nanoseconds of a unit. A month and a year are those of the calendar's average.
fn duration_unit(unit: &str) -> Option<u128> {
    const SECOND: u128 = 1_000_000_000;
    Some(match unit {
        "ns" | "nsec" | "nanos" => 1,
        "us" | "usec" | "micros" => 1_000,
        "ms" | "msec" | "millis" => 1_000_000,
        "s" | "sec" | "secs" | "second" | "seconds" => SECOND,
        "m" | "min" | "mins" | "minute" | "minutes" => 60 * SECOND,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600 * SECOND,
        "d" | "day" | "days" => 86_400 * SECOND,
        "w" | "wk" | "wks" | "week" | "weeks" => 7 * 86_400 * SECOND,
        "M" | "month" | "months" => 2_630_016 * SECOND,
        "y" | "yr" | "yrs" | "year" | "years" => 31_557_600 * SECOND,
        _ => return None,
    })
}

/// A number of 1 to `most` digits.
fn digits(text: &str, most: usize) -> Option<u128> {
    let plain = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}
