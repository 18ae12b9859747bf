//! Streams, topics and partitions as a stand-in for Python decides about them: the same rows, and little else.

use std::ops::Bound::Unbounded;

use ng_catalog::{
    Catalog, Compression, Counters, PartitionRow, RowKey, RowName, RowRef, StreamRow, TopicRow, deltas,
};
use ng_wire::primitive::{Reader, put_u8, put_u32, put_u64};
use ng_wire::replica::Level;
use ng_wire::request::{CreateStream, CreateTopic, PartitionsChange, StreamTarget, TopicTarget};
use ng_wire::table::error::ErrorCode;
use ng_wire::table::operation::Operation;

use super::request::STREAM;
use super::topic_limits::TopicLimits;

/// A topic takes the numbers of its partitions' groups in blocks of 2 to the power of this.
const BLOCK_BITS: u32 = 12;

/// What an operation came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The error that the client gets.
    result: u32,
    /// 0 nothing, 1 the stream, 2 the topic.
    reply: u8,
    stream: u32,
    topic: u32,
    revision: u64,
    pub(super) deltas: Vec<u8>,
    /// Groups that came or went.
    pub(super) touched: Vec<u64>,
}

impl Outcome {
    fn refused(error: ErrorCode) -> Self {
        Self { result: error.code(), ..Self::default() }
    }

    /// The body of an `APPLIED` record.
    pub(super) fn body(&self) -> Vec<u8> {
        let mut body = Vec::new();
        put_u32(&mut body, self.result);
        put_u8(&mut body, self.reply);
        put_u32(&mut body, self.stream);
        put_u32(&mut body, self.topic);
        put_u64(&mut body, self.revision);
        body.extend_from_slice(&self.deltas);
        body
    }
}

/// The rows.
#[derive(Debug)]
pub(super) struct Metadata {
    catalog: Catalog,
    /// Bytes after which segments of new topics are sealed.
    segment_bytes: u64,
}

impl Metadata {
    /// No rows.
    pub(super) fn new(segment_bytes: u64) -> Self {
        Self { catalog: Catalog::default(), segment_bytes }
    }

    /// Takes a piece of all rows.
    pub(super) fn load(&mut self, deltas: &[u8]) -> Result<(), String> {
        self.catalog.fold(deltas).map_err(|refusal| format!("rows that cannot be read: {refusal}"))
    }

    pub(super) fn revision(&self) -> u64 {
        self.catalog.counters().revision
    }

    /// The groups of all partitions, with their purge generations.
    pub(super) fn groups(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.catalog.rows(Unbounded).filter_map(|row| match row {
            RowRef::Partition(_, _, _, row) => Some((row.group, row.purge_generation)),
            RowRef::Counters(_)
            | RowRef::Stream(..)
            | RowRef::Topic(..)
            | RowRef::NextUser(_)
            | RowRef::User(..) => None,
        })
    }

    /// The group of a partition.
    pub(super) fn group_of(&self, topic: &str, partition: u32) -> Option<u64> {
        let stream = self.catalog.stream_named(STREAM)?;
        let topic = self.catalog.topic_named(stream, topic)?;
        self.catalog.partition(stream, topic, partition).map(|row| row.group)
    }

    /// Decides an operation, as its record has it: timestamp, client, operation, user, body.
    pub(super) fn apply(&mut self, record: &[u8]) -> Result<Outcome, String> {
        let mut reader = Reader::new(record);
        let mut read = || {
            let stamp = reader.u64()?;
            reader.u128()?;
            let operation = reader.u8()?;
            reader.u32()?;
            Ok((stamp, operation, reader.bytes(reader.remaining())?))
        };
        let (stamp, operation, body) =
            read().map_err(|fault: ng_wire::primitive::Malformed| format!("an operation: {fault:?}"))?;
        let outcome = match Operation::from_code(operation) {
            Some(Operation::CreateStream) => self.create_stream(stamp, body),
            Some(Operation::CreateTopic) => self.create_topic(stamp, body),
            Some(Operation::DeleteTopic) => self.delete_topic(body),
            Some(Operation::CreatePartitions) => self.create_partitions(stamp, body),
            Some(Operation::DeletePartitions) => self.delete_partitions(body),
            Some(Operation::PurgeTopic) => self.purge_topic(body),
            Some(Operation::PurgeStream) => self.purge_stream(body),
            _ => Err(ErrorCode::FeatureUnavailable),
        };
        let outcome = outcome.unwrap_or_else(Outcome::refused);
        self.catalog.fold(&outcome.deltas).map_err(|refusal| format!("rows of our own: {refusal}"))?;
        Ok(outcome)
    }

