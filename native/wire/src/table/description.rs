//! The canonical text of all tables, and its digest.

use std::fmt::Write as _;

use super::command::{Command, Plane};
use super::error::ErrorCode;
use super::event::{Event, EventLevel};
use super::eviction::EvictionReason;
use super::exit_status::ExitStatus;
use super::limit::LIMITS;
use super::metric::{Metric, MetricKind};
use super::operation::Operation;
use super::permission::{GlobalFlag, Requirement, StreamFlag, TopicFlag};
use super::reconcile::{HeldState, ReconcileKind, ReconcileOutcome};
use super::record::{FaultKind, FromPython, ReplyKind, SessionChange, ToPython, Verdict};
use super::roster::{NodeRole, NodeStatus};
use super::row::{FieldKind, UserFields, UserStatus};
use super::segment_codec::{Column, Halt, Place, Stop};
use super::segment_order::{AdoptionEnd, CutEnd};
use super::setting::{ENGINE_VALUES, SECTIONS, SETTINGS};
use super::topic_option::{TOPIC_OPTIONS, ValueKind};
use super::transport::Transport;
use crate::checksum::xxh3_64;
use crate::version;

/// XXH3-64 of [`describe`]: equal on both sides of the C ABI, or they were not built together.
#[must_use]
pub fn digest() -> u64 {
    xxh3_64(describe().as_bytes())
}

/// Every table as text, a row per line. The tables of label values appear inside the metrics they belong to.
#[must_use]
pub fn describe() -> String {
    let mut text = format!("protocol {} to {}\n", version::MIN, version::MAX);
    coded(&mut text, "operation", Operation::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "plane", Plane::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "eviction", EvictionReason::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "exit_status", ExitStatus::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "transport", Transport::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "node_role", NodeRole::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "node_status", NodeStatus::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "global_flag", GlobalFlag::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "stream_flag", StreamFlag::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "topic_flag", TopicFlag::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "value_kind", ValueKind::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "metric_kind", MetricKind::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "event_level", EventLevel::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "session_change", SessionChange::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "verdict", Verdict::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "reply_kind", ReplyKind::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "fault", FaultKind::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "reconcile_kind", ReconcileKind::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "reconcile_outcome", ReconcileOutcome::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "held_state", HeldState::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "cut_end", CutEnd::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "adoption_end", AdoptionEnd::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "column", Column::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "place", Place::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "stop", Stop::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "halt", Halt::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "user_status", UserStatus::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "field_kind", FieldKind::ALL.iter().map(|row| (row.code(), row.name())));
    coded(&mut text, "error", ErrorCode::ALL.iter().map(|row| (row.code(), row.name())));
    // The sentence of a record describes its body, so that another layout changes the digest.
    rows(&mut text, "to_python", ToPython::ALL.iter().map(|row| (row.code(), row.name(), row.sentence())));
    rows(
        &mut text,
        "from_python",
        FromPython::ALL.iter().map(|row| (row.code(), row.name(), row.sentence())),
    );
    rows(&mut text, "requirement", Requirement::ALL.iter().map(|row| (row.code(), row.name(), row.grants())));
    rows(&mut text, "command", Command::ALL.iter().map(|row| row.row()));
    rows(&mut text, "metric", Metric::ALL.iter().map(|row| row.row()));
    rows(&mut text, "event", Event::ALL.iter().map(|row| row.row()));
    rows(&mut text, "topic_option", TOPIC_OPTIONS.iter());
    rows(&mut text, "user_field", UserFields::FIELDS.iter());
    rows(&mut text, "limit", LIMITS.iter());
    rows(&mut text, "section", SECTIONS.iter());
    rows(&mut text, "setting", SETTINGS.iter());
    rows(&mut text, "engine_value", ENGINE_VALUES.iter());
    text
}

fn coded<C: Into<u64>>(text: &mut String, table: &str, rows: impl Iterator<Item = (C, &'static str)>) {
    for (code, name) in rows {
        line(text, format_args!("{table} {} {name}", code.into()));
    }
}

fn rows<R: std::fmt::Debug>(text: &mut String, table: &str, rows: impl Iterator<Item = R>) {
    for row in rows {
        line(text, format_args!("{table} {row:?}"));
    }
}

fn line(text: &mut String, row: std::fmt::Arguments<'_>) {
    writeln!(text, "{row}").expect("writing to a String does not fail");
}
