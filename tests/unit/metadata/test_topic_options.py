"""What a client chose for a topic, what the server put in, and what an update changes."""

from pathlib import Path

import pytest

from server_ng.metadata.quantities import U64_MAX
from server_ng.metadata.rows import Compression, Durability, TopicRow
from server_ng.metadata.topic_catalogue import TOPIC_CATALOGUE
from server_ng.metadata.topic_options import choose
from server_ng.wire.options import Option, ValueKind, decode_options
from server_ng.wire.refusals import RefusedError
from server_ng.wire.requests import CreateStream, CreateTopic, UpdateTopic
from server_ng.wire.tables import ErrorCode
from tests.support.metadata_log import MetadataLog

HOUR = 3_600_000_000
_GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "wire" / "topic_options.txt"


def text(key: str, value: str) -> Option:
    return Option(key, ValueKind.TEXT, value.encode())


def u64(key: str, value: int) -> Option:
    return Option(key, ValueKind.U64, value.to_bytes(8, "little"))


def u32(key: str, value: int) -> Option:
    return Option(key, ValueKind.U32, value.to_bytes(4, "little"))


def yes(key: str, value: bytes = b"\x01") -> Option:
    return Option(key, ValueKind.BOOL, value)


def created(*options: Option) -> tuple[MetadataLog, TopicRow]:
    log = MetadataLog()
    log.do(CreateStream("s"))
    assert log.do(CreateTopic("s", 1, "t", options)).result == 0
    return log, row_of(log)


def row_of(log: MetadataLog) -> TopicRow:
    stream = log.machine.state.find("s")
    assert stream is not None
    topic = stream.find("t")
    assert topic is not None
    return topic.row


def test_a_topic_without_options_has_the_defaults() -> None:
    _, row = created()
    assert row.options == b""
    assert decode_options(row.derived_options) == (
        text("compression_algorithm", "none"),
        text("consumer_offset_durability", "replicated"),
        text("durability", "replicated"),
        u64("max_topic_size", U64_MAX),
        u64("message_expiry", U64_MAX),
        u32("messages_required_to_save", 1_024),
        yes("preallocate_segments", b"\x00"),
        u64("segment_size", 1 << 30),
        u64("size_of_messages_required_to_save", 1 << 20),
    )
    assert (row.message_expiry, row.max_topic_size, row.segment_size) == (U64_MAX, U64_MAX, 1 << 30)
    assert (row.compression, row.durability) == (Compression.NONE, Durability.REPLICATED)
    assert row.consumer_offset_durability == Durability.REPLICATED


def test_every_option_is_kept_in_its_kind_and_in_order() -> None:
    _, row = created(
        text("size_of_messages_required_to_save", "4KiB"),
        text("segment_size", "128 MiB"),
        text("preallocate_segments", "true"),
        text("messages_required_to_save", "7"),
        text("message_expiry", "1h"),
        text("max_topic_size", "2 GB"),
        text("durability", "persisted"),
        text("consumer_offset_durability", "persisted"),
        text("compression_algorithm", "gzip"),
    )
    assert row.derived_options == b""
    assert decode_options(row.options) == (
        text("compression_algorithm", "gzip"),
        text("consumer_offset_durability", "persisted"),
        text("durability", "persisted"),
        u64("max_topic_size", 2_000_000_000),
        u64("message_expiry", HOUR),
        u32("messages_required_to_save", 7),
        yes("preallocate_segments"),
        u64("segment_size", 128 << 20),
        u64("size_of_messages_required_to_save", 4_096),
    )
    assert (row.message_expiry, row.max_topic_size, row.segment_size) == (HOUR, 2_000_000_000, 128 << 20)
    assert (row.compression, row.durability) == (Compression.GZIP, Durability.PERSISTED)
    assert row.consumer_offset_durability == Durability.PERSISTED


@pytest.mark.parametrize(
    "option",
    [
        u64("message_expiry", 0),
        text("message_expiry", "server_default"),
        u64("max_topic_size", 0),
        text("max_topic_size", "default"),
        u64("segment_size", 0),
        text("size_of_messages_required_to_save", "0"),
    ],
)
def test_a_choice_that_is_left_to_the_server_is_no_choice(option: Option) -> None:
    assert choose([option]) == choose([])


@pytest.mark.parametrize("word", ["none", "unlimited", "never_expire"])
def test_for_ever_has_words(word: str) -> None:
    assert choose([text("message_expiry", word)]).message_expiry == U64_MAX
    assert choose([text("max_topic_size", word)]).max_topic_size == U64_MAX


@pytest.mark.parametrize(
    "option",
    [
        text("compression_algorithm", "zstd"),
        text("compression_algorithm", "GZIP"),
        u64("compression_algorithm", 1),
        text("durability", "eventual"),
        yes("durability"),
        text("message_expiry", "soon"),
        u32("message_expiry", 1),
        Option("message_expiry", ValueKind.U64, b"\x01"),
        Option("message_expiry", ValueKind.TEXT, b"\xff"),
        text("max_topic_size", "big"),
        u64("segment_size", (1 << 20) - 512),
        u64("segment_size", (1 << 20) + 1),
        u64("segment_size", (1 << 30) + 512),
        text("segment_size", "unlimited"),
        u32("messages_required_to_save", 0),
        u32("messages_required_to_save", (16 << 20) + 1),
        u64("messages_required_to_save", 1),
        u64("size_of_messages_required_to_save", (1 << 30) + 1),
        yes("preallocate_segments", b"\x02"),
        yes("preallocate_segments", b"\x01\x00"),
        text("preallocate_segments", "yes"),
        text("enforce_fsync", "True"),
    ],
)
def test_a_value_that_the_key_cannot_have_is_refused(option: Option) -> None:
    with pytest.raises(RefusedError) as refused:
        choose([option])
    assert refused.value.code == ErrorCode.INVALID_OPTION_VALUE


