//! What a user may do, compiled from permissions so that a decision takes two searches and allocates nothing.

use ng_wire::permissions::Permissions;
use ng_wire::table::permission::Requirement;

use crate::authorize::Target;

/// The permissions of one user. An entry for a stream or topic that is not there grants nothing, because a
/// [`Target`] names what was found.
#[derive(Clone, Debug)]
pub struct Rights {
    global: u16,
    /// Ascending by number.
    streams: Box<[StreamRights]>,
    /// Those of a stream side by side, ascending by number.
    topics: Box<[TopicRights]>,
}

#[derive(Clone, Copy, Debug)]
struct StreamRights {
    stream: u32,
    flags: u16,
    /// Where its topics begin, and how many there are.
    first_topic: u32,
    topics: u32,
}

#[derive(Clone, Copy, Debug)]
struct TopicRights {
    topic: u32,
    flags: u16,
}

impl Rights {
    /// The rights that permissions grant.
    #[must_use]
    pub fn compile(permissions: &Permissions) -> Self {
        let mut granted: Vec<_> = permissions.streams.iter().collect();
        granted.sort_unstable_by_key(|stream| stream.stream);
        let mut streams = Vec::with_capacity(granted.len());
        let mut topics = Vec::new();
        for stream in granted {
            let first = topics.len();
            topics.extend(
                stream.topics.iter().map(|topic| TopicRights { topic: topic.topic, flags: topic.flags }),
            );
            topics[first..].sort_unstable_by_key(|topic| topic.topic);
            streams.push(StreamRights {
                stream: stream.stream,
                flags: stream.flags,
                first_topic: count(first),
                topics: count(topics.len() - first),
            });
        }
        Self { global: permissions.global, streams: streams.into(), topics: topics.into() }
    }

    /// Whether `user`, whose rights these are, meets a requirement on a target.
    #[must_use]
    pub fn meet(&self, user: u32, requirement: Requirement, target: Target) -> bool {
        match requirement {
            Requirement::Nothing | Requirement::Credentials | Requirement::Session => true,
            Requirement::ReadUsersOrSelf | Requirement::ManageUsersOrSelf => {
                target == Target::User(user) || self.grant(requirement, target)
            }
            Requirement::ReadServers
            | Requirement::ReadUsers
            | Requirement::ManageUsers
            | Requirement::ReadStreams
            | Requirement::ReadStream
            | Requirement::ManageStreams
            | Requirement::ManageStream
            | Requirement::ReadTopics
            | Requirement::ReadTopic
            | Requirement::ManageTopics
            | Requirement::ManageTopic
            | Requirement::PollMessages
            | Requirement::SendMessages => self.grant(requirement, target),
        }
    }

    /// Whether a flag grants it: one that holds everywhere, in the stream, or in the topic.
    fn grant(&self, requirement: Requirement, target: Target) -> bool {
        let wanted = requirement.masks();
        if self.global & wanted.global != 0 {
            return true;
        }
        let (stream, topic) = match target {
            Target::Node | Target::User(_) => return false,
            Target::Stream(stream) => (stream, None),
            Target::Topic(stream, topic) => (stream, Some(topic)),
        };
        let Ok(at) = self.streams.binary_search_by_key(&stream, |rights| rights.stream) else { return false };
        let stream = self.streams[at];
        stream.flags & wanted.stream != 0
            || topic.is_some_and(|topic| self.flags_of_topic(stream, topic) & wanted.topic != 0)
    }

    fn flags_of_topic(&self, stream: StreamRights, topic: u32) -> u16 {
        let topics = &self.topics[stream.first_topic as usize..][..stream.topics as usize];
        topics.binary_search_by_key(&topic, |rights| rights.topic).map_or(0, |at| topics[at].flags)
    }
}

fn count(elements: usize) -> u32 {
    u32::try_from(elements).expect("a block of permissions is at most 64 KiB")
}
