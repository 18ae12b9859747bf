//! Requests that wait for their replies, and what each reply may say.

use ng_wire::table::error::ErrorCode;

use super::model::{Model, Place, Standing, payload};
use super::reach::Reach;
use super::reply::{self, Answer};
use super::request::{From, Request};
use super::stored::Stored;
use crate::node::MILLI;

/// What was asked, with what was known then.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    Login,
    Ping,
    CreateStream,
    CreateTopic { topic: u32, partitions: u32 },
    DeleteTopic { topic: u32 },
    CreatePartitions { topic: u32, count: u32 },
    DeletePartitions { topic: u32, count: u32 },
    GetTopic { topic: u32, standing: Standing },
    Send { place: Place, messages: Vec<u64>, bytes: Vec<usize>, stamp: u64 },
    Poll(Poll),
    Store { place: Place, consumer: u32, offset: u64, quorum: bool, outlived: bool },
    Get { place: Place, consumer: u32, absent: bool },
    DeleteOffset { place: Place, consumer: u32, before: Stored, quorum: bool, outlived: bool },
    PurgeTopic { topic: u32, asked: u64 },
    PurgeStream { topics: Vec<u32>, asked: u64 },
    DeleteSegments { place: Place, count: u32 },
}

/// A poll, with what was known of the partition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Poll {
    pub(super) place: Place,
    pub(super) consumer: u32,
    pub(super) from: From,
    pub(super) count: u32,
    pub(super) auto_commit: bool,
    /// The highest offset that could be read.
    pub(super) readable_to: Option<u64>,
    /// The first offset that was left.
    pub(super) begins_at: u64,
    /// When, on the clock of the world.
    pub(super) asked: u64,
}

/// Nanoseconds after which a command may be answered before every shard stands where it took them.
const CONVERGENCE: u64 = 2_000 * MILLI;

impl Asked {
    /// The request.
    pub(super) fn request(&self, model: &Model) -> Request {
        let name = |topic: &u32| model.topic(*topic).name.clone();
        match self {
            Self::Login => Request::Login,
            Self::Ping => Request::Ping,
            Self::CreateStream => Request::CreateStream,
            Self::CreateTopic { topic, partitions } => {
                let limits = model.topic(*topic).limits;
                Request::CreateTopic { topic: name(topic), partitions: *partitions, limits }
            }
            Self::DeleteTopic { topic } => Request::DeleteTopic { topic: name(topic) },
            Self::CreatePartitions { topic, count } => {
                Request::CreatePartitions { topic: name(topic), count: *count }
            }
            Self::DeletePartitions { topic, count } => {
                Request::DeletePartitions { topic: name(topic), count: *count }
            }
            Self::GetTopic { topic, .. } => Request::GetTopic { topic: name(topic) },
            Self::Send { place, messages, bytes, stamp } => Request::Send {
                topic: name(&place.topic),
                partition: place.partition,
                stamp: *stamp,
                payloads: messages
                    .iter()
                    .zip(bytes)
                    .map(|(message, bytes)| payload(*message, *bytes))
                    .collect(),
            },
            Self::Poll(poll) => Request::Poll {
                topic: name(&poll.place.topic),
                partition: poll.place.partition,
                consumer: poll.consumer,
                from: poll.from,
                count: poll.count,
                auto_commit: poll.auto_commit,
            },
            Self::Store { place, consumer, offset, quorum, .. } => Request::StoreOffset {
                topic: name(&place.topic),
                partition: place.partition,
                consumer: *consumer,
                offset: *offset,
                quorum: *quorum,
            },
            Self::Get { place, consumer, .. } => Request::GetOffset {
                topic: name(&place.topic),
                partition: place.partition,
                consumer: *consumer,
            },
            Self::DeleteOffset { place, consumer, quorum, .. } => Request::DeleteOffset {
                topic: name(&place.topic),
                partition: place.partition,
                consumer: *consumer,
                quorum: *quorum,
            },
            Self::PurgeTopic { topic, .. } => Request::PurgeTopic { topic: name(topic) },
            Self::PurgeStream { .. } => Request::PurgeStream,
            Self::DeleteSegments { place, count } => Request::DeleteSegments {
                topic: name(&place.topic),
                partition: place.partition,
                count: *count,
            },
        }
    }

    /// The topics that it changes.
    fn changes(&self) -> &[u32] {
        match self {
            Self::CreateTopic { topic, .. }
            | Self::DeleteTopic { topic }
            | Self::CreatePartitions { topic, .. }
            | Self::DeletePartitions { topic, .. }
            | Self::PurgeTopic { topic, .. } => std::slice::from_ref(topic),
            Self::PurgeStream { topics, .. } => topics,
            Self::Login
            | Self::Ping
            | Self::CreateStream
            | Self::GetTopic { .. }
            | Self::Send { .. }
            | Self::Poll(_)
            | Self::Store { .. }
            | Self::Get { .. }
            | Self::DeleteOffset { .. }
            | Self::DeleteSegments { .. } => &[],
        }
    }

