//! The state machine of the metadata group: decides sessions itself, and asks Python for everything else.

use std::collections::VecDeque;
use std::ops::Bound::{self, Included, Unbounded};
use std::sync::Arc;

use ng_catalog::replies::{JustMade, put_stream, put_topic, put_user};
use ng_catalog::{Catalog, RowKey, snapshot};
use ng_control::applied::Applied;
use ng_control::record::{Record, RingFull};
use ng_control::rows_update::RowsUpdate;
use ng_control::shard_id::ShardId;
use ng_replication::{Executed, MetadataMachine};
use ng_session::sessions::Sessions;
use ng_wire::primitive::{Malformed, Reader, put_bytes32, put_u32, put_u64, put_u128};
use ng_wire::replica::{LogOperation, PrepareHeader};
use ng_wire::table::record::{ReplyKind, ToPython};
use thiserror::Error;

/// Maximum operations in progress, and their bytes. Later ones wait in the journal.
const TAKEN_MAX: usize = 64;
const TAKEN_BYTES_MAX: usize = 256 * 1024;

/// Maximum bytes of rows in one record.
const PIECE_BYTES: usize = 32 * 1024;

/// Reason why an answer of Python is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Misapplied {
    /// The answer is for another operation, or one that was not sent yet.
    #[error("the control plane answered metadata operation {0} out of order")]
    OutOfTurn(u64),
    /// The deltas are malformed.
    #[error("the control plane sent malformed changes for metadata operation {0}")]
    Deltas(u64),
}

/// An operation without a collected result.
#[derive(Debug)]
struct Taken {
    header: PrepareHeader,
    bytes: usize,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// A login or logout with its body. It is decided here.
    Session(Vec<u8>),
    /// An operation to be sent to Python, with its body.
    Waiting(Vec<u8>),
    /// Python has received the operation.
    Asked,
    /// The reply.
    Decided(Vec<u8>),
}

/// Sessions, rows, and operations in progress between them and Python.
#[derive(Debug)]
pub struct MetadataPlane {
    sessions: Sessions,
    catalog: Catalog,
    taken: VecDeque<Taken>,
    taken_bytes: usize,
    /// Operation that the rows reflect.
    op: u64,
    /// Position up to which Python has received the rows; `None` once it has all.
    loading: Option<Bound<RowKey>>,
    updates: Vec<RowsUpdate>,
}

impl MetadataPlane {
    /// An empty state for at most `session_slots` sessions.
    #[must_use]
    pub fn new(session_slots: usize) -> Self {
        Self {
            sessions: Sessions::new(session_slots),
            catalog: Catalog::default(),
            taken: VecDeque::new(),
            taken_bytes: 0,
            op: 0,
            loading: Some(Unbounded),
            updates: Vec::new(),
        }
    }

    /// Changes that the mirrors have not received, oldest first.
    pub fn take_updates(&mut self) -> Vec<RowsUpdate> {
        std::mem::take(&mut self.updates)
    }

    /// Python has all rows and all operations.
    #[must_use]
    pub fn is_handed_over(&self) -> bool {
        self.loading.is_none() && !self.taken.iter().any(|taken| matches!(taken.stage, Stage::Waiting(_)))
    }

