//! What the native side writes to the log: a code and at most two numbers travel, the words are made by the
//! reader.

use super::coded;

coded! {
    /// How much an event matters.
    pub enum EventLevel: u8 {
        /// For whoever looks for the cause of something.
        Debug = 0, "debug";
        /// The ordinary course of things.
        Info = 1, "info";
        /// Something an operator may want to change.
        Warning = 2, "warning";
        /// Something failed.
        Error = 3, "error";
    }
}

/// An event as the reader of the log sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// The number that travels.
    pub code: u16,
    /// The name to search the log for.
    pub name: &'static str,
    /// How much it matters.
    pub level: EventLevel,
    /// A sentence with each field's name in braces where its value belongs.
    pub message: &'static str,
    /// The names of the numbers that travel with the code, at most two.
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

            /// The number that travels.
            #[must_use]
            pub const fn code(self) -> u16 {
                self as u16
            }

            /// The event as the reader of the log sees it.
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
        "Accepting paused with {connections} connections open (errno {errno}).",
        "connections", "errno";
    AcceptResumed = 3, "accept_resumed", Info,
        "Accepting resumed with {connections} connections open after {pause_ms} ms.",
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
        "Shard {shard} has not turned for {stall_ms} ms.",
        "shard", "stall_ms";
    WatchdogUnreachable = 8, "watchdog_unreachable", Error,
        "The service manager's socket cannot be used (errno {errno}): it will take this process for dead.",
        "errno";
    AnswersCut = 9, "answers_cut", Warning,
        "Shard {shard} stopped with answers owed on {connections} connections.",
        "shard", "connections";
    MessagesDamaged = 10, "messages_damaged", Error,
        "Stored messages are damaged or missing: a poll met them at offset {offset} of group {group}.",
        "group", "offset";
    SpaceShort = 11, "space_short", Error,
        "The disk is full: {partitions} partitions and {bytes} bytes of messages wait for space, in memory and in the journal.",
        "partitions", "bytes";
    SendsRefused = 12, "sends_refused_for_space", Error,
        "The disk is full: {sends} sends were refused since then, and {partitions} partitions wait for space.",
        "sends", "partitions";
    SpaceRecovered = 13, "space_recovered", Info,
        "All messages are in segments again, after {short_ms} ms without space and {sends} refused sends.",
        "short_ms", "sends";
    RemovalFailed = 14, "removal_failed", Warning,
        "Files of group {group} cannot be removed (errno {errno}). This is retried.",
        "group", "errno";
    RemovalsRecovered = 15, "removals_recovered", Info, "All removals of files that had failed are done.";
    TrashFailed = 16, "trash_failed", Warning,
        "The trash cannot be deleted (errno {errno}), and has {bytes} bytes. This is retried.",
        "errno", "bytes";
    TrashRecovered = 17, "trash_recovered", Info,
        "The trash can be deleted again, and has {bytes} bytes.",
        "bytes";
    ClientDisconnected = 18, "client_disconnected", Debug,
        "A client that had logged in is disconnected (its port {port}, close reason {reason}).",
        "port", "reason";
    MessagesFenced = 19, "messages_fenced", Error,
        "Stored messages of group {group} are lost, from offset {offset} on.",
        "group", "offset";
    JournalStuck = 20, "journal_stuck", Error,
        "The journal cannot go on without a further file of {bytes} bytes, which cannot be made (errno {errno}). Make room on the file system; this is retried.",
        "bytes", "errno";
    JournalFreed = 21, "journal_freed", Info,
        "The journal can go on, with {files} files.",
        "files";
}