    fn create_stream(&self, stamp: u64, body: &[u8]) -> Result<Outcome, ErrorCode> {
        let request = CreateStream::decode(body).map_err(|_| ErrorCode::InvalidCommand)?;
        if self.catalog.stream_named(request.name).is_some() {
            return Err(ErrorCode::StreamNameAlreadyExists);
        }
        let stream = (0..).find(|stream| self.catalog.stream(*stream).is_none()).unwrap_or(0);
        let row = StreamRow {
            created_at: stamp,
            created_revision: self.revision(),
            name: RowName::new(request.name).ok_or(ErrorCode::InvalidCommand)?,
            options: Box::default(),
        };
        let mut outcome = Outcome { reply: 1, stream, ..Outcome::default() };
        deltas::put_row(&mut outcome.deltas, RowRef::Stream(stream, &row));
        Ok(outcome)
    }

    fn create_topic(&self, stamp: u64, body: &[u8]) -> Result<Outcome, ErrorCode> {
        let request = CreateTopic::decode(body).map_err(|_| ErrorCode::InvalidCommand)?;
        let stream = self.catalog.find_stream(request.stream).map_err(|_| ErrorCode::StreamIdNotFound)?;
        if self.catalog.topic_named(stream, request.name).is_some() {
            return Err(ErrorCode::TopicNameAlreadyExists);
        }
        let limits = TopicLimits::read(request.options).ok_or(ErrorCode::InvalidOptionValue)?;
        let topic = (0..).find(|topic| self.catalog.topic(stream, *topic).is_none()).unwrap_or(0);
        let mut counters = self.raised();
        let row = TopicRow {
            created_at: stamp,
            created_revision: counters.revision,
            message_expiry: limits.expiry,
            compression: Compression::None,
            max_topic_size: limits.bytes_max,
            segment_size: self.segment_bytes,
            durability: if request.name.ends_with('p') { Level::Persisted } else { Level::Replicated },
            consumer_offset_durability: Level::Replicated,
            next_group: 0,
            name: RowName::new(request.name).ok_or(ErrorCode::InvalidCommand)?,
            explicit_options: Box::default(),
            derived_options: Box::default(),
        };
        let mut outcome = Outcome { reply: 2, stream, topic, ..Outcome::default() };
        self.add(&mut outcome, &mut counters, row, 0..request.partitions, stamp);
        Ok(outcome)
    }

    fn create_partitions(&self, stamp: u64, body: &[u8]) -> Result<Outcome, ErrorCode> {
        let change = PartitionsChange::decode(body).map_err(|_| ErrorCode::InvalidCommand)?;
        let view = self.catalog.find_topic(change.target).map_err(|_| ErrorCode::TopicIdNotFound)?;
        let mut counters = self.raised();
        let mut outcome = Outcome { stream: view.stream, topic: view.topic, ..Outcome::default() };
        let partitions = view.partitions..view.partitions + change.count;
        self.add(&mut outcome, &mut counters, view.row.clone(), partitions, stamp);
        Ok(outcome)
    }

    /// Puts a topic with new partitions, each with a group that none ever had.
    fn add(
        &self,
        outcome: &mut Outcome,
        counters: &mut Counters,
        mut row: TopicRow,
        partitions: std::ops::Range<u32>,
        stamp: u64,
    ) {
        let mut groups = Vec::new();
        for partition in partitions {
            if row.next_group == 0 {
                let block = counters.next_block.max(1);
                counters.next_block = block + 1;
                row.next_group = block << BLOCK_BITS;
            }
            groups.push((partition, row.next_group));
            row.next_group += 1;
        }
        let (stream, topic) = (outcome.stream, outcome.topic);
        deltas::put_row(&mut outcome.deltas, RowRef::Topic(stream, topic, &row));
        for (partition, group) in groups {
            let row = PartitionRow {
                created_at: stamp,
                created_revision: counters.revision,
                group,
                purge_generation: 0,
            };
            deltas::put_row(&mut outcome.deltas, RowRef::Partition(stream, topic, partition, &row));
            outcome.touched.push(group);
        }
        Self::raise(outcome, *counters);
    }

