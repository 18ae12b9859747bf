//! Events of the native side. Only a code and at most two numbers cross to Python, which makes the sentence.

use super::coded;

coded! {
    /// How much an event matters.
    pub enum EventLevel: u8 {
        /// Details for finding a cause.
        Debug = 0, "debug";
        /// Normal operation.
        Info = 1, "info";
        /// A state that an operator may want to change.
        Warning = 2, "warning";
        /// A failure.
        Error = 3, "error";
    }
}

/// One event, with its name and sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// The number in the record.
    pub code: u16,
    /// The stable name, to search for.
    pub name: &'static str,
    /// The level.
    pub level: EventLevel,
    /// A sentence with fields in braces.
    pub message: &'static str,
    /// Names of the numbers in the record, at most two.
    pub fields: &'static [&'static str],
}

macro_rules! events {
    ($(
        $variant:ident = $code:literal, $name:literal, $level:ident, $message:literal $(, $field:literal)*;
    )+) => {
        /// An event of the native side.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Event {
            $( #[doc = $message] $variant = $code, )+
        }

        impl Event {
            /// Every event, in the order of the codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The number in the record.
            #[must_use]
            pub const fn code(self) -> u16 {
                self as u16
            }

            /// Name, level and sentence.
            #[must_use]
            pub const fn row(self) -> EventRow {
                match self {
                    $( Self::$variant => EventRow {
                        code: $code,
                        name: $name,
                        level: EventLevel::$level,
                        message: $message,
                        fields: &[$($field),*],
                    }, )+
                }
            }
        }
    };
}

events! {
    ShardStopped = 1, "shard_stopped", Info, "Shard {shard} stopped after {turns} turns.", "shard", "turns";
    AcceptPaused = 2, "accept_paused", Warning,
        "No connections are accepted, with {connections} connections open (errno {errno}).",
        "connections", "errno";
    AcceptResumed = 3, "accept_resumed", Info,
        "Connections are accepted again after {pause_ms} ms, with {connections} connections open.",
        "connections", "pause_ms";
    FrameDropped = 4, "frame_dropped", Warning,
        "A frame between shards was dropped (variant {variant}, reason {reason}).",
        "variant", "reason";
    ControlPlaneStalled = 5, "control_plane_stalled", Error,
        "The control plane has not answered for {stall_ms} ms.",
        "stall_ms";
    ControlPlaneRecovered = 6, "control_plane_recovered", Info,
        "The control plane answers again after {stall_ms} ms.",
        "stall_ms";
    ShardStalled = 7, "shard_stalled", Error,
        "Shard {shard} has been blocked for {stall_ms} ms.",
        "shard", "stall_ms";
    WatchdogUnreachable = 8, "watchdog_unreachable", Error,
        "Cannot notify systemd (NOTIFY_SOCKET, errno {errno}): its watchdog will kill this process.",
        "errno";
    AnswersCut = 9, "answers_cut", Warning,
        "Shard {shard} stopped before it had sent all replies on {connections} connections.",
        "shard", "connections";
    MessagesDamaged = 10, "messages_damaged", Error,
        "A poll found damaged or missing messages at offset {offset} of group {group}.",
        "group", "offset";
    SpaceShort = 11, "space_short", Error,
        "The disk is full: {partitions} partitions and {bytes} bytes of messages wait for space, in memory and in the journal.",
        "partitions", "bytes";
    SendsRefused = 12, "sends_refused_for_space", Error,
        "The disk is full: {sends} sends were refused since it filled, and {partitions} partitions wait for space.",
        "sends", "partitions";
    SpaceRecovered = 13, "space_recovered", Info,
        "All messages are in segments again, after {short_ms} ms without space and {sends} refused sends.",
        "short_ms", "sends";
    RemovalFailed = 14, "removal_failed", Warning,
        "Files of group {group} cannot be removed (errno {errno}). This is retried.",
        "group", "errno";
    RemovalsRecovered = 15, "removals_recovered", Info, "All removals of files that had failed have succeeded.";
    TrashFailed = 16, "trash_failed", Warning,
        "Deleting the trash failed (errno {errno}); {bytes} bytes are left. This is retried.",
        "errno", "bytes";
    TrashRecovered = 17, "trash_recovered", Info,
        "Deleting the trash works again; {bytes} bytes are left.",
        "bytes";
    ClientDisconnected = 18, "client_disconnected", Debug,
        "A logged-in client is disconnected (port {port}, close reason {reason}).",
        "port", "reason";
    MessagesFenced = 19, "messages_fenced", Error,
        "Stored messages of group {group} are lost, from offset {offset} on.",
        "group", "offset";
    JournalStuck = 20, "journal_stuck", Error,
        "The journal needs another file of {bytes} bytes and cannot create it (errno {errno}). Make room on the file system; this is retried.",
        "bytes", "errno";
    JournalFreed = 21, "journal_freed", Info,
        "The journal continues, with {files} files.",
        "files";
}
