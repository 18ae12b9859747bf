//! Permissions: the flags of a user, and the flags that meet each requirement.

use super::coded;

coded! {
    /// A flag that holds everywhere; the code is its place in the encoded permissions.
    pub enum GlobalFlag: u8 {
        /// Act on servers.
        ManageServers = 0, "manage_servers";
        /// Look at servers.
        ReadServers = 1, "read_servers";
        /// Act on users.
        ManageUsers = 2, "manage_users";
        /// Look at users.
        ReadUsers = 3, "read_users";
        /// Act on every stream.
        ManageStreams = 4, "manage_streams";
        /// Look at every stream.
        ReadStreams = 5, "read_streams";
        /// Act on every topic.
        ManageTopics = 6, "manage_topics";
        /// Look at every topic.
        ReadTopics = 7, "read_topics";
        /// Poll from every topic.
        PollMessages = 8, "poll_messages";
        /// Send to every topic.
        SendMessages = 9, "send_messages";
    }
}

coded! {
    /// A flag that holds in one stream; the code is its place in the encoded permissions.
    pub enum StreamFlag: u8 {
        /// Act on the stream.
        ManageStream = 0, "manage_stream";
        /// Look at the stream.
        ReadStream = 1, "read_stream";
        /// Act on every topic of the stream.
        ManageTopics = 2, "manage_topics";
        /// Look at every topic of the stream.
        ReadTopics = 3, "read_topics";
        /// Poll from every topic of the stream.
        PollMessages = 4, "poll_messages";
        /// Send to every topic of the stream.
        SendMessages = 5, "send_messages";
    }
}

coded! {
    /// A flag that holds in one topic; the code is its place in the encoded permissions.
    pub enum TopicFlag: u8 {
        /// Act on the topic.
        ManageTopic = 0, "manage_topic";
        /// Look at the topic.
        ReadTopic = 1, "read_topic";
        /// Poll from the topic.
        PollMessages = 2, "poll_messages";
        /// Send to the topic.
        SendMessages = 3, "send_messages";
    }
}

coded! {
    /// The requirement of a command's sender.
    pub enum Requirement: u8 {
        /// Nothing: strangers may.
        Nothing = 0, "nothing";
        /// Credentials in the body.
        Credentials = 1, "credentials";
        /// A session.
        Session = 2, "session";
        /// Sight of servers.
        ReadServers = 3, "read_servers";
        /// Sight of users.
        ReadUsers = 4, "read_users";
        /// Sight of users, unless the user is one's own.
        ReadUsersOrSelf = 5, "read_users_or_self";
        /// Power over users.
        ManageUsers = 6, "manage_users";
        /// Power over users, unless the user is one's own.
        ManageUsersOrSelf = 7, "manage_users_or_self";
        /// Sight of every stream.
        ReadStreams = 8, "read_streams";
        /// Sight of the stream.
        ReadStream = 9, "read_stream";
        /// Power over every stream.
        ManageStreams = 10, "manage_streams";
        /// Power over the stream.
        ManageStream = 11, "manage_stream";
        /// Sight of every topic of the stream.
        ReadTopics = 12, "read_topics";
        /// Sight of the topic.
        ReadTopic = 13, "read_topic";
        /// Power over every topic of the stream.
        ManageTopics = 14, "manage_topics";
        /// Power over the topic.
        ManageTopic = 15, "manage_topic";
        /// Polling from the topic.
        PollMessages = 16, "poll_messages";
        /// Sending to the topic.
        SendMessages = 17, "send_messages";
    }
}

/// The flags of which any one meets a requirement. Without flags, the sentence of the requirement is all
/// there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grants {
    /// Flags that hold everywhere.
    pub global: &'static [GlobalFlag],
    /// Flags of the stream in question.
    pub stream: &'static [StreamFlag],
    /// Flags of the topic in question.
    pub topic: &'static [TopicFlag],
}

/// The flags of [`Grants`] as masks, in which the bit of a flag is the one that its code numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Masks {
    /// Of the flags that hold everywhere.
    pub global: u16,
    /// Of the flags of the stream.
    pub stream: u16,
    /// Of the flags of the topic.
    pub topic: u16,
}

/// The masks of each requirement, by its code.
const MASKS: [Masks; Requirement::ALL.len()] = {
    let mut masks = [Masks { global: 0, stream: 0, topic: 0 }; Requirement::ALL.len()];
    let mut at = 0;
    while at < masks.len() {
        let requirement = Requirement::ALL[at];
        masks[requirement as usize] = requirement.grants().masks();
        at += 1;
    }
    masks
};

