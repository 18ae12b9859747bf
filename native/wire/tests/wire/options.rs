//! Options blocks: their layout, their bounds, and what each key takes.

use ng_wire::primitive::{put_bytes32, put_u8, put_u32};
use ng_wire::request::{CreateStream, CreateTopic, OPTIONS_BYTES_MAX, OPTIONS_MAX, UpdateTopic};
use ng_wire::table::error::ErrorCode;
use ng_wire::table::topic_option::{DefaultValue, TOPIC_OPTIONS};
use proptest::collection::vec;
use proptest::prelude::*;

const REFUSED: Result<(), ErrorCode> = Err(ErrorCode::InvalidOptionValue);
const UNKNOWN: Result<(), ErrorCode> = Err(ErrorCode::UnsupportedOptionKey);
const MALFORMED: Result<(), ErrorCode> = Err(ErrorCode::InvalidCommand);
const TOO_LARGE: Result<(), ErrorCode> = Err(ErrorCode::OptionsBlockTooLarge);

const TEXT: u8 = 2;
const BOOL: u8 = 3;
const U32: u8 = 11;
const U64: u8 = 12;

fn field(into: &mut Vec<u8>, kind: u8, data: &[u8]) {
    put_u8(into, kind);
    put_bytes32(into, data);
}

fn block(options: &[(&str, u8, &[u8])]) -> Vec<u8> {
    let mut block = Vec::new();
    for (key, kind, value) in options {
        field(&mut block, TEXT, key.as_bytes());
        field(&mut block, *kind, value);
    }
    block
}

fn created_with(partitions: u32, block: &[u8]) -> Result<(), ErrorCode> {
    let mut body = b"\x02\x06orders".to_vec();
    put_u32(&mut body, partitions);
    body.extend_from_slice(b"\x06events");
    body.extend_from_slice(block);
    CreateTopic::decode(&body)?.check()
}

fn created(options: &[(&str, u8, &[u8])]) -> Result<(), ErrorCode> {
    created_with(1, &block(options))
}

fn updated_with(block: &[u8]) -> Result<(), ErrorCode> {
    let body = [b"\x02\x06orders\x02\x06events\x03new", block].concat();
    UpdateTopic::decode(&body)?.check()
}

fn updated(options: &[(&str, u8, &[u8])]) -> Result<(), ErrorCode> {
    updated_with(&block(options))
}

fn text(key: &str, value: &str) -> Result<(), ErrorCode> {
    created(&[(key, TEXT, value.as_bytes())])
}

fn number(key: &str, value: u64) -> Result<(), ErrorCode> {
    created(&[(key, U64, &value.to_le_bytes())])
}

#[test]
fn every_described_option_is_taken_with_its_default() {
    for option in TOPIC_OPTIONS {
        let value = match option.default {
            DefaultValue::Text(text) => text.as_bytes().to_vec(),
            DefaultValue::Bool(flag) => vec![u8::from(flag)],
            DefaultValue::U32(number) => number.to_le_bytes().to_vec(),
            DefaultValue::U64(number) => number.to_le_bytes().to_vec(),
        };
        let given = [(option.key, option.default.kind().code(), &value[..])];
        assert_eq!(created(&given), Ok(()), "{}", option.key);
        assert_eq!(updated(&given), if option.updatable { Ok(()) } else { UNKNOWN }, "{}", option.key);
        assert_eq!(created(&[(option.key, 1, &value)]), REFUSED, "{} raw", option.key);
        assert_eq!(created(&[(option.key, 9, &[1])]), REFUSED, "{} in a byte", option.key);
    }
    assert_eq!(text("no_such_option", "1"), UNKNOWN);
}

#[test]
fn streams_have_no_options() {
    let body = [b"\x06orders".to_vec(), block(&[("durability", TEXT, b"replicated")])].concat();
    assert_eq!(CreateStream::decode(&body).expect("a name and a block").check(), UNKNOWN);
}

