//! Requests that wait for their replies, and what each reply may say.

use ng_wire::table::error::ErrorCode;

use super::model::{Model, Place, Standing, payload};
use super::reply::{self, Answer};
use super::request::{From, Request};

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
    Poll { place: Place, consumer: u32, from: From, count: u32, auto_commit: bool, readable_to: Option<u64> },
    Store { place: Place, consumer: u32, offset: u64, quorum: bool, outlived: bool },
    Get { place: Place, consumer: u32 },
}

impl Asked {
    /// The request.
    pub(super) fn request(&self, model: &Model) -> Request {
        let name = |topic: &u32| model.topic(*topic).name.clone();
        match self {
            Self::Login => Request::Login,
            Self::Ping => Request::Ping,
            Self::CreateStream => Request::CreateStream,
            Self::CreateTopic { topic, partitions } => {
                Request::CreateTopic { topic: name(topic), partitions: *partitions }
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
            Self::Poll { place, consumer, from, count, auto_commit, .. } => Request::Poll {
                topic: name(&place.topic),
                partition: place.partition,
                consumer: *consumer,
                from: *from,
                count: *count,
                auto_commit: *auto_commit,
            },
            Self::Store { place, consumer, offset, quorum, .. } => Request::StoreOffset {
                topic: name(&place.topic),
                partition: place.partition,
                consumer: *consumer,
                offset: *offset,
                quorum: *quorum,
            },
            Self::Get { place, consumer } => Request::GetOffset {
                topic: name(&place.topic),
                partition: place.partition,
                consumer: *consumer,
            },
        }
    }

    /// The topic that it changes.
    const fn changes(&self) -> Option<u32> {
        match self {
            Self::CreateTopic { topic, .. }
            | Self::DeleteTopic { topic }
            | Self::CreatePartitions { topic, .. }
            | Self::DeletePartitions { topic, .. } => Some(*topic),
            Self::Login
            | Self::Ping
            | Self::CreateStream
            | Self::GetTopic { .. }
            | Self::Send { .. }
            | Self::Poll { .. }
            | Self::Store { .. }
            | Self::Get { .. } => None,
        }
    }

    /// It will never be answered: whether it was done is not known.
    pub(super) fn lost(&self, model: &mut Model) {
        if let Some(topic) = self.changes() {
            model.topic_mut(topic).standing = Standing::Unknown;
        }
        if let Self::Poll { place, consumer, auto_commit: true, .. } = self
            && let Some(partition) = model.partition_mut(*place)
        {
            partition.consumers.entry(*consumer).or_default().most = Some(u64::MAX);
        }
    }

    /// The process is gone: an answer that arrives all the same promises only what lasts.
    pub(super) fn outlive(&mut self, model: &mut Model) {
        if matches!(self, Self::Poll { .. }) {
            self.lost(model);
        }
        match self {
            Self::Poll { auto_commit, .. } => *auto_commit = false,
            Self::Store { outlived, .. } => *outlived = true,
            Self::Login
            | Self::Ping
            | Self::CreateStream
            | Self::CreateTopic { .. }
            | Self::DeleteTopic { .. }
            | Self::CreatePartitions { .. }
            | Self::DeletePartitions { .. }
            | Self::GetTopic { .. }
            | Self::Send { .. }
            | Self::Get { .. } => {}
        }
    }

    /// Holds the answer against what is known. Whether it was done.
    pub(super) fn answered(&self, answer: &Answer, model: &mut Model) -> Result<bool, String> {
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
            Self::DeleteTopic { topic }
            | Self::CreatePartitions { topic, .. }
            | Self::DeletePartitions { topic, .. } => {
                self.not_changed(*topic, error, model);
            }
            Self::CreateStream
            | Self::Login
            | Self::Ping
            | Self::GetTopic { .. }
            | Self::Send { .. }
            | Self::Poll { .. }
            | Self::Store { .. }
            | Self::Get { .. } => {}
        }
        let is_missing = matches!(
            error,
            ErrorCode::ResourceNotFound
                | ErrorCode::StreamIdNotFound
                | ErrorCode::TopicIdNotFound
                | ErrorCode::PartitionNotFound
        );
        let is_busy = matches!(error, ErrorCode::TransientNotAccepted | ErrorCode::TransientNotCommitted);
        let must_exist = match self {
            Self::Send { place, .. }
            | Self::Poll { place, .. }
            | Self::Store { place, .. }
            | Self::Get { place, .. } => model.must_exist(*place),
            Self::Login
            | Self::Ping
            | Self::CreateStream
            | Self::CreateTopic { .. }
            | Self::DeleteTopic { .. }
            | Self::CreatePartitions { .. }
            | Self::DeletePartitions { .. }
            | Self::GetTopic { .. } => true,
        };
        if is_busy || (is_missing && !must_exist) {
            return Ok(());
        }
        Err(format!("{self:?} is refused: {error:?}"))
    }

