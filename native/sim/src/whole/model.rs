//! What clients were told, held against what they are told later.

use std::collections::{BTreeMap, BTreeSet};

use ng_io::simulated::Random;
use ng_wire::batch::{BATCH_HEADER_BYTES, MESSAGE_HEADER_BYTES};

use super::front::Front;
use super::gaps::Gaps;
use super::reach::{Reach, Reached};
use super::stored::Stored;
use super::topic_limits::TopicLimits;
use super::wall_clock::WallClock;

/// Bytes of a message beside its payload, at most.
const MESSAGE_BYTES: usize = MESSAGE_HEADER_BYTES + 16;

/// A partition of a topic, as it was when a request named it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) topic: u32,
    pub(super) partition: u32,
    /// Counts the partitions that had this number.
    pub(super) incarnation: u64,
}

/// What is known of a topic or a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It was asked for.
    Coming,
    /// Its making was acknowledged, and nobody has asked for its end.
    Exists,
    /// Its end was asked for.
    Going,
    /// Its end was acknowledged.
    Gone,
    /// A request about it was never answered.
    Unknown,
}

#[derive(Debug)]
pub(super) struct Topic {
    pub(super) name: String,
    pub(super) owner: usize,
    pub(super) standing: Standing,
    pub(super) partitions: Vec<Partition>,
    /// A change of it is under way.
    pub(super) busy: bool,
    pub(super) limits: TopicLimits,
    /// The most partitions that it may have had.
    partitions_most: u32,
}

#[derive(Debug)]
pub(super) struct Partition {
    pub(super) incarnation: u64,
    pub(super) standing: Standing,
    /// The message at each offset that somebody was told of.
    messages: BTreeMap<u64, u64>,
    /// The same the other way round.
    offsets: BTreeMap<u64, u64>,
    /// The highest offset that was acknowledged or seen.
    pub(super) readable_to: Option<u64>,
    pub(super) consumers: BTreeMap<u32, Stored>,
    /// Consumers with a request that was answered while the partition was being purged.
    unsure: BTreeSet<u32>,
    pub(super) front: Front,
    pub(super) gaps: Gaps,
}

/// Topics, partitions and messages.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) topics: Vec<Topic>,
    pub(super) stream_exists: bool,
    /// Processes that were started.
    pub(super) lives: u64,
    /// A purge of the stream is under way.
    pub(super) stream_is_purged: bool,
    /// Bytes of a segment at most: those after which it is sealed, or a batch if that alone has more.
    segment_bytes_max: u64,
    /// Bytes after which it is sealed.
    pub(super) segment_bytes: u64,
    /// On the clock of the world.
    pub(super) now: u64,
    /// On that of the machine, which may be ahead.
    pub(super) machine_now: u64,
    pub(super) wall_clock: WallClock,
    /// Bytes of messages whose offset nobody was told of, by topic and partition.
    unplaced: BTreeMap<(u32, u32), u64>,
    /// Each message that was sent.
    sent: BTreeMap<u64, Sent>,
    /// Messages of partitions that are gone.
    buried: BTreeSet<u64>,
    next_message: u64,
    next_incarnation: u64,
    /// Requests that were done.
    pub(super) done: u64,
    /// The offset behind the last message that a poll brought.
    pub(super) read_to: u64,
    pub(super) reached: Reached,
    /// Partitions with damaged files: polls of them may be refused as damaged.
    pub(super) excused: BTreeSet<Place>,
    /// Those of which a poll was refused for that.
    pub(super) refused: BTreeSet<Place>,
    /// The last poll was.
    pub(super) poll_is_refused: bool,
}

/// A message as a client sent it.
#[derive(Clone, Copy, Debug)]
struct Sent {
    topic: u32,
    partition: u32,
    /// Of its payload.
    bytes: u64,
    /// When.
    asked: u64,
}

impl Sent {
    /// The bytes that it takes at most.
    const fn stored(&self) -> u64 {
        self.bytes + (MESSAGE_BYTES + BATCH_HEADER_BYTES) as u64
    }
}

/// The bytes of a message, which follow from its number.
pub(super) fn payload(message: u64, bytes: usize) -> Vec<u8> {
    let mut random = Random::new(message);
    let mut payload = message.to_le_bytes().to_vec();
    payload.extend_from_slice(&u32::try_from(bytes).unwrap_or(0).to_le_bytes());
    while payload.len() < bytes {
        payload.extend_from_slice(&random.next().to_le_bytes());
    }
    payload.truncate(bytes.max(12));
    payload
}