    /// Sends rows and operations to Python while the ring has room.
    pub fn hand_over(
        &mut self,
        mut push: impl FnMut(&Record<'_>) -> Result<(), RingFull>,
    ) -> Result<(), RingFull> {
        while let Some(from) = self.loading {
            let mut body = vec![0];
            let next = self.catalog.put_piece(from, PIECE_BYTES, &mut body);
            body[0] = u8::from(next.is_none());
            push(&record(ToPython::Rows, self.op, &body))?;
            self.loading = next.map(Included);
        }
        for taken in &mut self.taken {
            if let Stage::Waiting(body) = &taken.stage {
                push(&record(ToPython::Apply, taken.header.op.0, body))?;
                taken.stage = Stage::Asked;
            }
        }
        Ok(())
    }

    /// Takes a decision of Python. Python decides in the order of the operations.
    pub fn applied(&mut self, op: u64, answer: &Applied<'_>) -> Result<(), Misapplied> {
        let first_asked = self.taken.iter_mut().find(|taken| matches!(taken.stage, Stage::Asked));
        let Some(asked) = first_asked.filter(|taken| taken.header.op.0 == op) else {
            return Err(Misapplied::OutOfTurn(op));
        };
        if !answer.deltas.is_empty() {
            self.catalog.fold(answer.deltas).map_err(|_| Misapplied::Deltas(op))?;
            self.updates.push(RowsUpdate { op, fresh: false, deltas: Arc::from(answer.deltas) });
        }
        self.op = op;
        asked.stage = Stage::Decided(reply(answer, &self.catalog));
        Ok(())
    }

    fn take(&mut self, header: &PrepareHeader, bytes: usize, stage: Stage) {
        self.taken_bytes += bytes;
        self.taken.push_back(Taken { header: *header, bytes, stage });
    }
}

/// The parts of a snapshot: operation of the rows, sessions, rows.
fn parts(bytes: &[u8]) -> Result<(u64, &[u8], &[u8]), Malformed> {
    let mut reader = Reader::new(bytes);
    let op = reader.u64()?;
    let length = reader.u32()?;
    Ok((op, reader.bytes(length as usize)?, reader.bytes(reader.remaining())?))
}

/// A reply for the client table: result, revision to converge on, payload.
fn reply(answer: &Applied<'_>, catalog: &Catalog) -> Vec<u8> {
    let mut reply = Vec::new();
    put_u32(&mut reply, answer.result);
    put_u64(&mut reply, answer.revision);
    if answer.result == 0 {
        match answer.reply {
            ReplyKind::Empty => {}
            ReplyKind::Stream => put_stream(&mut reply, catalog, &JustMade, answer.stream),
            ReplyKind::Topic => put_topic(&mut reply, catalog, &JustMade, answer.stream, answer.topic),
            ReplyKind::User => put_user(&mut reply, catalog, answer.stream),
        }
    }
    reply
}

fn record(kind: ToPython, token: u64, body: &[u8]) -> Record<'_> {
    Record { kind: kind.code(), shard: ShardId::FIRST.0, token, body }
}

impl MetadataMachine for MetadataPlane {
    fn has_room(&self) -> bool {
        self.taken.len() < TAKEN_MAX && self.taken_bytes < TAKEN_BYTES_MAX
    }

    fn execute(&mut self, header: &PrepareHeader, body: &[u8]) {
        if LogOperation::from_code(header.operation) != Some(LogOperation::Metadata) {
            self.take(header, body.len(), Stage::Session(body.to_vec()));
            return;
        }
        let mut asked = Vec::with_capacity(24 + body.len());
        put_u64(&mut asked, header.timestamp);
        put_u128(&mut asked, header.client);
        asked.extend_from_slice(body);
        self.take(header, asked.len(), Stage::Waiting(asked));
    }

    fn executed(&mut self) -> Option<Executed> {
        if matches!(self.taken.front()?.stage, Stage::Waiting(_) | Stage::Asked) {
            return None;
        }
        let Taken { header, bytes, stage } = self.taken.pop_front()?;
        self.taken_bytes -= bytes;
        // Sessions change only when a result is collected, so that a snapshot reflects exactly one operation.
        let reply = match stage {
            Stage::Session(body) => self.sessions.apply(&header, &body),
            Stage::Decided(reply) => {
                self.sessions.touch(header.client, header.op.0);
                reply
            }
            Stage::Waiting(_) | Stage::Asked => unreachable!("looked at above"),
        };
        Some(Executed { header, reply })
    }