#[test]
fn numbers_have_bounds() {
    const MIB: u64 = 1 << 20;
    for (bytes, expected) in [
        (0, Ok(())),
        (511, REFUSED),
        (MIB - 512, REFUSED),
        (MIB, Ok(())),
        (MIB + 1, REFUSED),
        (MIB + 512, Ok(())),
        (1024 * MIB, Ok(())),
        (1024 * MIB + 512, REFUSED),
    ] {
        assert_eq!(number("segment_size", bytes), expected, "{bytes}");
    }
    assert_eq!(number("size_of_messages_required_to_save", 0), Ok(()));
    assert_eq!(number("size_of_messages_required_to_save", 1024 * MIB), Ok(()));
    assert_eq!(number("size_of_messages_required_to_save", 1024 * MIB + 1), REFUSED);
    for (count, expected) in [(0, REFUSED), (1, Ok(())), (1 << 24, Ok(())), ((1 << 24) + 1, REFUSED)] {
        let value = u32::to_le_bytes(count);
        assert_eq!(created(&[("messages_required_to_save", U32, &value)]), expected, "{count}");
        assert_eq!(text("messages_required_to_save", &count.to_string()), expected, "{count}");
    }
    assert_eq!(number("messages_required_to_save", 1), REFUSED, "not its kind");
    for any in [0, 1, u64::MAX] {
        assert_eq!(number("message_expiry", any), Ok(()));
        assert_eq!(number("max_topic_size", any), Ok(()));
    }
    assert_eq!(created(&[("message_expiry", U64, &[0; 7])]), REFUSED, "a number has eight bytes");
}

#[test]
fn amounts_may_be_words() {
    for taken in ["7 days", "1h 30m", "1h30m", "2M", "90", "1500 nanos 500ns", "never_expire", "default"] {
        assert_eq!(text("message_expiry", taken), Ok(()), "{taken}");
    }
    for refused in
        ["7 fortnights", "days", "1h 30", " ", "7 days ", "1 ns", "-1s", "1.5h", "99999999999999999999y"]
    {
        assert_eq!(text("message_expiry", refused), REFUSED, "{refused}");
    }
    for taken in
        ["1 GiB", "1.5gb", "0", "12345", "18446744073709551615", "4EiB", "Unlimited", "server_default"]
    {
        assert_eq!(text("max_topic_size", taken), Ok(()), "{taken}");
    }
    for refused in ["1 GiB ", "1.5", "GiB", "1 Gib/s", "16EiB", "18446744073709551616", "1.", ".5k", "1 ké"]
    {
        assert_eq!(text("max_topic_size", refused), REFUSED, "{refused}");
    }
    assert_eq!(text("segment_size", "1 MiB"), Ok(()));
    assert_eq!(text("segment_size", "1 MB"), REFUSED, "no multiple of 512");
    assert_eq!(text("segment_size", "unlimited"), REFUSED);
    assert_eq!(created(&[("segment_size", TEXT, &[0xff])]), REFUSED, "not UTF-8");
}

#[test]
fn flags_and_choices() {
    for key in ["preallocate_segments", "enforce_fsync"] {
        for (kind, value, expected) in [
            (BOOL, &[0][..], Ok(())),
            (BOOL, &[1], Ok(())),
            (BOOL, &[2], REFUSED),
            (BOOL, &[1, 0], REFUSED),
            (TEXT, b"true", Ok(())),
            (TEXT, b"false", Ok(())),
            (TEXT, b"yes", REFUSED),
        ] {
            assert_eq!(created(&[(key, kind, value)]), expected, "{key} {value:?}");
        }
    }
    assert_eq!(text("compression_algorithm", "gzip"), Ok(()));
    assert_eq!(text("compression_algorithm", "lz4"), REFUSED);
    assert_eq!(text("durability", "persisted"), Ok(()));
    assert_eq!(text("consumer_offset_durability", "synced"), REFUSED);
    assert_eq!(updated(&[("enforce_fsync", BOOL, &[1])]), UNKNOWN);
}

#[test]
fn the_older_name_of_durability_agrees_with_the_newer_ones() {
    for (fsync, level, expected) in [
        (1, "persisted", Ok(())),
        (1, "replicated", REFUSED),
        (0, "replicated", Ok(())),
        (0, "persisted", REFUSED),
    ] {
        for key in ["durability", "consumer_offset_durability"] {
            let options = [("enforce_fsync", BOOL, &[fsync][..]), (key, TEXT, level.as_bytes())];
            assert_eq!(created(&options), expected, "{fsync} {key} {level}");
        }
    }
}

#[test]
fn segments_that_are_made_in_full_size_have_a_limit_together() {
    let whole = block(&[("preallocate_segments", BOOL, &[1])]);
    assert_eq!(created_with(64, &whole), Ok(()));
    assert_eq!(created_with(65, &whole), REFUSED);
    let small = block(&[("preallocate_segments", BOOL, &[1]), ("segment_size", TEXT, b"1MiB")]);
    assert_eq!(created_with(1000, &small), Ok(()));
    let absent = block(&[("preallocate_segments", BOOL, &[1]), ("segment_size", U64, &[0; 8])]);
    assert_eq!(created_with(65, &absent), REFUSED, "a size of zero is the default one");
}

