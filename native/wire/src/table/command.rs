//! Every command a client can name, and how the header of a request names it.

use super::coded;
use super::error::ErrorCode;
use super::operation::Operation;
use super::permission::Requirement;
use crate::frame::RequestHeader;

coded! {
    /// The plane that executes a command.
    pub enum Plane: u8 {
        /// Nothing: the node the client is connected to answers from what it knows.
        Local = 0, "local";
        /// The log of the metadata group.
        Metadata = 1, "metadata";
        /// The log of the partition's group.
        Partition = 2, "partition";
        /// The judgement of credentials, and then the making of a session.
        Register = 3, "register";
    }
}

/// The plane and requirement of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandRow {
    /// The number clients and errors know the command by.
    pub code: u32,
    /// The name clients and logs know the command by.
    pub name: &'static str,
    /// The operation byte of its requests.
    pub operation: Operation,
    /// The plane that executes it.
    pub plane: Plane,
    /// The requirement of the sender.
    pub requirement: Requirement,
}

macro_rules! commands {
    ($(
        $variant:ident = $code:literal, $name:literal, $operation:ident, $plane:ident, $requirement:ident;
    )+) => {
        /// A command of the client plane, by the name clients know it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum Command {
            $( #[doc = concat!("`", $name, "`.")] $variant = $code, )+
        }

        impl Command {
            /// Every command, ascending by code.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The command of a code.
            #[must_use]
            pub const fn from_code(code: u32) -> Option<Self> {
                match code {
                    $( $code => Some(Self::$variant), )+
                    _ => None,
                }
            }

            /// The plane and requirement of the command.
            #[must_use]
            pub const fn row(self) -> CommandRow {
                match self {
                    $( Self::$variant => CommandRow {
                        code: $code,
                        name: $name,
                        operation: Operation::$operation,
                        plane: Plane::$plane,
                        requirement: Requirement::$requirement,
                    }, )+
                }
            }
        }
    };
}

commands! {
    Ping = 1, "ping", NonReplicated, Local, Nothing;
    Stats = 10, "stats", NonReplicated, Local, ReadServers;
    Snapshot = 11, "snapshot", NonReplicated, Local, ReadServers;
    ClusterMetadata = 12, "cluster.metadata", NonReplicated, Local, Session;
    DescribeOptions = 13, "options.describe", NonReplicated, Local, Session;
    AttachConsumerSession = 14, "consumer_session.attach", NonReplicated, Local, Session;
    GetMe = 20, "me", NonReplicated, Local, Session;
    GetClient = 21, "client.get", NonReplicated, Local, ReadServers;
    GetClients = 22, "client.list", NonReplicated, Local, ReadServers;
    GetUser = 31, "user.get", NonReplicated, Local, ReadUsersOrSelf;
    GetUsers = 32, "user.list", NonReplicated, Local, ReadUsers;
    CreateUser = 33, "user.create", CreateUser, Metadata, ManageUsers;
    DeleteUser = 34, "user.delete", DeleteUser, Metadata, ManageUsers;
    UpdateUser = 35, "user.update", UpdateUser, Metadata, ManageUsers;
    UpdatePermissions = 36, "user.permissions", UpdatePermissions, Metadata, ManageUsers;
    ChangePassword = 37, "user.password", ChangePassword, Metadata, ManageUsersOrSelf;
    LoginUser = 38, "user.login", NonReplicated, Local, Credentials;
    Logout = 39, "user.logout", Logout, Metadata, Session;
    LoginRegister = 40, "user.login_register", Register, Register, Credentials;
    GetPersonalAccessTokens = 41, "personal_access_token.list", NonReplicated, Local, Session;
    CreatePersonalAccessToken = 42, "personal_access_token.create",
        CreatePersonalAccessToken, Metadata, Session;
    DeletePersonalAccessToken = 43, "personal_access_token.delete",
        DeletePersonalAccessToken, Metadata, Session;
    LoginWithPersonalAccessToken = 44, "personal_access_token.login", NonReplicated, Local, Credentials;
    LoginRegisterWithToken = 45, "user.login_register_with_pat", Register, Register, Credentials;
    PollMessages = 100, "message.poll", NonReplicated, Local, PollMessages;
    SendMessages = 101, "message.send", SendMessages, Partition, SendMessages;
    FlushUnsavedBuffer = 102, "message.flush_unsaved_buffer", NonReplicated, Local, Session;
    PollRouting = 103, "message.poll_routing", NonReplicated, Local, PollMessages;
    PollPrimary = 104, "message.poll_primary", NonReplicated, Local, PollMessages;
    GetConsumerOffset = 120, "consumer_offset.get", NonReplicated, Local, PollMessages;
    StoreConsumerOffset = 121, "consumer_offset.store", StoreConsumerOffset, Partition, PollMessages;
    DeleteConsumerOffset = 122, "consumer_offset.delete", DeleteConsumerOffset, Partition, PollMessages;
    OffsetRouting = 123, "consumer_offset.routing", NonReplicated, Local, PollMessages;
    GetStream = 200, "stream.get", NonReplicated, Local, ReadStream;
    GetStreams = 201, "stream.list", NonReplicated, Local, ReadStreams;
    CreateStream = 202, "stream.create", CreateStream, Metadata, ManageStreams;
    DeleteStream = 203, "stream.delete", DeleteStream, Metadata, ManageStream;
    UpdateStream = 204, "stream.update", UpdateStream, Metadata, ManageStream;
    PurgeStream = 205, "stream.purge", PurgeStream, Metadata, ManageStream;
    GetTopic = 300, "topic.get", NonReplicated, Local, ReadTopic;
    GetTopics = 301, "topic.list", NonReplicated, Local, ReadTopics;
    CreateTopic = 302, "topic.create", CreateTopic, Metadata, ManageTopics;
    DeleteTopic = 303, "topic.delete", DeleteTopic, Metadata, ManageTopic;
    UpdateTopic = 304, "topic.update", UpdateTopic, Metadata, ManageTopic;
    PurgeTopic = 305, "topic.purge", PurgeTopic, Metadata, ManageTopic;
    CreatePartitions = 402, "partition.create", CreatePartitions, Metadata, ManageTopic;
    DeletePartitions = 403, "partition.delete", DeletePartitions, Metadata, ManageTopic;
    DeleteSegments = 503, "segment.delete", DeleteSegments, Metadata, ManageTopic;
    GetConsumerGroup = 600, "consumer_group.get", NonReplicated, Local, ReadTopic;
    GetConsumerGroups = 601, "consumer_group.list", NonReplicated, Local, ReadTopic;
    CreateConsumerGroup = 602, "consumer_group.create", CreateConsumerGroup, Metadata, ReadTopic;
    DeleteConsumerGroup = 603, "consumer_group.delete", DeleteConsumerGroup, Metadata, ReadTopic;
    JoinConsumerGroup = 604, "consumer_group.join", JoinConsumerGroup, Metadata, ReadTopic;
    LeaveConsumerGroup = 605, "consumer_group.leave", LeaveConsumerGroup, Metadata, ReadTopic;
    SyncConsumerGroup = 606, "consumer_group.sync", NonReplicated, Local, Session;
}