/// The message that these bytes are, if they are one.
fn message_of(bytes: &[u8]) -> Option<u64> {
    let message = u64::from_le_bytes(*bytes.first_chunk()?);
    let length = u32::from_le_bytes(*bytes.get(8..)?.first_chunk()?) as usize;
    (payload(message, length) == bytes).then_some(message)
}

impl Model {
    /// Where segments of so many bytes are sealed.
    pub(super) fn with_segments(segment_bytes: u64) -> Self {
        Self { segment_bytes, segment_bytes_max: segment_bytes, ..Self::default() }
    }

    /// A topic that somebody asks for.
    pub(super) fn begin_topic(&mut self, owner: usize, persisted: bool, limits: TopicLimits) -> u32 {
        let number = u32::try_from(self.topics.len()).unwrap_or(u32::MAX);
        let name = format!("t{number}{}", if persisted { "p" } else { "r" });
        self.topics.push(Topic {
            name,
            owner,
            standing: Standing::Coming,
            partitions: Vec::new(),
            busy: true,
            limits,
            partitions_most: 0,
        });
        number
    }

    pub(super) fn topic(&self, topic: u32) -> &Topic {
        &self.topics[topic as usize]
    }

    pub(super) fn topic_mut(&mut self, topic: u32) -> &mut Topic {
        &mut self.topics[topic as usize]
    }

    /// Partitions of a topic are asked for.
    pub(super) fn may_have_more(&mut self, topic: u32, count: u32) {
        let topic = self.topic_mut(topic);
        let has = u32::try_from(topic.partitions.len()).unwrap_or(u32::MAX);
        topic.partitions_most = topic.partitions_most.max(has + count);
    }

    /// New partitions behind those that a topic has.
    pub(super) fn add_partitions(&mut self, topic: u32, count: u32) {
        for _ in 0..count {
            self.next_incarnation += 1;
            let lives = self.lives;
            let incarnation = self.next_incarnation;
            self.topic_mut(topic).partitions.push(Partition {
                incarnation,
                standing: Standing::Exists,
                messages: BTreeMap::new(),
                offsets: BTreeMap::new(),
                readable_to: None,
                consumers: BTreeMap::new(),
                unsure: BTreeSet::new(),
                front: Front::of_life(lives),
                gaps: Gaps::default(),
            });
        }
    }

    /// Partitions beyond the first `left` are gone.
    pub(super) fn bury(&mut self, topic: u32, left: usize) {
        let gone = self.topic_mut(topic).partitions.split_off(left);
        for partition in gone {
            self.buried.extend(partition.messages.into_values());
        }
    }

    /// Topics are to be purged, unless somebody changes one of them.
    pub(super) fn begin_purge(&mut self, topics: &[u32]) -> bool {
        if topics.iter().any(|topic| self.topic(*topic).busy) {
            return false;
        }
        for topic in topics {
            let topic = self.topic_mut(*topic);
            topic.busy = true;
            for partition in &mut topic.partitions {
                partition.standing = Standing::Going;
            }
        }
        true
    }

    /// A purge of a topic was acknowledged: each partition begins anew.
    pub(super) fn purge(&mut self, topic: u32) {
        let partitions = &self.topic(topic).partitions;
        let unsure: Vec<BTreeSet<u32>> =
            partitions.iter().map(|partition| partition.unsure.clone()).collect();
        self.bury(topic, 0);
        self.add_partitions(topic, u32::try_from(unsure.len()).unwrap_or(u32::MAX));
        for (partition, unsure) in self.topic_mut(topic).partitions.iter_mut().zip(unsure) {
            partition.consumers.extend(unsure.into_iter().map(|consumer| (consumer, Stored::anything())));
        }
    }

    /// A request of a consumer was answered while its partition was being purged, or afterwards: it may be done before or
    /// behind the purge.
    pub(super) fn consumer_is_unsure(&mut self, place: Place, consumer: u32) {
        let partitions = &mut self.topic_mut(place.topic).partitions;
        let Some(partition) = partitions.get_mut(place.partition as usize) else { return };
        if partition.incarnation == place.incarnation {
            partition.unsure.insert(consumer);
        } else {
            partition.consumers.insert(consumer, Stored::anything());
        }
    }