    /// The partition that it is about.
    const fn place(&self) -> Option<Place> {
        match self {
            Self::Poll(Poll { place, .. })
            | Self::Send { place, .. }
            | Self::Store { place, .. }
            | Self::Get { place, .. }
            | Self::DeleteOffset { place, .. }
            | Self::DeleteSegments { place, .. } => Some(*place),
            Self::Login
            | Self::Ping
            | Self::CreateStream
            | Self::CreateTopic { .. }
            | Self::DeleteTopic { .. }
            | Self::CreatePartitions { .. }
            | Self::DeletePartitions { .. }
            | Self::GetTopic { .. }
            | Self::PurgeTopic { .. }
            | Self::PurgeStream { .. } => None,
        }
    }

    /// The consumer whose offset it may change.
    const fn writes(&self) -> Option<(Place, u32)> {
        match self {
            Self::Poll(Poll { place, consumer, auto_commit: true, .. })
            | Self::Store { place, consumer, .. }
            | Self::DeleteOffset { place, consumer, .. } => Some((*place, *consumer)),
            _ => None,
        }
    }

    /// It will never be answered: whether it was done is not known.
    pub(super) fn lost(&self, model: &mut Model) {
        for topic in self.changes() {
            model.topic_mut(*topic).standing = Standing::Unknown;
        }
        if let Self::PurgeStream { .. } = self {
            model.stream_is_purged = false;
        }
        if let Self::Poll(Poll { place, consumer, auto_commit: true, .. }) = self
            && let Some(partition) = model.partition_mut(*place)
        {
            partition.consumers.entry(*consumer).or_default().may_be(u64::MAX);
        }
    }

    /// The process is gone: an answer that arrives all the same promises only what lasts.
    pub(super) fn outlive(&mut self, model: &mut Model) {
        if matches!(self, Self::Poll(_)) {
            self.lost(model);
        }
        match self {
            Self::Poll(Poll { auto_commit, .. }) => *auto_commit = false,
            Self::Store { outlived, .. } | Self::DeleteOffset { outlived, .. } => *outlived = true,
            Self::Login
            | Self::Ping
            | Self::CreateStream
            | Self::CreateTopic { .. }
            | Self::DeleteTopic { .. }
            | Self::CreatePartitions { .. }
            | Self::DeletePartitions { .. }
            | Self::GetTopic { .. }
            | Self::Send { .. }
            | Self::Get { .. }
            | Self::PurgeTopic { .. }
            | Self::PurgeStream { .. }
            | Self::DeleteSegments { .. } => {}
        }
    }

    /// Holds the answer against what is known. Whether it was done.
    pub(super) fn answered(&self, answer: &Answer, model: &mut Model) -> Result<bool, String> {
        if let Some((place, consumer)) = self.writes().filter(|(place, _)| !model.must_exist(*place)) {
            model.consumer_is_unsure(place, consumer);
        }
        match answer {
            Answer::Evicted(_) => {
                self.lost(model);
                Ok(false)
            }
            Answer::Refused(error) => {
                self.refused(*error, model)?;
                Ok(false)
            }
            Answer::Done(body) => {
                self.done(body, model).map_err(|what| format!("{what} (asked for {self:?})"))?;
                model.done += 1;
                Ok(true)
            }
        }
    }

    fn refused(&self, error: ErrorCode, model: &mut Model) -> Result<(), String> {
        match self {
            Self::CreateStream if error == ErrorCode::StreamNameAlreadyExists => {
                model.stream_exists = true;
                return Ok(());
            }
            Self::CreateTopic { topic, .. } => model.topic_mut(*topic).standing = Standing::Unknown,
            Self::DeleteTopic { .. }
            | Self::CreatePartitions { .. }
            | Self::DeletePartitions { .. }
            | Self::PurgeTopic { .. }
            | Self::PurgeStream { .. } => self.not_changed(error, model),
            Self::DeleteOffset { .. } => self.not_deleted(error, model),
            Self::CreateStream
            | Self::Login
            | Self::Ping
            | Self::GetTopic { .. }
            | Self::Send { .. }
            | Self::Poll(_)
            | Self::Store { .. }
            | Self::Get { .. }
            | Self::DeleteSegments { .. } => {}
        }
        let must_exist = self.place().is_none_or(|place| model.must_exist(place));
        let may_be = match error {
            ErrorCode::TransientNotAccepted | ErrorCode::TransientNotCommitted => true,
            ErrorCode::ResourceNotFound
            | ErrorCode::StreamIdNotFound
            | ErrorCode::TopicIdNotFound
            | ErrorCode::PartitionNotFound => !must_exist,
            // The offset that it names was purged.
            ErrorCode::InvalidOffset => !must_exist && matches!(self, Self::Store { .. }),
            ErrorCode::InvalidBatchChecksum
            | ErrorCode::InvalidMessageChecksum
            | ErrorCode::CannotReadMessage => self.is_excused(model),
            ErrorCode::ConsumerOffsetNotFound => match self {
                Self::DeleteOffset { before, .. } => !must_exist || before.live.is_none(),
                _ => false,
            },
            _ => false,
        };
        if may_be { Ok(()) } else { Err(format!("{self:?} is refused: {error:?}")) }
    }