/// A request whose header names no command that can be asked for this way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// No command has this code.
    Code(u32),
    /// No operation a client may send has this number.
    Operation(u8),
    /// The command exists, and has an operation of its own instead of the one it was sent under.
    Misplaced(Command),
}

impl Unknown {
    /// The status the request is answered with.
    #[must_use]
    pub const fn status(self) -> ErrorCode {
        match self {
            Self::Code(_) | Self::Operation(_) => ErrorCode::InvalidCommand,
            Self::Misplaced(_) => ErrorCode::FeatureUnavailable,
        }
    }
}

impl Command {
    /// The command a request asks for.
    ///
    /// A registration is [`Command::LoginRegister`]: whether it brings a password or a token, only its body
    /// says.
    pub fn resolve(header: &RequestHeader) -> Result<Self, Unknown> {
        let operation = Operation::from_code(header.operation).ok_or(Unknown::Operation(header.operation))?;
        match operation {
            Operation::Register => Ok(Self::LoginRegister),
            Operation::NonReplicated => {
                let command = Self::from_code(header.code).ok_or(Unknown::Code(header.code))?;
                if command.row().operation == operation {
                    Ok(command)
                } else {
                    Err(Unknown::Misplaced(command))
                }
            }
            _ => Self::of_operation(operation).ok_or(Unknown::Operation(header.operation)),
        }
    }

    /// The number clients and errors know the command by.
    #[must_use]
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// The name clients and logs know the command by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Whether this is a login of the retired kind, answered by eviction as malformed.
    #[must_use]
    pub const fn is_legacy_login(self) -> bool {
        matches!(self, Self::LoginUser | Self::LoginWithPersonalAccessToken)
    }

    /// The one command that travels as `operation`.
    const fn of_operation(operation: Operation) -> Option<Self> {
        BY_OPERATION[operation as usize]
    }
}

/// The command of each operation byte with exactly one command.
const BY_OPERATION: [Option<Command>; 256] = {
    let mut commands = [None; 256];
    let mut at = 0;
    while at < Command::ALL.len() {
        let command = Command::ALL[at];
        let operation = command.row().operation;
        if !matches!(operation, Operation::NonReplicated | Operation::Register) {
            commands[operation as usize] = Some(command);
        }
        at += 1;
    }
    commands
};