    /// Every partition that a request can name.
    pub(super) fn places(&self) -> Vec<Place> {
        let topics = (0_u32..).zip(&self.topics);
        let there = topics.filter(|(_, topic)| topic.standing == Standing::Exists);
        there
            .flat_map(|(number, topic)| {
                let partitions = (0_u32..).zip(&topic.partitions);
                let there = partitions.filter(|(_, partition)| partition.standing == Standing::Exists);
                there.map(move |(partition, row)| Place {
                    topic: number,
                    partition,
                    incarnation: row.incarnation,
                })
            })
            .collect()
    }

    /// The first offset of a message that is known from an offset on.
    pub(super) fn known_from(&self, place: Place, offset: u64) -> Option<u64> {
        self.partition(place)?.messages.range(offset..).next().map(|(offset, _)| *offset)
    }

    /// The partition of a place, if it is still that one.
    pub(super) fn partition(&self, place: Place) -> Option<&Partition> {
        let partition = self.topic(place.topic).partitions.get(place.partition as usize)?;
        (partition.incarnation == place.incarnation).then_some(partition)
    }

    pub(super) fn partition_mut(&mut self, place: Place) -> Option<&mut Partition> {
        let partition = self.topic_mut(place.topic).partitions.get_mut(place.partition as usize)?;
        (partition.incarnation == place.incarnation).then_some(partition)
    }

    /// Whether a place must be there: it was made, and nobody has asked for its end.
    pub(super) fn must_exist(&self, place: Place) -> bool {
        self.topic(place.topic).standing == Standing::Exists
            && self.partition(place).is_some_and(|partition| partition.standing == Standing::Exists)
    }

    /// Messages for a partition that were never sent before.
    pub(super) fn new_messages(&mut self, place: Place, bytes: &[usize]) -> Vec<u64> {
        let first = self.next_message;
        self.next_message += bytes.len() as u64;
        let batch_bytes = bytes.iter().map(|bytes| bytes + MESSAGE_BYTES).sum::<usize>() + BATCH_HEADER_BYTES;
        self.segment_bytes_max = self.segment_bytes_max.max(batch_bytes as u64);
        let (Place { topic, partition, .. }, asked) = (place, self.now);
        for (message, bytes) in (first..).zip(bytes) {
            let sent = Sent { topic, partition, bytes: *bytes as u64, asked };
            *self.unplaced.entry((topic, partition)).or_default() += sent.stored();
            self.sent.insert(message, sent);
        }
        (first..self.next_message).collect()
    }

    /// A batch was acknowledged.
    pub(super) fn acknowledge(&mut self, place: Place, base: u64, messages: &[u64]) -> Result<(), String> {
        if !self.must_exist(place) {
            return Ok(());
        }
        for (offset, message) in (base..).zip(messages) {
            self.learn(place, offset, *message)?;
        }
        Ok(())
    }

    /// A message has an offset.
    fn learn(&mut self, place: Place, offset: u64, message: u64) -> Result<(), String> {
        let name = self.topic(place.topic).name.clone();
        let Some(partition) = self.partition_mut(place) else { return Ok(()) };
        if let Some(before) = partition.messages.insert(offset, message).filter(|before| *before != message) {
            return Err(format!(
                "offset {offset} of {name}/{} is message {message}, and was {before}",
                place.partition
            ));
        }
        partition.readable_to = partition.readable_to.max(Some(offset));
        match partition.offsets.insert(message, offset) {
            None => {
                let stored = self.sent.get(&message).map_or(0, Sent::stored);
                let unplaced = self.unplaced.entry((place.topic, place.partition)).or_default();
                *unplaced = unplaced.saturating_sub(stored);
                Ok(())
            }
            Some(other) if other != offset => {
                Err(format!("message {message} of {name}/{} is at {other} and {offset}", place.partition))
            }
            Some(_) => Ok(()),
        }
    }