    fn delete_topic(&self, body: &[u8]) -> Result<Outcome, ErrorCode> {
        let target = TopicTarget::decode(body).map_err(|_| ErrorCode::InvalidCommand)?;
        let view = self.catalog.find_topic(target).map_err(|_| ErrorCode::TopicIdNotFound)?;
        let (stream, topic) = (view.stream, view.topic);
        let touched = self.catalog.partitions_of(stream, topic).map(|(_, row)| row.group).collect();
        let mut outcome = Outcome { stream, topic, touched, ..Outcome::default() };
        deltas::put_delete(&mut outcome.deltas, RowKey::Topic { stream, topic });
        Self::raise(&mut outcome, self.raised());
        Ok(outcome)
    }

    fn delete_partitions(&self, body: &[u8]) -> Result<Outcome, ErrorCode> {
        let change = PartitionsChange::decode(body).map_err(|_| ErrorCode::InvalidCommand)?;
        let view = self.catalog.find_topic(change.target).map_err(|_| ErrorCode::TopicIdNotFound)?;
        let (stream, topic) = (view.stream, view.topic);
        let Some(first) = view.partitions.checked_sub(change.count) else {
            return Err(ErrorCode::InvalidPartitionsCount);
        };
        let mut outcome = Outcome { stream, topic, ..Outcome::default() };
        for partition in (first..view.partitions).rev() {
            let row = self.catalog.partition(stream, topic, partition).ok_or(ErrorCode::Error)?;
            outcome.touched.push(row.group);
            deltas::put_delete(&mut outcome.deltas, RowKey::Partition { stream, topic, partition });
        }
        Self::raise(&mut outcome, self.raised());
        Ok(outcome)
    }

    fn purge_topic(&self, body: &[u8]) -> Result<Outcome, ErrorCode> {
        let target = TopicTarget::decode(body).map_err(|_| ErrorCode::InvalidCommand)?;
        let view = self.catalog.find_topic(target).map_err(|_| ErrorCode::TopicIdNotFound)?;
        Ok(self.purged(view.stream, |topic| topic == view.topic))
    }

    fn purge_stream(&self, body: &[u8]) -> Result<Outcome, ErrorCode> {
        let target = StreamTarget::decode(body).map_err(|_| ErrorCode::InvalidCommand)?;
        let stream = self.catalog.find_stream(target.stream).map_err(|_| ErrorCode::StreamIdNotFound)?;
        Ok(self.purged(stream, |_| true))
    }

    /// Every partition of some topics of a stream begins anew.
    fn purged(&self, stream: u32, is_purged: impl Fn(u32) -> bool) -> Outcome {
        let mut outcome = Outcome { stream, ..Outcome::default() };
        for row in self.catalog.rows(Unbounded) {
            let RowRef::Partition(of, topic, partition, row) = row else { continue };
            if of != stream || !is_purged(topic) {
                continue;
            }
            let row = PartitionRow { purge_generation: row.purge_generation + 1, ..*row };
            deltas::put_row(&mut outcome.deltas, RowRef::Partition(stream, topic, partition, &row));
            outcome.touched.push(row.group);
        }
        if !outcome.touched.is_empty() {
            Self::raise(&mut outcome, self.raised());
        }
        outcome
    }

    fn raised(&self) -> Counters {
        let counters = self.catalog.counters();
        Counters { revision: counters.revision + 1, ..counters }
    }

    fn raise(outcome: &mut Outcome, counters: Counters) {
        outcome.revision = counters.revision;
        deltas::put_row(&mut outcome.deltas, RowRef::Counters(counters));
    }
}
