//! Bodies of requests, read into values that borrow from them.
//!
//! A `decode` takes every byte of a body or refuses it; a `check` judges what can be judged before anything
//! is looked up.

mod client;
mod consumer;
mod consumer_offset;
mod identifier;
mod option_block;
mod option_text;
mod options;
mod partitioning;
mod partitions;
mod poll;
mod register;
mod send;
mod streams;
mod topic_options;
mod topics;
mod users;

pub use client::client_id;
pub use consumer::Consumer;
pub use consumer_offset::{Ack, DeleteOffset, OffsetTarget, StoreOffset};
pub use identifier::Identifier;
pub use option_block::{OPTIONS_BYTES_MAX, OPTIONS_MAX, OptionBlock, OptionEntry};
pub use options::{OptionScope, option_scope};
pub use partitioning::{Partitioning, place_of_key};
pub use partitions::{DeleteSegments, FlushUnsaved, PartitionsChange};
pub use poll::{PollMessages, PollingStrategy};
pub use register::{Credentials, Register, RegisterFault};
pub use send::SendMessages;
pub use streams::{CreateStream, StreamTarget, UpdateStream};
pub use topics::{CreateTopic, PARTITIONS_PER_REQUEST_MAX, TopicTarget, UpdateTopic};
pub use users::{ChangePassword, CreateUser, UpdatePermissions, UpdateUser, UserTarget};
