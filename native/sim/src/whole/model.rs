//! What clients were told, held against what they are told later.

use std::collections::{BTreeMap, BTreeSet};

use ng_io::simulated::Random;

use super::request::From;

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
}

/// What a consumer may find stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stored {
    /// At least this, whatever happens.
    pub(super) durable: Option<u64>,
    /// At least this, unless the process ends out of order.
    pub(super) live: Option<u64>,
    /// At most this.
    pub(super) most: Option<u64>,
}

/// Topics, partitions and messages.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) topics: Vec<Topic>,
    pub(super) stream_exists: bool,
    /// Where each message was sent to.
    sent: BTreeMap<u64, (u32, u32)>,
    /// Messages of partitions that are gone.
    buried: BTreeSet<u64>,
    next_message: u64,
    next_incarnation: u64,
    /// Requests that were done, and messages that polls brought of places that must exist.
    pub(super) done: u64,
    pub(super) read: u64,
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
    /// A topic that somebody asks for.
    pub(super) fn begin_topic(&mut self, owner: usize, persisted: bool) -> u32 {
        let number = u32::try_from(self.topics.len()).unwrap_or(u32::MAX);
        let name = format!("t{number}{}", if persisted { "p" } else { "r" });
        self.topics.push(Topic {
            name,
            owner,
            standing: Standing::Coming,
            partitions: Vec::new(),
            busy: true,
        });
        number
    }

    pub(super) fn topic(&self, topic: u32) -> &Topic {
        &self.topics[topic as usize]
    }

    pub(super) fn topic_mut(&mut self, topic: u32) -> &mut Topic {
        &mut self.topics[topic as usize]
    }

    /// New partitions behind those that a topic has.
    pub(super) fn add_partitions(&mut self, topic: u32, count: u32) {
        for _ in 0..count {
            self.next_incarnation += 1;
            let incarnation = self.next_incarnation;
            self.topic_mut(topic).partitions.push(Partition {
                incarnation,
                standing: Standing::Exists,
                messages: BTreeMap::new(),
                offsets: BTreeMap::new(),
                readable_to: None,
                consumers: BTreeMap::new(),
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
    pub(super) fn new_messages(&mut self, place: Place, count: u64) -> Vec<u64> {
        let first = self.next_message;
        self.next_message += count;
        let messages: Vec<u64> = (first..first + count).collect();
        self.sent.extend(messages.iter().map(|message| (*message, (place.topic, place.partition))));
        messages
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
        if let Some(other) = partition.offsets.insert(message, offset).filter(|other| *other != offset) {
            return Err(format!(
                "message {message} of {name}/{} is at {other} and {offset}",
                place.partition
            ));
        }
        partition.readable_to = partition.readable_to.max(Some(offset));
        Ok(())
    }

    /// A poll brought messages of a place that must exist.
    pub(super) fn polled(
        &mut self,
        place: Place,
        from: From,
        messages: &[(u64, Vec<u8>)],
    ) -> Result<(), String> {
        let what = format!("a poll {from:?} of {}/{}", self.topic(place.topic).name, place.partition);
        for two in messages.windows(2) {
            if two[0].0 + 1 != two[1].0 {
                return Err(format!("{what}: offset {} follows {}", two[1].0, two[0].0));
            }
        }
        for (offset, bytes) in messages {
            let Some(message) = message_of(bytes) else {
                return Err(format!("{what}: the bytes at {offset} are no message that was sent"));
            };
            if self.sent.get(&message) != Some(&(place.topic, place.partition)) {
                return Err(format!("{what}: message {message} at {offset} was not sent there"));
            }
            if self.buried.contains(&message) {
                return Err(format!("{what}: message {message} at {offset} was in a partition that is gone"));
            }
            self.learn(place, *offset, message)?;
        }
        self.read += messages.len() as u64;
        Ok(())
    }

    /// The process ended out of order: what was not promised to last may be gone.
    pub(super) fn crashed(&mut self) {
        for partition in self.topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
            for stored in partition.consumers.values_mut() {
                stored.live = stored.durable;
            }
        }
    }
}
