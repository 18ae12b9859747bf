//! The tables: no code twice, no row without its companions, and a digest that moves when a row does.

use std::collections::HashSet;

use ng_wire::primitive::Name;
use ng_wire::table::close_reason::CloseReason;
use ng_wire::table::command::{Command, Plane};
use ng_wire::table::error::ErrorCode;
use ng_wire::table::event::Event;
use ng_wire::table::eviction::EvictionReason;
use ng_wire::table::exit_status::ExitStatus;
use ng_wire::table::frame_drop::{DropReason, FrameVariant};
use ng_wire::table::memory_part::MemoryPart;
use ng_wire::table::metric::{CELLS, Cell, HistogramCells, Metric, MetricKind};
use ng_wire::table::operation::Operation;
use ng_wire::table::outcome::{LoginOutcome, LoginRefusal, ReplyOutcome};
use ng_wire::table::permission::Requirement;
use ng_wire::table::request_class::RequestClass;
use ng_wire::table::scale::{BYTES, SECONDS};
use ng_wire::table::topic_option::TOPIC_OPTIONS;
use ng_wire::table::{describe, digest};

fn assert_distinct<T: std::hash::Hash + Eq + std::fmt::Debug>(values: impl Iterator<Item = T>) {
    let mut seen = HashSet::new();
    for value in values {
        let shown = format!("{value:?}");
        assert!(seen.insert(value), "{shown} twice");
    }
}

#[test]
fn commands() {
    assert_eq!(Command::ALL.len(), 51 + 4);
    assert!(Command::ALL.is_sorted_by(|one, next| one.code() < next.code()));
    assert_distinct(Command::ALL.iter().map(|command| command.name()));
    for command in Command::ALL {
        assert_eq!(Command::from_code(command.code()), Some(*command));
        assert_eq!(command.row().code, command.code());
    }
    let replicated = Command::ALL.iter().map(|command| command.row().operation);
    assert_distinct(replicated.filter(|op| !matches!(op, Operation::NonReplicated | Operation::Register)));
    let legacy: Vec<_> = Command::ALL.iter().filter(|command| command.is_legacy_login()).collect();
    assert_eq!(legacy, [&Command::LoginUser, &Command::LoginWithPersonalAccessToken]);
}

#[test]
fn planes_agree_with_operations() {
    for command in Command::ALL {
        let row = command.row();
        let expected = match row.operation.code() {
            1 => Plane::Register,
            2 => Plane::Local,
            3 | 128..=149 => Plane::Metadata,
            160..=162 => Plane::Partition,
            other => panic!("{} has operation {other}", row.name),
        };
        assert_eq!(row.plane, expected, "{}", row.name);
    }
}

#[test]
fn permissions() {
    let open = [Requirement::Nothing, Requirement::Credentials, Requirement::Session];
    for requirement in Requirement::ALL {
        let grants = requirement.grants();
        assert_eq!(grants.global.is_empty(), open.contains(requirement), "{}", requirement.name());
        assert_distinct(grants.global.iter());
        assert_distinct(grants.stream.iter());
        assert_distinct(grants.topic.iter());
        let used = Command::ALL.iter().any(|command| command.row().requirement == *requirement);
        assert!(used, "no command asks for {}", requirement.name());
    }
    let strangers: Vec<_> =
        Command::ALL.iter().filter(|command| command.row().requirement == Requirement::Nothing).collect();
    assert_eq!(strangers, [&Command::Ping]);
}

#[test]
fn errors() {
    assert_eq!(ErrorCode::ALL.len(), 240);
    assert!(ErrorCode::ALL.is_sorted_by(|one, next| one.code() < next.code()));
    assert_distinct(ErrorCode::ALL.iter().map(|error| error.name()));
    assert!(ErrorCode::ALL.iter().all(|error| ErrorCode::from_code(error.code()) == Some(*error)));
    assert_eq!(ErrorCode::from_code(17), None);
    assert_eq!(ErrorCode::from_code(1012), Some(ErrorCode::StreamNameAlreadyExists));
    assert_eq!(ErrorCode::StreamNameAlreadyExists.name(), "StreamNameAlreadyExists");
}

#[test]
fn evictions_and_exits() {
    assert!(EvictionReason::ALL.iter().map(|reason| reason.code()).eq(0..=15));
    assert_eq!(
        ExitStatus::ALL.iter().map(|status| status.code()).collect::<Vec<_>>(),
        [0, 65, 70, 74, 75, 78]
    );
    assert!(ExitStatus::ALL.iter().all(|status| status.sentence().ends_with('.')));
}

#[test]
fn metrics() {
    assert!(Metric::ALL.iter().map(|metric| metric.row().id).zip(0..).all(|(id, place)| id == place));
    assert_distinct(Metric::ALL.iter().map(|metric| metric.row().name));
    for metric in Metric::ALL {
        let row = metric.row();
        assert!(row.help.ends_with('.') && !row.help.contains('"'), "{}", row.name);
        assert!(row.labels.len() <= 2, "{}", row.name);
        assert_eq!(row.name.ends_with("_total"), row.kind == MetricKind::Counter, "{}", row.name);
        assert_eq!(row.scale.is_some(), row.kind == MetricKind::Histogram, "{}", row.name);
        assert!(row.scale.is_none_or(|scale| scale.bounds.is_sorted() && scale.bounds.len() <= 20));
    }
}