    fn snapshot(&self, into: &mut Vec<u8>) {
        let mut sessions = Vec::new();
        self.sessions.encode(&mut sessions);
        put_u64(into, self.op);
        put_bytes32(into, &sessions);
        snapshot::encode(&self.catalog, into);
    }

    fn install(&mut self, bytes: &[u8]) -> bool {
        let Ok((op, sessions, rows)) = parts(bytes) else { return false };
        let Ok(catalog) = snapshot::decode(rows) else { return false };
        if !self.sessions.install(sessions) {
            return false;
        }
        let mut rows = Vec::new();
        catalog.put_piece(Unbounded, usize::MAX, &mut rows);
        self.op = op;
        self.catalog = catalog;
        self.taken.clear();
        self.taken_bytes = 0;
        self.loading = Some(Unbounded);
        self.updates.clear();
        self.updates.push(RowsUpdate { op: self.op, fresh: true, deltas: rows.into() });
        true
    }
}

#[cfg(test)]
mod tests {
    use ng_catalog::{RowName, RowRef, StreamRow, deltas};
    use ng_wire::replica::Op;

    use super::*;
    use ng_control::metadata_reply::MetadataReply;
    use ng_replication::owner::METADATA;

    fn header(operation: LogOperation, op: u64) -> PrepareHeader {
        PrepareHeader {
            operation: operation.code(),
            client: 7,
            op: Op(op),
            ..PrepareHeader::root(METADATA, 1)
        }
    }

    fn stream(id: u32, name: &str) -> Vec<u8> {
        let name = RowName::new(name).expect("short");
        let row = StreamRow { created_at: 1, created_revision: 0, name, options: Box::default() };
        let mut bytes = Vec::new();
        deltas::put_row(&mut bytes, RowRef::Stream(id, &row));
        bytes
    }