#[test]
fn what_a_block_may_not_be() {
    let good = block(&[("durability", TEXT, b"persisted")]);
    let twice = [&good[..], &good].concat();
    let mut odd = good.clone();
    field(&mut odd, TEXT, b"segment_size");
    let mut key_kind = good.clone();
    key_kind[0] = 1;
    let mut value_kind = good.clone();
    value_kind[15] = 0;
    let key_bytes = [&[TEXT, 1, 0, 0, 0, 0xff][..], &good[15..]].concat();
    let empty = block(&[("durability", TEXT, b"")]);
    let long = block(&[("durability", TEXT, &[b'x'; 256])]);
    for malformed in [&twice, &odd, &key_kind, &value_kind, &key_bytes, &empty, &long] {
        assert_eq!(created_with(1, malformed), MALFORMED, "{malformed:?}");
    }
}

#[test]
fn a_block_has_bounds() {
    let many = |count: usize| {
        let keys: Vec<_> = (0..count).map(|key| key.to_string()).collect();
        let options: Vec<_> = keys.iter().map(|key| (key.as_str(), BOOL, &[0][..])).collect();
        block(&options)
    };
    assert_eq!(created_with(1, &many(OPTIONS_MAX)), UNKNOWN);
    assert_eq!(created_with(1, &many(OPTIONS_MAX + 1)), TOO_LARGE);
    assert_eq!(created_with(1, &vec![0; OPTIONS_BYTES_MAX]), MALFORMED);
    assert_eq!(created_with(1, &vec![0; OPTIONS_BYTES_MAX + 1]), TOO_LARGE);
}

/// A value of `tests/golden/wire/topic_options.txt`: its kind and its bytes.
fn golden_value(written: &str) -> Option<(u8, Vec<u8>)> {
    let (kind, value) = written.split_once(':')?;
    Some(match kind {
        "text" => (TEXT, value.as_bytes().to_vec()),
        "bool" => (BOOL, vec![value.parse().ok()?]),
        "u32" => (U32, value.parse::<u32>().ok()?.to_le_bytes().to_vec()),
        "u64" => (U64, value.parse::<u64>().ok()?.to_le_bytes().to_vec()),
        "raw" => {
            let (kind, digits) = value.split_once(':')?;
            let pairs =
                (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok());
            (kind.parse().ok()?, pairs.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// Whoever applies an op judges its options again: the same vectors are held by the tests of the metadata.
#[test]
fn the_golden_options_get_their_answers() {
    let text = include_str!("../../../../tests/golden/wire/topic_options.txt");
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.len() > 200, "the table is there");
    for line in lines {
        let columns: Vec<&str> = line.split('\t').collect();
        let [request, partitions, answer, entries @ ..] = &columns[..] else { panic!("{line}") };
        let mut sent = Vec::new();
        for entry in entries.chunks(2) {
            let (kind, value) = golden_value(entry[1]).expect(line);
            field(&mut sent, TEXT, entry[0].as_bytes());
            field(&mut sent, kind, &value);
        }
        let found = match *request {
            "create" => created_with(partitions.parse().expect(line), &sent),
            _ => updated_with(&sent),
        };
        let found = found.map_or_else(ErrorCode::code, |()| 0);
        assert_eq!(found.to_string(), *answer, "{line}");
    }
}

proptest! {
    #[test]
    fn no_value_makes_the_checks_panic(
        key in 0..TOPIC_OPTIONS.len(), kind in 0..16_u8, value in vec(any::<u8>(), 1..=255)
    ) {
        let _ = created(&[(TOPIC_OPTIONS[key].key, kind, &value)]);
    }

    #[test]
    fn no_words_make_the_checks_panic(key in 0..TOPIC_OPTIONS.len(), words in "[0-9]{0,22}[. ]{0,2}\\PC{0,8}") {
        let _ = text(TOPIC_OPTIONS[key].key, &words);
    }

    #[test]
    fn whole_amounts_are_taken_by_every_unit(count in 0..1_u64 << 20, unit in "[kKmMgG]?(i?[bB])?") {
        let expected = if unit.starts_with('i') { REFUSED } else { Ok(()) };
        prop_assert_eq!(text("max_topic_size", &format!("{count} {unit}")), expected);
    }
}