/// Every cell is reached by exactly one constructor, and label values land where the rows say.
#[test]
fn cells() {
    let plain = |metric: &Metric| metric.row().labels.is_empty() && metric.row().scale.is_none();
    let unlabelled = Metric::ALL.iter().filter(|metric| plain(metric)).map(|metric| Cell::of(*metric));
    let drops = FrameVariant::ALL
        .iter()
        .flat_map(|variant| DropReason::ALL.iter().map(|reason| Cell::frame_drop(*variant, *reason)));
    let closes = CloseReason::ALL.iter().map(|reason| Cell::close(*reason));
    let replies = ReplyOutcome::ALL.iter().map(|outcome| Cell::reply(*outcome));
    let logins = LoginOutcome::ALL.iter().map(|outcome| Cell::login(*outcome));
    let refusals = LoginRefusal::ALL.iter().map(|reason| Cell::login_refusal(*reason));
    let parts = MemoryPart::ALL.iter();
    let memory = parts.flat_map(|part| [Cell::memory_budget(*part), Cell::memory_used(*part)]);
    let classes = RequestClass::ALL.iter().map(|class| Cell::request_seconds(*class));
    let journal = [Metric::JournalSyncSeconds, Metric::JournalBlockBytes].map(|metric| (metric, 0));
    let journal = journal.map(|(metric, place)| HistogramCells::of(metric, place));
    let measured = classes.map(|cells| (cells, &SECONDS)).chain(journal.into_iter().zip([&SECONDS, &BYTES]));
    let measured = measured.flat_map(|(cells, scale)| {
        let beyond = scale.bounds.last().map_or(0, |last| last + 1);
        let buckets = scale.bounds.iter().copied().chain([beyond]).map(move |value| cells.bucket(value));
        buckets.chain([cells.sum()]).collect::<Vec<_>>()
    });
    let mut places: Vec<_> = unlabelled
        .chain(drops)
        .chain(closes)
        .chain(replies)
        .chain(logins)
        .chain(refusals)
        .chain(memory)
        .chain(measured)
        .map(Cell::index)
        .collect();
    places.sort_unstable();
    assert!(places.into_iter().eq(0..CELLS));

    let drop = Cell::frame_drop(FrameVariant::ClientAnswer, DropReason::Gone).index();
    assert_eq!(drop - Metric::FrameDrops.first_cell(), DropReason::ALL.len() + 1);
}

/// A bucket ends with its bound.
#[test]
fn a_value_at_a_bound_is_in_the_bucket_below() {
    let cells = Cell::request_seconds(RequestClass::Send);
    assert_eq!(cells.bucket(0), cells.bucket(50));
    assert_ne!(cells.bucket(50), cells.bucket(51));
    assert_eq!(cells.bucket(5_000_001), cells.bucket(u64::MAX));
    assert_ne!(cells.bucket(u64::MAX), cells.sum());
}

#[test]
fn every_command_has_the_class_of_what_it_asks_for() {
    let of = |class| Command::ALL.iter().filter(move |command| RequestClass::of(**command) == class);
    assert_eq!(of(RequestClass::Session).count(), 5);
    assert!(of(RequestClass::Metadata).all(|command| command.row().code >= 30));
    assert!(RequestClass::ALL.iter().all(|class| of(*class).next().is_some()));
}

/// Label values index their cells, so their codes have to count from zero without a gap.
#[test]
fn label_values_are_dense() {
    fn dense(codes: impl Iterator<Item = u8>) -> bool {
        codes.zip(0..).all(|(code, place)| code == place)
    }
    assert!(dense(FrameVariant::ALL.iter().map(|row| row.code())));
    assert!(dense(DropReason::ALL.iter().map(|row| row.code())));
    assert!(dense(CloseReason::ALL.iter().map(|row| row.code())));
    assert!(dense(ReplyOutcome::ALL.iter().map(|row| row.code())));
    assert!(dense(LoginOutcome::ALL.iter().map(|row| row.code())));
    assert!(dense(LoginRefusal::ALL.iter().map(|row| row.code())));
    assert!(dense(MemoryPart::ALL.iter().map(|row| row.code())));
    assert!(dense(RequestClass::ALL.iter().map(|row| row.code())));
}

#[test]
fn events() {
    assert_distinct(Event::ALL.iter().map(|event| event.code()));
    assert_distinct(Event::ALL.iter().map(|event| event.row().name));
    for event in Event::ALL {
        let row = event.row();
        assert!(row.fields.len() <= 2, "{}", row.name);
        let placeholders = row.message.split('{').skip(1).map(|rest| rest.split('}').next());
        let named: HashSet<_> = placeholders.flatten().collect();
        assert_eq!(named, row.fields.iter().copied().collect(), "{}", row.name);
    }
}

#[test]
fn topic_options() {
    assert!(TOPIC_OPTIONS.is_sorted_by_key(|option| option.key));
    assert_eq!(TOPIC_OPTIONS.len(), 9);
    assert!(TOPIC_OPTIONS.iter().all(|option| Name::new(option.key).is_some()));
}

#[test]
fn the_digest_covers_every_table() {
    let text = describe();
    for row in [
        "protocol 0.11.0 to 0.11.0",
        "operation 128 create_stream",
        "eviction 15 malformed_login",
        "error 1012 StreamNameAlreadyExists",
        "exit_status 78 configuration",
        "connection_closes_total",
        "displaced",
        "consumer_session.attach",
        "accept_paused",
        "preallocate_segments",
        "from_python (9, \"adopt\", ",
        "to_python (13, \"adopted\", ",
        "cut_end 4 full",
        "adoption_end 6 unsound",
        "reconcile_kind 5 purge",
        "reconcile_outcome 4 unknown_group",
        "fault 65282 misroute",
        "engine_value EngineValueRow { name: \"frame_time\"",
        "setting SettingRow { key: \"leases.group\"",
    ] {
        assert!(text.contains(row), "{row} is not described");
    }
    assert_eq!(text.lines().count(), text.lines().collect::<HashSet<_>>().len());
    assert_eq!(digest(), ng_wire::checksum::xxh3_64(text.as_bytes()));
}
