//! What clients ask for next.

use ng_io::Environment as _;
use ng_io::simulated::Random;

use super::asked::{Asked, Poll};
use super::client::Client;
use super::model::{Model, Place, Standing};
use super::request::From;
use super::sizes::FRAME_BYTES_MAX;
use super::stored::Stored;
use super::topic_limits::TopicLimits;

/// Topics of one client at a time, and partitions of one topic.
const TOPICS_MAX: usize = 3;
const PARTITIONS_MAX: u64 = 4;

/// Where something goes, one of so many requests lets it.
const REQUESTS_PER_DROP: u64 = 12;

/// Bytes of a batch beside its payloads, for each message at most.
const MESSAGE_BYTES: usize = 512;

/// What is drawn for each request.
pub(super) struct Load<'a> {
    pub(super) model: &'a mut Model,
    pub(super) random: &'a mut Random,
    pub(super) payload_bytes: u64,
    pub(super) wall: u64,
    /// Clients below this number own topics.
    pub(super) registrants: usize,
    /// Partitions that a new topic has at most.
    pub(super) partitions: u64,
    /// What is to go, where something goes.
    pub(super) drops: Option<&'a mut Random>,
}

impl Load<'_> {
    /// What a client asks for next, if there is something.
    pub(super) fn next(&mut self, client: &Client) -> Option<Asked> {
        if !self.model.stream_exists {
            return (client.number == 0 && client.pending.is_empty()).then_some(Asked::CreateStream);
        }
        if let Some(asked) = self.let_go(client) {
            return Some(asked);
        }
        if client.number < self.registrants && (self.model.places().is_empty() || self.random.below(8) == 0) {
            return self.change(client);
        }
        if self.random.below(50) == 0 {
            return Some(Asked::Ping);
        }
        if self.random.below(30) == 0 {
            return self.look_at_a_topic();
        }
        let places = self.model.places();
        let place = *places.get(usize::try_from(self.random.below(places.len() as u64)).ok()?)?;
        match self.random.below(10) {
            0..5 => Some(self.send(place)),
            5..8 => Some(self.poll(client, place)),
            _ if client.pending.is_empty() => self.offsets(client, place),
            _ => Some(self.poll(client, place)),
        }
    }

    /// A change of the topics that the client owns.
    fn change(&mut self, client: &Client) -> Option<Asked> {
        let own: Vec<u32> = (0_u32..)
            .zip(&self.model.topics)
            .filter(|(_, topic)| {
                topic.owner == client.number && topic.standing == Standing::Exists && !topic.busy
            })
            .map(|(number, _)| number)
            .collect();
        if self.model.stream_is_purged {
            return None;
        }
        if own.is_empty() || (own.len() < TOPICS_MAX && self.random.below(4) == 0) {
            let persisted = self.random.flip();
            let segment_bytes = self.model.segment_bytes;
            let limits = self.drops.as_deref_mut().map(|random| TopicLimits::draw(random, segment_bytes));
            let topic = self.model.begin_topic(client.number, persisted, limits.unwrap_or(TopicLimits::NONE));
            let partitions = u32::try_from(1 + self.random.below(self.partitions.max(1))).unwrap_or(1);
            self.model.may_have_more(topic, partitions);
            return Some(Asked::CreateTopic { topic, partitions });
        }
        let topic = own[usize::try_from(self.random.below(own.len() as u64)).ok()?];
        let has = self.model.topic(topic).partitions.len() as u64;
        let changed = self.model.topic_mut(topic);
        changed.busy = true;
        Some(match self.random.below(4) {
            0 => {
                changed.standing = Standing::Going;
                Asked::DeleteTopic { topic }
            }
            1 if has > 0 => {
                let count = 1 + self.random.below(has);
                let left = usize::try_from(has - count).unwrap_or(0);
                for partition in &mut changed.partitions[left..] {
                    partition.standing = Standing::Going;
                }
                Asked::DeletePartitions { topic, count: u32::try_from(count).unwrap_or(1) }
            }
            _ if has < PARTITIONS_MAX => {
                self.model.may_have_more(topic, 1);
                Asked::CreatePartitions { topic, count: 1 }
            }
            _ => {
                changed.busy = false;
                return None;
            }
        })
    }

    fn look_at_a_topic(&mut self) -> Option<Asked> {
        let count = self.model.topics.len() as u64;
        let topic = u32::try_from(self.random.below(count)).ok().filter(|_| count > 0)?;
        Some(Asked::GetTopic { topic, standing: self.model.topic(topic).standing })
    }

    fn send(&mut self, place: Place) -> Asked {
        let count = usize::try_from(1 + self.random.below(8)).unwrap_or(1);
        let mut left = FRAME_BYTES_MAX as usize - 2 * MESSAGE_BYTES - count * MESSAGE_BYTES;
        let bytes: Vec<usize> = (0..count)
            .map(|_| {
                let bytes = usize::try_from(self.random.below(self.payload_bytes + 1)).unwrap_or(0);
                let bytes = bytes.min(left).max(12);
                left = left.saturating_sub(bytes);
                bytes
            })
            .collect();
        let messages = self.model.new_messages(place, &bytes);
        Asked::Send { place, messages, bytes, stamp: self.wall }
    }

    fn poll(&mut self, client: &Client, place: Place) -> Asked {
        let partition = self.model.partition(place);
        let readable_to = partition.and_then(|partition| partition.readable_to);
        let begins_at = partition.map_or(0, |partition| partition.front.first);
        let from = match self.random.below(8) {
            0 => From::First,
            1 => From::Last,
            2 => From::Next,
            3 => From::Timestamp(self.wall.saturating_sub(self.random.below(1_000_000))),
            _ => From::Offset(self.random.below(readable_to.unwrap_or(0) + 2)),
        };
        let auto_commit = from == From::Next && client.pending.is_empty() && self.random.flip();
        let count = u32::try_from(1 + self.random.below(20)).unwrap_or(1);
        let (consumer, asked) = (client.consumer(), self.model.now);
        Asked::Poll(Poll { place, consumer, from, count, auto_commit, readable_to, begins_at, asked })
    }

    fn offsets(&mut self, client: &Client, place: Place) -> Option<Asked> {
        let consumer = client.consumer();
        let partition = self.model.partition_mut(place)?;
        let stored = partition.consumers.get(&consumer).copied().unwrap_or_default();
        let readable_to = partition.readable_to.filter(|_| self.random.flip());
        let Some(readable_to) = readable_to else {
            let absent = partition.consumers.get(&consumer).is_some_and(Stored::is_absent);
            return Some(Asked::Get { place, consumer, absent });
        };
        let least = stored.live.unwrap_or(0);
        let offset = least + self.random.below(readable_to.saturating_sub(least) + 1);
        partition.consumers.entry(consumer).or_default().may_be(offset);
        Some(Asked::Store { place, consumer, offset, quorum: self.random.below(4) > 0, outlived: false })
    }
}