    /// A change was refused: not taken, or nobody knows.
    fn not_changed(&self, number: u32, error: ErrorCode, model: &mut Model) {
        let topic = model.topic_mut(number);
        topic.busy = false;
        if error != ErrorCode::TransientNotAccepted {
            topic.standing = Standing::Unknown;
            return;
        }
        topic.standing = Standing::Exists;
        for partition in &mut topic.partitions {
            partition.standing = Standing::Exists;
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
            }
            Self::CreatePartitions { topic, count } => {
                model.add_partitions(*topic, *count);
                model.topic_mut(*topic).busy = false;
            }
            Self::DeletePartitions { topic, count } => {
                let left = model.topic(*topic).partitions.len() - *count as usize;
                model.bury(*topic, left);
                model.topic_mut(*topic).busy = false;
            }
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
            Self::Poll { .. } => self.polled(body, model)?,
            Self::Store { outlived: true, quorum: false, .. } => {}
            Self::Store { place, consumer, offset, quorum, .. } => {
                if let Some(partition) = model.partition_mut(*place) {
                    let stored = partition.consumers.entry(*consumer).or_default();
                    stored.live = stored.live.max(Some(*offset));
                    if *quorum {
                        stored.durable = stored.live;
                    }
                }
            }
            Self::Get { place, consumer } => {
                let found = reply::stored_offset(body).map_err(short)?;
                self.stored(found, *place, *consumer, model)?;
            }
        }
        Ok(())
    }

    fn polled(&self, body: &[u8], model: &mut Model) -> Result<(), String> {
        let Self::Poll { place, consumer, from, count, auto_commit, readable_to } = self else {
            return Ok(());
        };
        let polled = reply::polled(body)?;
        if model.topic(place.topic).standing == Standing::Gone {
            return Ok(());
        }
        if !model.must_exist(*place) {
            return Ok(());
        }
        model.polled(*place, *from, &polled.messages)?;
        let first = polled.messages.first().map(|(offset, _)| *offset);
        let last = polled.messages.last().map(|(offset, _)| *offset);
        let wanted = match from {
            From::Offset(offset) => Some(*offset),
            From::First => Some(0),
            From::Last | From::Next | From::Timestamp(_) => None,
        };
        if let (Some(wanted), Some(readable_to)) = (wanted, readable_to)
            && wanted <= *readable_to
            && first != Some(wanted)
        {
            return Err(format!("offset {wanted} cannot be read, though {readable_to} could: {first:?}"));
        }
        if let (From::Last, Some(readable_to)) = (from, readable_to)
            && first.is_none_or(|first| first + u64::from(*count) <= *readable_to)
        {
            return Err(format!("the last {count} messages begin at {first:?}, and ended at {readable_to}"));
        }
        if readable_to.is_some_and(|readable_to| polled.current_offset < readable_to) {
            return Err(format!("the log ends at {}, and was at {readable_to:?}", polled.current_offset));
        }
        if let Some(last) = last.filter(|_| *auto_commit)
            && let Some(partition) = model.partition_mut(*place)
        {
            let stored = partition.consumers.entry(*consumer).or_default();
            stored.live = stored.live.max(Some(last));
            stored.most = stored.most.max(Some(last));
        }
        Ok(())
    }

    fn stored(&self, found: Option<u64>, place: Place, consumer: u32, model: &Model) -> Result<(), String> {
        if !model.must_exist(place) {
            return Ok(());
        }
        let stored = model.partition(place).and_then(|partition| partition.consumers.get(&consumer));
        let stored = stored.copied().unwrap_or_default();
        if found < stored.live || found > stored.most {
            return Err(format!("consumer {consumer} has {found:?} stored, and should have {stored:?}"));
        }
        Ok(())
    }
}
