//! Writes the Python twin of the tables to the standard output: of all that is shared, of the settings, or of what the engine
//! is told.

mod config;
mod engine;
mod python;

use std::io::{self, Write as _};

use ng_wire::table::close_reason::CloseReason;
use ng_wire::table::command::{Command, CommandRow};
use ng_wire::table::digest;
use ng_wire::table::error::ErrorCode;
use ng_wire::table::event::{Event, EventRow};
use ng_wire::table::eviction::EvictionReason;
use ng_wire::table::exit_status::ExitStatus;
use ng_wire::table::frame_drop::{DropReason, FrameVariant};
use ng_wire::table::limit::LIMITS;
use ng_wire::table::memory_part::MemoryPart;
use ng_wire::table::metric::{CELLS, Metric};
use ng_wire::table::operation::Operation;
use ng_wire::table::outcome::{LoginOutcome, ReplyOutcome};
use ng_wire::table::permission::{GlobalFlag, Requirement, StreamFlag, TopicFlag};
use ng_wire::table::reconcile::{HeldState, ReconcileKind, ReconcileOutcome};
use ng_wire::table::record::{FaultKind, FromPython, ReplyKind, SessionChange, ToPython, Verdict};
use ng_wire::table::request_class::RequestClass;
use ng_wire::table::row::{FieldKind, UserFields, UserStatus};
use ng_wire::table::segment_codec::{Column, Halt, Place, Stop};
use ng_wire::table::segment_order::{AdoptionEnd, CutEnd};
use ng_wire::table::topic_option::{DefaultValue, TOPIC_OPTIONS, TopicOption, ValueKind};
use ng_wire::table::transport::Transport;
use ng_wire::version;
use python::{Expression, call, constant, put_rows, put_sentence, text, texts, tuple, word};

const HEAD: &str = r#""""The codes and rows that the wire, the native side and Python share.