@pytest.mark.parametrize("key", ["partitions_count", "Durability", "prepare_queue_depth", " "])
def test_a_key_that_nobody_knows_is_refused(key: str) -> None:
    with pytest.raises(RefusedError) as refused:
        choose([text(key, "1")])
    assert refused.value.code == ErrorCode.UNSUPPORTED_OPTION_KEY


@pytest.mark.parametrize("option", [yes("enforce_fsync"), text("enforce_fsync", "true")])
def test_enforce_fsync_is_echoed_and_means_both_durabilities(option: Option) -> None:
    options = choose([option])
    assert decode_options(options.explicit) == (yes("enforce_fsync"),)
    assert options.durability == options.consumer_offset_durability == Durability.PERSISTED
    derived = {entry.key: entry for entry in decode_options(options.derived)}
    assert list(derived) == list(TOPIC_CATALOGUE)
    assert derived["durability"].data == derived["consumer_offset_durability"].data == b"persisted"


@pytest.mark.parametrize("key", ["durability", "consumer_offset_durability"])
@pytest.mark.parametrize(("flag", "level"), [(b"\x01", "replicated"), (b"\x00", "persisted")])
def test_enforce_fsync_may_agree_with_a_durability_but_not_contradict_it(
    key: str, flag: bytes, level: str
) -> None:
    with pytest.raises(RefusedError) as refused:
        choose([yes("enforce_fsync", flag), text(key, level)])
    assert refused.value.code == ErrorCode.INVALID_OPTION_VALUE
    agreeing = {"replicated": "persisted", "persisted": "replicated"}[level]
    options = choose([text(key, agreeing), yes("enforce_fsync", flag)])
    assert [entry.key for entry in decode_options(options.explicit)] == sorted([key, "enforce_fsync"])


def test_the_catalogue_is_ascending() -> None:
    assert list(TOPIC_CATALOGUE) == sorted(TOPIC_CATALOGUE)


def test_an_update_patches_and_keeps_what_was_sent_as_it_was_sent() -> None:
    log, before = created(u64("message_expiry", HOUR), u64("segment_size", 1 << 20))
    sent = (text("message_expiry", "2h"), text("compression_algorithm", "gzip"))
    assert log.do(UpdateTopic("s", "t", "t", sent)).result == 0
    after = row_of(log)
    assert (after.message_expiry, after.compression) == (2 * HOUR, Compression.GZIP)
    assert (after.max_topic_size, after.segment_size) == (before.max_topic_size, before.segment_size)
    assert decode_options(after.options) == (*reversed(sent), u64("segment_size", 1 << 20))
    assert {entry.key for entry in decode_options(after.derived_options)} == (
        set(TOPIC_CATALOGUE) - {"message_expiry", "compression_algorithm", "segment_size"}
    )


def test_a_zero_in_an_update_changes_the_echo_and_nothing_else() -> None:
    log, before = created(u64("message_expiry", HOUR))
    sent = (u64("max_topic_size", 0), u64("message_expiry", 0))
    assert log.do(UpdateTopic("s", "t", "t", sent)).result == 0
    after = row_of(log)
    assert (after.message_expiry, after.max_topic_size) == (HOUR, before.max_topic_size)
    assert decode_options(after.options) == sent


@pytest.mark.parametrize(
    "key",
    sorted({key for key, choice in TOPIC_CATALOGUE.items() if not choice.updatable} | {"enforce_fsync", "x"}),
)
def test_an_update_of_anything_else_is_refused(key: str) -> None:
    log, before = created()
    refused = log.do(UpdateTopic("s", "t", "t", (text(key, "true"),)))
    assert refused.result == ErrorCode.UNSUPPORTED_OPTION_KEY
    assert row_of(log) == before


def golden_option(key: str, written: str) -> Option:
    kind, _, value = written.partition(":")
    match kind:
        case "text":
            return text(key, value)
        case "bool":
            return yes(key, bytes([int(value)]))
        case "u32":
            return u32(key, int(value))
        case "u64":
            return u64(key, int(value))
    number, _, digits = value.partition(":")
    return Option(key, int(number), bytes.fromhex(digits))


def golden_lines() -> list[str]:
    return [line for line in _GOLDEN.read_text().splitlines() if not line.startswith("#")]


@pytest.mark.parametrize("line", golden_lines())
def test_the_golden_options_get_their_answers(line: str) -> None:
    """Aim: what is let through natively is not refused when it is applied, nor the other way round."""
    request, partitions, answer, *entries = line.split("\t")
    options = tuple(map(golden_option, entries[::2], entries[1::2]))
    log = MetadataLog()
    log.do(CreateStream("s"))
    if request == "create":
        outcome = log.do(CreateTopic("s", int(partitions), "t", options))
    else:
        log.do(CreateTopic("s", 1, "t"))
        outcome = log.do(UpdateTopic("s", "t", "t", options))
    assert outcome.result == int(answer)