    /// A poll is refused as damaged: whether a damaged file may be what it reads.
    fn is_excused(&self, model: &mut Model) -> bool {
        let Self::Poll(Poll { place, .. }) = self else { return false };
        let is_excused = model.excused.contains(place);
        if is_excused {
            model.refused.insert(*place);
            model.poll_is_refused = true;
        }
        is_excused
    }

    /// A change was refused: not taken, or nobody knows.
    fn not_changed(&self, error: ErrorCode, model: &mut Model) {
        if let Self::PurgeStream { .. } = self {
            model.stream_is_purged = false;
        }
        for number in self.changes() {
            let topic = model.topic_mut(*number);
            topic.busy = false;
            if error != ErrorCode::TransientNotAccepted {
                topic.standing = Standing::Unknown;
                continue;
            }
            topic.standing = Standing::Exists;
            for partition in &mut topic.partitions {
                partition.standing = Standing::Exists;
            }
        }
    }

    /// An offset was not deleted: there is none, it is still there, or nobody knows.
    fn not_deleted(&self, error: ErrorCode, model: &mut Model) {
        let Self::DeleteOffset { place, consumer, before, quorum, outlived } = self else { return };
        let Some(partition) = model.partition_mut(*place) else { return };
        let stored = partition.consumers.entry(*consumer).or_default();
        match error {
            ErrorCode::TransientNotAccepted => stored.not_deleted(*before, *outlived),
            ErrorCode::ConsumerOffsetNotFound if !outlived => stored.deleted(*quorum),
            _ => {}
        }
    }

    /// A topic, or all of them, was purged. One that took too long may have been answered before it was.
    fn purged(&self, asked: u64, model: &mut Model) {
        let is_done = model.now < asked + CONVERGENCE;
        for topic in self.changes() {
            if is_done {
                model.purge(*topic);
                model.topic_mut(*topic).busy = false;
            } else {
                model.topic_mut(*topic).standing = Standing::Unknown;
            }
        }
        if is_done {
            let is_stream = matches!(self, Self::PurgeStream { .. });
            model.reached.saw(if is_stream { Reach::StreamPurged } else { Reach::TopicPurged });
        }
    }

    fn done(&self, body: &[u8], model: &mut Model) -> Result<(), String> {
        let short = |fault| format!("a reply that cannot be read: {fault:?}");
        match self {
            Self::Login | Self::Ping => {}
            Self::CreateStream => model.stream_exists = true,
            Self::CreateTopic { topic, partitions } => {
                model.add_partitions(*topic, *partitions);
                let topic = model.topic_mut(*topic);
                (topic.standing, topic.busy) = (Standing::Exists, false);
            }
            Self::DeleteTopic { topic } => {
                model.bury(*topic, 0);
                model.topic_mut(*topic).standing = Standing::Gone;
                model.reached.saw(Reach::TopicDeleted);
            }
            Self::CreatePartitions { topic, count } => {
                model.add_partitions(*topic, *count);
                model.topic_mut(*topic).busy = false;
            }
            Self::DeletePartitions { topic, count } => {
                let left = model.topic(*topic).partitions.len() - *count as usize;
                model.bury(*topic, left);
                model.topic_mut(*topic).busy = false;
                model.reached.saw(Reach::PartitionsDeleted);
            }
            Self::PurgeTopic { asked, .. } => self.purged(*asked, model),
            Self::PurgeStream { asked, .. } => {
                model.stream_is_purged = false;
                self.purged(*asked, model);
            }
            Self::DeleteSegments { .. } => model.reached.saw(Reach::SegmentsDeleted),
            Self::GetTopic { topic, standing } => {
                let topic = model.topic(*topic);
                let stayed = (*standing, topic.standing) == (Standing::Exists, Standing::Exists);
                if stayed && body.is_empty() {
                    return Err(format!("topic {} is gone", topic.name));
                }
                if *standing == Standing::Gone && !body.is_empty() {
                    return Err(format!("topic {} is there again", topic.name));
                }
            }
            Self::Send { place, messages, .. } => {
                let base = reply::base_offset(body).map_err(short)?;
                model.acknowledge(*place, base, messages)?;
            }
            Self::Poll(poll) => poll.polled(body, model)?,
            Self::Store { outlived: true, quorum: false, .. }
            | Self::DeleteOffset { outlived: true, quorum: false, .. } => {}
            Self::Store { place, consumer, offset, quorum, .. } => {
                if let Some(partition) = model.partition_mut(*place) {
                    partition.consumers.entry(*consumer).or_default().store(*offset, *quorum);
                }
            }
            Self::DeleteOffset { place, consumer, quorum, .. } => {
                if let Some(partition) = model.partition_mut(*place) {
                    partition.consumers.entry(*consumer).or_default().deleted(*quorum);
                }
                model.reached.saw(Reach::OffsetDeleted);
            }
            Self::Get { place, consumer, absent } => {
                let found = reply::stored_offset(body).map_err(short)?;
                model.check_stored(found, *place, *consumer)?;
                if *absent && found.is_none() {
                    model.reached.saw(Reach::OffsetAbsent);
                }
            }
        }
        Ok(())
    }
}