impl Grants {
    const fn masks(self) -> Masks {
        let mut masks = Masks { global: 0, stream: 0, topic: 0 };
        let mut at = 0;
        while at < self.global.len() {
            masks.global |= 1 << self.global[at].code();
            at += 1;
        }
        at = 0;
        while at < self.stream.len() {
            masks.stream |= 1 << self.stream[at].code();
            at += 1;
        }
        at = 0;
        while at < self.topic.len() {
            masks.topic |= 1 << self.topic[at].code();
            at += 1;
        }
        masks
    }
}

impl Requirement {
    /// The flags that meet this requirement, as masks.
    #[must_use]
    pub const fn masks(self) -> Masks {
        MASKS[self as usize]
    }

    /// Whether only a client with a session can meet it.
    #[must_use]
    pub const fn needs_session(self) -> bool {
        !matches!(self, Self::Nothing | Self::Credentials)
    }

    /// The flags that meet this requirement.
    #[must_use]
    pub const fn grants(self) -> Grants {
        use GlobalFlag as G;
        use StreamFlag as S;
        use TopicFlag as T;
        match self {
            Self::Nothing | Self::Credentials | Self::Session => grants(&[], &[], &[]),
            Self::ReadServers => grants(&[G::ManageServers, G::ReadServers], &[], &[]),
            Self::ReadUsers | Self::ReadUsersOrSelf => grants(&[G::ManageUsers, G::ReadUsers], &[], &[]),
            Self::ManageUsers | Self::ManageUsersOrSelf => grants(&[G::ManageUsers], &[], &[]),
            Self::ReadStreams => grants(&[G::ManageStreams, G::ReadStreams], &[], &[]),
            Self::ReadStream => {
                grants(&[G::ManageStreams, G::ReadStreams], &[S::ManageStream, S::ReadStream], &[])
            }
            Self::ManageStreams => grants(&[G::ManageStreams], &[], &[]),
            Self::ManageStream => grants(&[G::ManageStreams], &[S::ManageStream], &[]),
            Self::ReadTopics => grants(TOPIC_SIGHT_GLOBAL, TOPIC_SIGHT_STREAM, &[]),
            Self::ReadTopic => {
                grants(TOPIC_SIGHT_GLOBAL, TOPIC_SIGHT_STREAM, &[T::ManageTopic, T::ReadTopic])
            }
            Self::ManageTopics => grants(TOPIC_POWER_GLOBAL, TOPIC_POWER_STREAM, &[]),
            Self::ManageTopic => grants(TOPIC_POWER_GLOBAL, TOPIC_POWER_STREAM, &[T::ManageTopic]),
            Self::PollMessages => grants(
                &[G::PollMessages, G::ReadTopics, G::ManageTopics, G::ReadStreams, G::ManageStreams],
                &[S::PollMessages, S::ReadTopics, S::ManageTopics, S::ReadStream, S::ManageStream],
                &[T::PollMessages, T::ReadTopic, T::ManageTopic],
            ),
            Self::SendMessages => grants(
                &[G::SendMessages, G::ManageStreams, G::ManageTopics],
                &[S::SendMessages, S::ManageStream, S::ManageTopics],
                &[T::SendMessages, T::ManageTopic],
            ),
        }
    }
}

const TOPIC_SIGHT_GLOBAL: &[GlobalFlag] =
    &[GlobalFlag::ReadStreams, GlobalFlag::ManageStreams, GlobalFlag::ManageTopics, GlobalFlag::ReadTopics];
const TOPIC_SIGHT_STREAM: &[StreamFlag] =
    &[StreamFlag::ManageStream, StreamFlag::ReadStream, StreamFlag::ManageTopics, StreamFlag::ReadTopics];
const TOPIC_POWER_GLOBAL: &[GlobalFlag] = &[GlobalFlag::ManageStreams, GlobalFlag::ManageTopics];
const TOPIC_POWER_STREAM: &[StreamFlag] = &[StreamFlag::ManageStream, StreamFlag::ManageTopics];

const fn grants(
    global: &'static [GlobalFlag],
    stream: &'static [StreamFlag],
    topic: &'static [TopicFlag],
) -> Grants {
    Grants { global, stream, topic }
}
