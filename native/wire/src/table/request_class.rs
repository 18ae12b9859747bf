//! Requests by cost: latencies within one class are comparable.

use super::coded;
use super::command::Command;

coded! {
    /// The `class` of `request_seconds`.
    pub enum RequestClass: u8 {
        /// Sends of messages, answered when they are synced.
        Send = 0, "send";
        /// Polls of messages.
        Poll = 1, "poll";
        /// Consumer offsets, read or written.
        Offset = 2, "offset";
        /// Streams, topics, partitions, users and groups, read or changed.
        Metadata = 3, "metadata";
        /// Logins and logouts.
        Session = 4, "session";
        /// Pings, and information about the server and its clients.
        Own = 5, "own";
    }
}

impl RequestClass {
    /// The class of a command.
    #[must_use]
    pub const fn of(command: Command) -> Self {
        match command {
            Command::SendMessages | Command::FlushUnsavedBuffer => Self::Send,
            Command::PollMessages | Command::PollRouting | Command::PollPrimary => Self::Poll,
            Command::GetConsumerOffset
            | Command::StoreConsumerOffset
            | Command::DeleteConsumerOffset
            | Command::OffsetRouting => Self::Offset,
            Command::Ping
            | Command::Stats
            | Command::Snapshot
            | Command::ClusterMetadata
            | Command::AttachConsumerSession
            | Command::DescribeOptions
            | Command::GetMe
            | Command::GetClient
            | Command::GetClients => Self::Own,
            Command::LoginUser
            | Command::LoginRegister
            | Command::LoginWithPersonalAccessToken
            | Command::LoginRegisterWithToken
            | Command::Logout => Self::Session,
            _ => Self::Metadata,
        }
    }
}