impl Load<'_> {
    /// Something that is to go, now and then.
    fn let_go(&mut self, client: &Client) -> Option<Asked> {
        let random = self.drops.as_deref_mut()?;
        if random.below(REQUESTS_PER_DROP) > 0 {
            return None;
        }
        let places = self.model.places();
        let place = *places.get(usize::try_from(random.below(places.len() as u64)).ok()?)?;
        match random.below(16) {
            0..9 if client.pending.is_empty() => {
                let (consumer, quorum) = (client.consumer(), random.flip());
                let stored = self.model.partition_mut(place)?.consumers.entry(consumer).or_default();
                let before = *stored;
                stored.delete();
                Some(Asked::DeleteOffset { place, consumer, before, quorum, outlived: false })
            }
            0..14 => {
                let count = u32::try_from(1 + random.below(3)).unwrap_or(1);
                self.model.partition_mut(place)?.front.delete(count);
                Some(Asked::DeleteSegments { place, count })
            }
            14 => {
                let asked = self.model.now;
                self.model
                    .begin_purge(&[place.topic])
                    .then_some(Asked::PurgeTopic { topic: place.topic, asked })
            }
            _ => self.purge_stream(),
        }
    }

    /// Purges everything, if nobody makes or changes a topic.
    fn purge_stream(&mut self) -> Option<Asked> {
        let rests = |standing| matches!(standing, Standing::Gone | Standing::Unknown);
        if self.model.topics.iter().any(|topic| topic.busy && !rests(topic.standing)) {
            return None;
        }
        let topics = (0_u32..).zip(&self.model.topics);
        let there = topics.filter(|(_, topic)| topic.standing == Standing::Exists);
        let topics: Vec<u32> = there.map(|(number, _)| number).collect();
        self.model.stream_is_purged = self.model.begin_purge(&topics);
        Some(Asked::PurgeStream { topics, asked: self.model.now })
    }
}

/// The wall clock of a machine, in microseconds.
pub(super) fn wall(environment: &ng_io::SimulatedEnvironment) -> u64 {
    environment.wall().0
}