    fn created(id: u32, deltas: &[u8]) -> Applied<'_> {
        Applied { result: 0, reply: ReplyKind::Stream, stream: id, topic: 0, revision: 0, deltas }
    }

    /// Records sent to Python: kind, token, body.
    fn handed_over(plane: &mut MetadataPlane) -> Vec<(u16, u64, Vec<u8>)> {
        let mut records = Vec::new();
        let handed = plane.hand_over(|record| {
            records.push((record.kind, record.token, record.body.to_vec()));
            Ok(())
        });
        handed.expect("there is always room");
        records
    }

    fn results(plane: &mut MetadataPlane) -> Vec<u64> {
        std::iter::from_fn(|| plane.executed()).map(|executed| executed.header.op.0).collect()
    }

    #[test]
    fn python_gets_the_rows_first_and_operations_in_order() {
        let mut plane = MetadataPlane::new(4);
        plane.execute(&header(LogOperation::Metadata, 1), b"one");
        plane.execute(&header(LogOperation::Metadata, 2), b"two");
        let records = handed_over(&mut plane);
        let kinds: Vec<_> = records.iter().map(|(kind, token, _)| (*kind, *token)).collect();
        assert_eq!(
            kinds,
            [(ToPython::Rows.code(), 0), (ToPython::Apply.code(), 1), (ToPython::Apply.code(), 2)]
        );
        assert_eq!(records[0].2, [1], "no rows, and that was all");
        assert!(records[1].2.ends_with(b"one") && records[2].2.ends_with(b"two"));
        assert!(plane.is_handed_over() && handed_over(&mut plane).is_empty());
    }

    #[test]
    fn a_full_ring_is_tried_again_where_it_ended() {
        let mut plane = MetadataPlane::new(4);
        plane.execute(&header(LogOperation::Metadata, 1), b"one");
        let mut room = 1;
        let mut seen = Vec::new();
        for _ in 0..3 {
            let pushed = plane.hand_over(|record| {
                if room == 0 {
                    return Err(RingFull);
                }
                room -= 1;
                seen.push(record.kind);
                Ok(())
            });
            room = usize::from(pushed.is_err());
        }
        assert_eq!(seen, [ToPython::Rows.code(), ToPython::Apply.code()]);
    }

    #[test]
    fn results_follow_the_order_of_the_log() {
        let mut plane = MetadataPlane::new(4);
        plane.execute(&header(LogOperation::Register, 1), &[0; 4]);
        plane.execute(&header(LogOperation::Metadata, 2), b"x");
        plane.execute(&header(LogOperation::Logout, 3), &[]);
        handed_over(&mut plane);
        assert_eq!(results(&mut plane), [1], "the logout waits for the earlier operation");
        plane.applied(2, &created(0, &stream(0, "s"))).expect("it was asked");
        assert_eq!(results(&mut plane), [2, 3]);
    }

    #[test]
    fn an_answer_out_of_turn_is_a_fault() {
        let mut plane = MetadataPlane::new(4);
        plane.execute(&header(LogOperation::Metadata, 1), b"x");
        let rows = stream(0, "s");
        assert_eq!(plane.applied(1, &created(0, &rows)), Err(Misapplied::OutOfTurn(1)), "not asked yet");
        handed_over(&mut plane);
        assert_eq!(plane.applied(2, &created(0, &rows)), Err(Misapplied::OutOfTurn(2)));
        assert_eq!(plane.applied(1, &created(0, &[9])), Err(Misapplied::Deltas(1)));
        assert_eq!(plane.applied(1, &created(0, &rows)), Ok(()));
        assert_eq!(plane.applied(1, &created(0, &rows)), Err(Misapplied::OutOfTurn(1)));
    }

    #[test]
    fn no_more_is_taken_than_python_may_have() {
        let mut plane = MetadataPlane::new(4);
        for op in 1..=TAKEN_MAX as u64 {
            assert!(plane.has_room());
            plane.execute(&header(LogOperation::Metadata, op), b"x");
        }
        assert!(!plane.has_room());
        handed_over(&mut plane);
        plane.applied(1, &created(0, &stream(0, "s"))).expect("it was asked");
        assert_eq!(results(&mut plane), [1]);
        assert!(plane.has_room());
        plane.execute(&header(LogOperation::Metadata, 999), &[0; TAKEN_BYTES_MAX]);
        assert!(!plane.has_room());
    }

    #[test]
    fn a_snapshot_is_of_the_last_result_and_starts_another_plane() {
        let mut plane = MetadataPlane::new(4);
        plane.execute(&header(LogOperation::Register, 1), &[0; 4]);
        plane.execute(&header(LogOperation::Metadata, 2), b"x");
        handed_over(&mut plane);
        plane.applied(2, &created(5, &stream(5, "kept"))).expect("it was asked");
        assert_eq!(results(&mut plane), [1, 2]);
        let mut bytes = Vec::new();
        plane.snapshot(&mut bytes);
        let mut other = MetadataPlane::new(4);
        for length in 0..bytes.len() {
            assert!(!other.install(&bytes[..length]), "{length} bytes");
        }
        assert!(other.install(&bytes));
        let updates = other.take_updates();
        assert!(matches!(&updates[..], [update] if update.fresh && update.op == 2));
        let records = handed_over(&mut other);
        assert_eq!(records[0].2[1..], stream(5, "kept"));
        let mut again = Vec::new();
        other.snapshot(&mut again);
        assert_eq!(again, bytes);
    }

    #[test]
    fn a_reply_contains_the_revision_it_waits_for() {
        let answer =
            Applied { result: 1012, reply: ReplyKind::Empty, stream: 0, topic: 0, revision: 3, deltas: &[] };
        let bytes = reply(&answer, &Catalog::default());
        assert_eq!(
            MetadataReply::decode(&bytes),
            Ok(MetadataReply { result: 1012, revision: 3, payload: &[] })
        );
        assert!(MetadataReply::decode(&bytes[..11]).is_err());
    }
}
