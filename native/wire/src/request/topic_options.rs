//! What a topic can be created and updated with: keys, kinds and bounds.

use super::option_block::{OptionBlock, OptionEntry};
use super::option_text::{capacity, expiry, size, whole_number};
use crate::replica::Level;
use crate::table::error::ErrorCode;
use crate::table::topic_option::{TOPIC_OPTIONS, ValueKind};

const SEGMENT_BYTES_MIN: u64 = 1 << 20;
const SEGMENT_BYTES_MAX: u64 = 1 << 30;
/// What the segments of a new topic may take together when they are made in full size.
const PREALLOCATED_BYTES_MAX: u64 = 64 << 30;
const MESSAGES_TO_SAVE_MAX: u32 = 1 << 24;
const BYTES_TO_SAVE_MAX: u64 = 1 << 30;

/// Judges the options of a topic that is created with so many partitions.
pub(super) fn check_created(options: OptionBlock<'_>, partitions: u32) -> Result<(), ErrorCode> {
    let mut given = Given::default();
    for entry in options.entries()? {
        given.take(&entry)?;
    }
    given.agree(partitions)
}

/// Judges the options an update brings: only those that a topic can be given another value of.
pub(super) fn check_updated(options: OptionBlock<'_>) -> Result<(), ErrorCode> {
    let mut given = Given::default();
    for entry in options.entries()? {
        if !TOPIC_OPTIONS.iter().any(|option| option.updatable && option.key == entry.key) {
            return Err(ErrorCode::UnsupportedOptionKey);
        }
        given.take(&entry)?;
    }
    Ok(())
}

/// The values that have to agree with one another; the others are judged and let go.
#[derive(Default)]
struct Given {
    segment_bytes: Option<u64>,
    preallocate: bool,
    durability: Option<Level>,
    offset_durability: Option<Level>,
    /// What both durabilities are by the name that older clients have for them.
    fsync: Option<Level>,
}

impl Given {
    fn take(&mut self, entry: &OptionEntry<'_>) -> Result<(), ErrorCode> {
        let valid = match entry.key {
            "compression_algorithm" => text(entry).filter(|name| matches!(*name, "none" | "gzip")).is_some(),
            "message_expiry" => number(entry, expiry).is_some(),
            "max_topic_size" => number(entry, capacity).is_some(),
            "segment_size" => keep(&mut self.segment_bytes, number(entry, size).filter(is_segment_size)),
            "durability" => keep(&mut self.durability, level(entry)),
            "consumer_offset_durability" => keep(&mut self.offset_durability, level(entry)),
            "enforce_fsync" => keep(&mut self.fsync, flag(entry).map(level_of_fsync)),
            "preallocate_segments" => flag(entry).map(|flag| self.preallocate = flag).is_some(),
            "messages_required_to_save" => {
                messages(entry).is_some_and(|count| (1..=MESSAGES_TO_SAVE_MAX).contains(&count))
            }
            "size_of_messages_required_to_save" => {
                number(entry, size).is_some_and(|bytes| bytes <= BYTES_TO_SAVE_MAX)
            }
            _ => return Err(ErrorCode::UnsupportedOptionKey),
        };
        if valid { Ok(()) } else { Err(ErrorCode::InvalidOptionValue) }
    }

    fn agree(&self, partitions: u32) -> Result<(), ErrorCode> {
        let contradicts = |level: Level| self.fsync.is_some_and(|fsync| fsync != level);
        let contradiction = [self.durability, self.offset_durability].into_iter().flatten().any(contradicts);
        // A size of zero says nothing, as if the key were absent.
        let segment_bytes = self.segment_bytes.filter(|bytes| *bytes > 0).unwrap_or(SEGMENT_BYTES_MAX);
        let preallocated = if self.preallocate { segment_bytes * u64::from(partitions) } else { 0 };
        if contradiction || preallocated > PREALLOCATED_BYTES_MAX {
            return Err(ErrorCode::InvalidOptionValue);
        }
        Ok(())
    }
}

fn keep<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    *place = value;
    place.is_some()
}

const fn is_segment_size(bytes: &u64) -> bool {
    let bytes = *bytes;
    bytes == 0 || (SEGMENT_BYTES_MIN <= bytes && bytes <= SEGMENT_BYTES_MAX && bytes.is_multiple_of(512))
}

fn text<'a>(entry: &OptionEntry<'a>) -> Option<&'a str> {
    if entry.kind == ValueKind::Text.code() { str::from_utf8(entry.value).ok() } else { None }
}

fn level(entry: &OptionEntry<'_>) -> Option<Level> {
    match text(entry)? {
        "replicated" => Some(Level::Replicated),
        "persisted" => Some(Level::Persisted),
        _ => None,
    }
}

const fn level_of_fsync(fsync: bool) -> Level {
    if fsync { Level::Persisted } else { Level::Replicated }
}

fn flag(entry: &OptionEntry<'_>) -> Option<bool> {
    match (ValueKind::from_code(entry.kind)?, entry.value) {
        (ValueKind::Bool, [0]) | (ValueKind::Text, b"false") => Some(false),
        (ValueKind::Bool, [1]) | (ValueKind::Text, b"true") => Some(true),
        _ => None,
    }
}

/// A number of 64 bits, or words for one.
fn number(entry: &OptionEntry<'_>, words: fn(&str) -> Option<u64>) -> Option<u64> {
    if entry.kind == ValueKind::U64.code() {
        return entry.value.try_into().ok().map(u64::from_le_bytes);
    }
    words(text(entry)?)
}

/// A number of 32 bits, or its digits.
fn messages(entry: &OptionEntry<'_>) -> Option<u32> {
    if entry.kind == ValueKind::U32.code() {
        return entry.value.try_into().ok().map(u32::from_le_bytes);
    }
    whole_number(text(entry)?)?.try_into().ok()
}