Generated from the tables of `native/wire` by `make generate`: change them there.
"""

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Final, Literal, NamedTuple

"#;

const ROW_CLASSES: &str = r#"

@dataclass(frozen=True, slots=True)
class CommandRow:
    """The plane of a command, and its requirement."""

    code: Command
    name: str
    operation: Operation
    plane: Literal["local", "metadata", "partition", "register"]
    requirement: Requirement


@dataclass(frozen=True, slots=True)
class RequirementRow:
    """A requirement of commands, and its flags. Any one of them is enough."""

    requirement: Requirement
    global_flags: tuple[GlobalFlag, ...]
    stream_flags: tuple[StreamFlag, ...]
    topic_flags: tuple[TopicFlag, ...]


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A label of a metric and its values in the order of their cells."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScaleRow:
    """Buckets of a histogram: their bounds in small units, and the number of small units per displayed unit."""

    per_unit: int
    bounds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A metric of a shard. Its cells begin at `first_cell`; the last label varies fastest."""

    id: int
    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[LabelRow, ...]
    first_cell: int
    scale: ScaleRow | None = None


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event of the native side; `fields` name the numbers in its record."""

    code: int
    name: str
    level: Literal["debug", "info", "warning", "error"]
    message: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExitRow:
    """An exit status and its meaning."""

    status: ExitStatus
    name: str
    sentence: str


@dataclass(frozen=True, slots=True)
class TopicOptionRow:
    """An option of a topic and its default; a flag has 0 or 1."""

    key: str
    kind: ValueKind
    default: str | int
    updatable: bool

"#;

fn main() -> io::Result<()> {
    let which = std::env::args().nth(1);
    let file = match which.as_deref() {
        Some("wire") => twin(),
        Some("config") => config::model(),
        Some("engine") => engine::values(),
        _ => return Err(io::Error::other("name one of: wire, config, engine")),
    };
    io::stdout().lock().write_all(file.as_bytes())
}

fn twin() -> String {
    let mut twin = String::from(HEAD);
    twin.push_str(&format!("TABLES_DIGEST: Final = 0x{:016X}\n", digest()));
    twin.push_str(&format!("PROTOCOL_VERSION: Final = {}\n", version::MAX.packed()));
    twin.push_str(&format!("METRIC_CELLS: Final = {CELLS}\n"));
    for limit in LIMITS {
        twin.push_str(&format!("{}: Final = {}\n\"\"\"{}\"\"\"\n", limit.name, limit.value, limit.sentence));
    }
    put_enums(&mut twin);
    put_user_fields(&mut twin);
    twin.push_str(ROW_CLASSES);
    put_rows(&mut twin, "COMMANDS", "CommandRow", Command::ALL.iter().map(command_row));
    put_rows(&mut twin, "REQUIREMENTS", "RequirementRow", Requirement::ALL.iter().map(requirement_row));
    put_rows(&mut twin, "METRICS", "MetricRow", Metric::ALL.iter().map(metric_row));
    put_rows(&mut twin, "EVENTS", "EventRow", Event::ALL.iter().map(event_row));
    put_rows(&mut twin, "EXITS", "ExitRow", ExitStatus::ALL.iter().map(exit_row));
    put_rows(&mut twin, "TOPIC_OPTIONS", "TopicOptionRow", TOPIC_OPTIONS.iter().map(topic_option_row));
    twin
}

/// Appends an enum of a table whose rows have a code and a name.
macro_rules! put_enum {
    ($into:expr, $table:ident, $summary:literal) => {
        put_class(
            $into,
            concat!(stringify!($table), "(IntEnum)"),
            $summary,
            $table::ALL.iter().map(|row| (row.code().into(), row.name(), row.sentence())),
        )
    };
}

/// Appends the flags of a table: each is the bit that its code numbers.
macro_rules! put_flags {
    ($into:expr, $table:ident, $summary:literal) => {
        put_class(
            $into,
            concat!(stringify!($table), "(IntFlag)"),
            $summary,
            $table::ALL.iter().map(|row| (1 << row.code(), row.name(), row.sentence())),
        )
    };
}

fn put_enums(into: &mut String) {
    let commands: Vec<_> = Command::ALL.iter().map(|row| (row.code().into(), format!("{row:?}"))).collect();
    let commands = commands.iter().map(|(code, name)| (*code, name.as_str(), ""));
    put_class(into, "Command(IntEnum)", "A command of the client plane, by its code.", commands);
    put_enum!(into, Operation, "The operation byte of a request.");
    let errors = ErrorCode::ALL.iter().map(|row| (row.code().into(), row.name(), ""));
    put_class(into, "ErrorCode(IntEnum)", "Status or result codes in replies to clients.", errors);
    put_enum!(into, EvictionReason, "Reasons why a session ends or is refused.");
    put_enum!(into, Requirement, "Permissions that a command requires of its sender.");
    put_flags!(into, GlobalFlag, "Flags that a user holds everywhere, in the order of a permission block.");
    put_flags!(into, StreamFlag, "Flags that a user holds in a stream, in the order of a permission block.");
    put_flags!(into, TopicFlag, "Flags that a user holds in a topic, in the order of a permission block.");
    put_enum!(into, Transport, "The transport of a client.");
    put_enum!(into, FrameVariant, "Kinds of frames in the mailboxes between shards.");
    put_enum!(into, DropReason, "Reasons why a frame between shards was dropped.");
    put_enum!(into, CloseReason, "Reasons why the server closed a connection.");
    put_enum!(into, ReplyOutcome, "Outcomes of a request.");
    put_enum!(into, LoginOutcome, "Outcomes of a login by password.");
    put_enum!(into, MemoryPart, "Parts of the memory budget.");
    put_enum!(into, RequestClass, "Classes of requests, by cost.");
    put_enum!(into, ExitStatus, "The exit status of the daemon.");
    put_enum!(into, ToPython, "Kinds of records that the engine sends.");
    put_enum!(into, FromPython, "Kinds of records that Python sends.");
    put_enum!(into, FaultKind, "Kinds of records by which tests ask for a fault.");
    put_enum!(into, SessionChange, "What became of a session.");
    put_enum!(into, Verdict, "The answer of authentication to a login.");
    put_enum!(into, ReplyKind, "Contents of the reply to a metadata operation.");
    put_enum!(into, ReconcileKind, "Reconcile operations of a shard for a group.");
    put_enum!(into, ReconcileOutcome, "Outcomes of a reconcile operation.");
    put_enum!(into, HeldState, "State of a group on a shard that starts.");
    put_enum!(into, CutEnd, "Outcomes of a cut.");
    put_enum!(into, AdoptionEnd, "Outcomes of an adoption.");
    let columns = Column::ALL.iter().map(|row| (row.code().into(), row.name(), row.sentence()));
    put_class(into, "Columns(IntFlag)", "Columns of messages, one bit each.", columns);
    put_enum!(into, Place, "The buffers of an arena, by their numbers.");
    put_enum!(into, Stop, "Reasons why a call that reads batches ended.");
    put_enum!(into, Halt, "Reasons why a comparison of slices with the whole segment ended.");
    put_enum!(into, UserStatus, "Whether a user may log in.");
    put_enum!(into, FieldKind, "How a field of a row is encoded.");
    let kinds: Vec<_> = ValueKind::ALL.iter().map(|row| (row.code().into(), format!("{row:?}"))).collect();
    let kinds = kinds.iter().map(|(code, name)| (*code, name.as_str(), ""));
    put_class(into, "ValueKind(IntEnum)", "Kinds of stored option values. A client may send others.", kinds);
}

/// Appends the fields of a user's row, as a tuple with names and as the kinds of its elements.
fn put_user_fields(into: &mut String) {
    into.push_str(&format!("\n\nclass UserFields(NamedTuple):\n    \"\"\"{}\"\"\"\n\n", UserFields::SUMMARY));
    for field in UserFields::FIELDS {
        let kind = match field.kind {
            FieldKind::U64 => "int",
            FieldKind::UserStatus => "UserStatus",
            FieldKind::Name8 => "str",
            FieldKind::Bytes32 => "bytes",
        };
        into.push_str(&format!("    {}: {kind}\n", field.name));
        put_sentence(into, field.sentence);
    }
    into.push('\n');
    let kinds = UserFields::FIELDS.iter();
    let kinds = kinds.map(|field| word(format_args!("FieldKind.{}", constant(field.kind.name()))));
    put_rows(into, "USER_FIELD_KINDS", "FieldKind", kinds);
}

/// Appends an enum, whose head names its base; a row is its code, its name and, if it needs one, its sentence.
fn put_class<'a>(
    into: &mut String,
    head: &str,
    summary: &str,
    rows: impl Iterator<Item = (u64, &'a str, &'a str)>,
) {
    into.push_str(&format!("\n\nclass {head}:\n    \"\"\"{summary}\"\"\"\n\n"));
    for (code, name, sentence) in rows {
        into.push_str(&format!("    {} = {code}\n", constant(name)));
        if !sentence.is_empty() {
            put_sentence(into, sentence);
        }
    }
}

fn command_row(command: &Command) -> Expression {
    let CommandRow { name, operation, plane, requirement, .. } = command.row();
    call(
        "CommandRow",
        [
            word(format_args!("Command.{}", constant(&format!("{command:?}")))),
            text(name),
            word(format_args!("Operation.{}", constant(operation.name()))),
            text(plane.name()),
            requirement_word(requirement),
        ],
    )
}

fn requirement_word(requirement: Requirement) -> Expression {
    word(format_args!("Requirement.{}", constant(requirement.name())))
}

fn requirement_row(requirement: &Requirement) -> Expression {
    let grants = requirement.grants();
    let flags = |class: &'static str, names: Vec<&str>| {
        tuple(names.into_iter().map(move |name| word(format_args!("{class}.{}", constant(name)))))
    };
    call(
        "RequirementRow",
        [
            requirement_word(*requirement),
            flags("GlobalFlag", grants.global.iter().map(|flag| flag.name()).collect()),
            flags("StreamFlag", grants.stream.iter().map(|flag| flag.name()).collect()),
            flags("TopicFlag", grants.topic.iter().map(|flag| flag.name()).collect()),
        ],
    )
}

fn metric_row(metric: &Metric) -> Expression {
    let row = metric.row();
    let label = |label: &ng_wire::table::metric::Label| {
        call("LabelRow", [text(label.name), texts(label.values.iter().copied())])
    };
    let mut fields = vec![
        word(row.id),
        text(row.name),
        text(row.kind.name()),
        text(row.help),
        tuple(row.labels.iter().map(label)),
        word(metric.first_cell()),
    ];
    fields.extend(
        row.scale.map(|scale| call("ScaleRow", [word(scale.per_unit), tuple(scale.bounds.iter().map(word))])),
    );
    call("MetricRow", fields)
}

fn event_row(event: &Event) -> Expression {
    let EventRow { code, name, level, message, fields } = event.row();
    call(
        "EventRow",
        [word(code), text(name), text(level.name()), text(message), texts(fields.iter().copied())],
    )
}

fn exit_row(status: &ExitStatus) -> Expression {
    call(
        "ExitRow",
        [
            word(format_args!("ExitStatus.{}", constant(status.name()))),
            text(status.name()),
            text(status.sentence()),
        ],
    )
}

fn topic_option_row(option: &TopicOption) -> Expression {
    let TopicOption { key, default, updatable, .. } = option;
    let value = match default {
        DefaultValue::Text(value) => text(value),
        DefaultValue::Bool(value) => word(u8::from(*value)),
        DefaultValue::U32(value) => word(value),
        DefaultValue::U64(value) => word(value),
    };
    let kind = word(format_args!("ValueKind.{}", constant(&format!("{:?}", default.kind()))));
    call("TopicOptionRow", [text(key), kind, value, word(if *updatable { "True" } else { "False" })])
}