    /// Messages of a place that must exist were seen, in order.
    pub(super) fn learn_all(
        &mut self,
        what: &str,
        place: Place,
        messages: &[(u64, Vec<u8>)],
        is_poll: bool,
    ) -> Result<(), String> {
        let what = format!("{what} of {}/{}", self.topic(place.topic).name, place.partition);
        for two in messages.windows(2) {
            let (before, offset) = (two[0].0, two[1].0);
            // What was deleted while a poll was under way is passed over.
            let is_covered = is_poll && self.front_is_at(place, before + 1, offset).is_ok();
            let may_be = |partition: &Partition| partition.gaps.may_cover(before + 1..offset);
            if offset <= before || !(self.partition(place).is_some_and(may_be) || is_covered) {
                return Err(format!("{what}: offset {offset} follows {before}"));
            }
        }
        for (offset, bytes) in messages {
            let Some(message) = message_of(bytes) else {
                return Err(format!("{what}: the bytes at {offset} are no message that was sent"));
            };
            let is_of = |sent: &Sent| (sent.topic, sent.partition) == (place.topic, place.partition);
            if !self.sent.get(&message).is_some_and(is_of) {
                return Err(format!("{what}: message {message} at {offset} was not sent there"));
            }
            if self.buried.contains(&message) {
                return Err(format!("{what}: message {message} at {offset} was in a partition that is gone"));
            }
            self.learn(place, *offset, message)?;
        }
        Ok(())
    }

    /// Of the offsets from `wanted` on, the first message that a partition has is at `first`.
    pub(super) fn front_is_at(&mut self, place: Place, wanted: u64, first: u64) -> Result<(), String> {
        let Some(partition) = self.partition(place) else { return Ok(()) };
        if partition.gaps.may_cover(wanted.max(partition.front.first)..first) {
            return Ok(());
        }
        self.begins_at(place, first)
    }

    /// A poll found that a partition begins at an offset: everything before it must have been allowed to go.
    fn begins_at(&mut self, place: Place, first: u64) -> Result<(), String> {
        let Some(partition) = self.partition(place) else { return Ok(()) };
        let before = partition.front.first;
        if first <= before {
            return Ok(());
        }
        let (topic, sent) = (self.topic(place.topic), |message: &u64| self.sent.get(message));
        let TopicLimits { expiry, .. } = topic.limits;
        let stays_from = self.stays_from(place);
        let (mut over, mut too_much, mut gone) = (0, 0, 0);
        for (offset, message) in partition.messages.range(before..first) {
            let Some(sent) = sent(message) else { continue };
            if partition.gaps.may_cover(*offset..*offset + 1) {
                continue;
            }
            if self.wall_clock.may_be_as_old(sent.asked, self.machine_now, expiry) {
                over += 1;
            } else if *offset < stays_from {
                too_much += 1;
            } else {
                gone += sent.bytes;
            }
        }
        let (limits, lives) = (topic.limits, self.lives);
        let what = format!("{}/{}", topic.name, place.partition);
        for (reach, count) in [(Reach::Expired, over), (Reach::TooMuch, too_much)] {
            if count > 0 {
                self.reached.saw(reach);
            }
        }
        self.reached.saw(Reach::FrontGone);
        let segment_bytes = self.segment_bytes_max;
        let Some(partition) = self.partition_mut(place) else { return Ok(()) };
        let moved = partition.front.moves_to(first, gone, segment_bytes, (limits, lives));
        moved.map_err(|fault| format!("{what}: {fault}"))
    }

    /// The offset below which a partition may have let messages go because it held too much: with them it may have held
    /// more than its part, but for a segment.
    fn stays_from(&self, place: Place) -> u64 {
        let topic = self.topic(place.topic);
        let part = topic.limits.part(self.segment_bytes, topic.partitions_most);
        let unplaced = self.unplaced.get(&(place.topic, place.partition)).copied().unwrap_or(0);
        let mut held = unplaced + self.segment_bytes_max;
        let messages = self.partition(place).map(|partition| &partition.messages);
        for (offset, message) in messages.into_iter().flatten().rev() {
            held += self.sent.get(message).map_or(0, Sent::stored);
            if held > part {
                return *offset;
            }
        }
        0
    }

    /// What a consumer has stored was read.
    pub(super) fn check_stored(&self, found: Option<u64>, place: Place, consumer: u32) -> Result<(), String> {
        if !self.must_exist(place) {
            return Ok(());
        }
        let stored = self.partition(place).and_then(|partition| partition.consumers.get(&consumer));
        let stored = stored.copied().unwrap_or_default();
        if stored.allows(found) {
            return Ok(());
        }
        Err(format!("consumer {consumer} has {found:?} stored, and should have {stored:?}"))
    }

    /// The process ended out of order: what was not promised to last may be gone.
    pub(super) fn crashed(&mut self) {
        for partition in self.topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
            partition.consumers.values_mut().for_each(Stored::crashed);
        }
    }
}
