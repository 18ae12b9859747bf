//! The counters, gauges and histograms of the native side, and the dense array of cells a shard keeps them in.

use super::close_reason::CloseReason;
use super::coded;
use super::frame_drop::{DropReason, FrameVariant};
use super::memory_part::MemoryPart;
use super::outcome::{LoginOutcome, LoginRefusal, ReplyOutcome};
use super::request_class::RequestClass;
use super::scale::{BYTES, SECONDS, Scale};

coded! {
    /// How the value of a metric moves.
    pub enum MetricKind: u8 {
        /// Only grows while the process lives.
        Counter = 0, "counter";
        /// Grows and shrinks.
        Gauge = 1, "gauge";
        /// Counts measured values by bucket, and sums them.
        Histogram = 2, "histogram";
    }
}

/// A label of a metric and the values it can have, which are the rows of another table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// The name of the label.
    pub name: &'static str,
    /// Its values, in the order of their cells.
    pub values: &'static [&'static str],
}

/// Name, meaning and labels of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricRow {
    /// The number of the metric.
    pub id: u16,
    /// The name, without the prefix the exporter adds.
    pub name: &'static str,
    /// How the value moves.
    pub kind: MetricKind,
    /// The meaning, in a sentence.
    pub help: &'static str,
    /// At most two labels; the last one varies fastest.
    pub labels: &'static [Label],
    /// The buckets of a histogram; other kinds have none.
    pub scale: Option<&'static Scale>,
}

macro_rules! metrics {
    (@scale) => { None };
    (@scale $scale:ident) => { Some(&$scale) };
    ($( $(#[doc = $help:literal])+ $variant:ident = $id:literal, $kind:ident $(($scale:ident))?, $name:literal
        $(, $label:literal: $values:ident)*; )+) => {
        /// A counter, gauge or histogram a shard keeps.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Metric {
            $( $(#[doc = $help])+ $variant = $id, )+
        }

        impl Metric {
            /// Every metric, in the order of the ids.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Name, meaning and labels of the metric.
            #[must_use]
            pub const fn row(self) -> MetricRow {
                match self {
                    $( Self::$variant => MetricRow {
                        id: $id,
                        name: $name,
                        kind: MetricKind::$kind,
                        help: concat!($($help),+).trim_ascii(),
                        labels: &[$( Label { name: $label, values: $values::NAMES } ),*],
                        scale: metrics!(@scale $($scale)?),
                    }, )+
                }
            }
        }
    };
}

metrics! {
    /// Frames between shards and messages between nodes that were refused or not delivered.
    FrameDrops = 0, Counter, "frame_drops_total", "variant": FrameVariant, "reason": DropReason;
    /// Connections accepted.
    ConnectionsAccepted = 1, Counter, "connections_accepted_total";
    /// Connections closed, by reason.
    ConnectionCloses = 2, Counter, "connection_closes_total", "reason": CloseReason;
    /// Open connections.
    ConnectionsOpen = 3, Gauge, "connections_open";
    /// Open connections that have not logged in.
    ConnectionsUnauthenticated = 4, Gauge, "connections_unauthenticated";
    /// Open sessions.
    SessionsOpen = 5, Gauge, "sessions_open";
    /// Requests received in full.
    Requests = 6, Counter, "requests_total";
    /// Replies sent, by outcome of the request.
    Replies = 7, Counter, "replies_total", "outcome": ReplyOutcome;
    /// Bytes received from clients.
    BytesReceived = 8, Counter, "bytes_received_total";
    /// Bytes sent to clients.
    BytesSent = 9, Counter, "bytes_sent_total";
    /// Accept pauses caused by a lack of file descriptors or connection slots.
    AcceptPauses = 10, Counter, "accept_pauses_total";
    /// Frames taken from the mailboxes of other shards.
    MailboxEntries = 11, Counter, "mailbox_entries_total";
    /// Wake-ups of a sleeping shard by another shard.
    Doorbells = 12, Counter, "doorbells_total";
    /// Turns of the shard's loop.
    ShardTurns = 13, Counter, "shard_turns_total";
    /// System calls for I/O by the shard's thread.
    IoSyscalls = 14, Counter, "io_syscalls_total";
    /// I/O operations completed.
    IoOperations = 15, Counter, "io_operations_total";
    /// Logins by password, by outcome.
    Logins = 16, Counter, "logins_total", "outcome": LoginOutcome;
    /// Events of the native side lost because their ring was full.
    LogEventsLost = 17, Counter, "log_events_lost_total";
    /// Times a record ring between the first shard and the control plane became full.
    RecordRingFull = 18, Counter, "record_ring_full_total";
    /// Request latency, from the last byte received to the reply, by class.
    RequestSeconds = 19, Histogram(SECONDS), "request_seconds", "class": RequestClass;
    /// Time to write and sync a block of the journal, or to complete a requested sync.
    JournalSyncSeconds = 20, Histogram(SECONDS), "journal_sync_seconds";
    /// Size of each journal block, the unit that is written and synced at once.
    JournalBlockBytes = 21, Histogram(BYTES), "journal_block_bytes";
    /// Messages acknowledged to their producers.
    MessagesAppended = 22, Counter, "messages_appended_total";
    /// Bytes of acknowledged batches.
    MessageBytesAppended = 23, Counter, "message_bytes_appended_total";
    /// Messages returned by polls.
    MessagesPolled = 24, Counter, "messages_polled_total";
    /// Bytes of messages returned by polls.
    MessageBytesPolled = 25, Counter, "message_bytes_polled_total";
    /// Requests for partitions that wait for a replicated log or a disk.
    PartitionRequestsWaiting = 26, Gauge, "partition_requests_waiting";
    /// Frames from other shards that wait in mailboxes.
    MailboxEntriesWaiting = 27, Gauge, "mailbox_entries_waiting";
    /// Bytes of messages in the journal but not yet in segments.
    UnflushedBytes = 28, Gauge, "unflushed_bytes";
    /// Writes to segments postponed for lack of disk space or file descriptors.
    SegmentWritesPutOff = 29, Counter, "segment_writes_put_off_total";
    /// Open replication groups, including the metadata group.
    GroupsOpen = 30, Gauge, "groups_open";
    /// Files of the journal.
    JournalFiles = 31, Gauge, "journal_files";
    /// Bytes of the journal that cannot be reused yet.
    JournalLiveBytes = 32, Gauge, "journal_live_bytes";
    /// Limit of journal_live_bytes, above which requests are rejected.
    JournalLiveBytesMax = 33, Gauge, "journal_live_bytes_max";
    /// Polls that found damaged or missing messages.
    DamagedPolls = 34, Counter, "damaged_polls_total";
    /// Partitions with damaged or lost messages. `/ready` names them.
    DamagedPartitions = 35, Gauge, "damaged_partitions";
    /// Requests acknowledged at TCP level from their first bytes, because a client with Nagle's algorithm waits for that.
    EarlyAcknowledgements = 36, Counter, "early_acknowledgements_total";
    /// Bytes of deleted topics and partitions not yet deleted from the disk.
    TrashBytes = 37, Gauge, "trash_bytes";
    /// Partitions with messages in memory and in the journal that wait for disk space.
    PartitionsWaitingForSpace = 38, Gauge, "partitions_waiting_for_space";
    /// 1 while sends are refused for lack of disk space.
    RefusingSends = 39, Gauge, "refusing_sends";
    /// Sends refused for lack of disk space.
    SendsRefusedForSpace = 40, Counter, "sends_refused_for_space_total";
    /// Failed removals of files that are being retried.
    RemovalsFailing = 41, Gauge, "removals_failing";
    /// Ranges of offsets with damaged or lost messages.
    DamagedRanges = 42, Gauge, "damaged_ranges";
    /// Maximum memory of each part of the budget, in bytes.
    MemoryBudgetBytes = 43, Gauge, "memory_budget_bytes", "part": MemoryPart;
    /// Memory used by each part of the budget, in bytes.
    MemoryUsedBytes = 44, Gauge, "memory_used_bytes", "part": MemoryPart;
    /// Polls that wait for memory for their replies.
    PollsWaitingForMemory = 45, Gauge, "polls_waiting_for_memory";
    /// Replies to changes of streams and topics sent after 2 s, before every shard had converged.
    MetadataAnswersUnconverged = 46, Counter, "metadata_answers_unconverged_total";
    /// Bytes of disk space that a blocked journal needs for another file; 0 while it is not blocked.
    JournalBytesLacking = 47, Gauge, "journal_bytes_lacking";
    /// Logins refused, by reason.
    LoginRefusals = 48, Counter, "login_refusals_total", "reason": LoginRefusal;
}

/// How many cells an array of every metric with every combination of labels has.
pub const CELLS: usize = FIRST_CELLS[Metric::ALL.len()];

/// First cell of each metric, then the number of all cells.
const FIRST_CELLS: [usize; Metric::ALL.len() + 1] = first_cells();

/// The place of one value in a shard's array of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell(usize);

impl Cell {
    /// The cell of a metric without labels. For a labelled metric this does not compile in a constant, and panics
    /// elsewhere.
    #[must_use]
    pub const fn of(metric: Metric) -> Self {
        let row = metric.row();
        assert!(row.labels.is_empty() && row.scale.is_none(), "such a metric has its own constructor");
        Self(metric.first_cell())
    }

    /// The cell that counts frames of `variant` dropped for `reason`.
    #[must_use]
    pub const fn frame_drop(variant: FrameVariant, reason: DropReason) -> Self {
        let row = variant as usize * DropReason::ALL.len();
        Self(Metric::FrameDrops.first_cell() + row + reason as usize)
    }

    /// The cell that counts connections closed for `reason`.
    #[must_use]
    pub const fn close(reason: CloseReason) -> Self {
        Self(Metric::ConnectionCloses.first_cell() + reason as usize)
    }

    /// The cell that counts replies of `outcome`.
    #[must_use]
    pub const fn reply(outcome: ReplyOutcome) -> Self {
        Self(Metric::Replies.first_cell() + outcome as usize)
    }

    /// The cell that counts logins of `outcome`.
    #[must_use]
    pub const fn login(outcome: LoginOutcome) -> Self {
        Self(Metric::Logins.first_cell() + outcome as usize)
    }

    /// The cell that counts logins refused for `reason`.
    #[must_use]
    pub const fn login_refusal(reason: LoginRefusal) -> Self {
        Self(Metric::LoginRefusals.first_cell() + reason as usize)
    }

    /// The cell of the maximum of a part of the memory budget.
    #[must_use]
    pub const fn memory_budget(part: MemoryPart) -> Self {
        Self(Metric::MemoryBudgetBytes.first_cell() + part as usize)
    }

    /// The cell of the memory that a part of the budget uses.
    #[must_use]
    pub const fn memory_used(part: MemoryPart) -> Self {
        Self(Metric::MemoryUsedBytes.first_cell() + part as usize)
    }

    /// The cells of the histogram of requests of `class`.
    #[must_use]
    pub const fn request_seconds(class: RequestClass) -> HistogramCells {
        HistogramCells::of(Metric::RequestSeconds, class as usize)
    }

    /// The place in the array, below [`CELLS`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0
    }
}

/// The cells of one histogram: the count of each bucket of its scale, the last one above all bounds, and the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistogramCells {
    first: usize,
    scale: &'static Scale,
}

impl HistogramCells {
    /// The cells of a histogram for one combination of label values.
    #[must_use]
    pub const fn of(metric: Metric, place: usize) -> Self {
        let scale = metric.row().scale.expect("the metric is a histogram");
        assert!(place < metric.combinations(), "the metric has no such label values");
        Self { first: metric.first_cell() + place * scale.cells(), scale }
    }

    /// The cell to count a value in.
    #[must_use]
    pub fn bucket(self, value: u64) -> Cell {
        Cell(self.first + self.scale.bucket(value))
    }

    /// Every cell of the histogram, in the order of [`super::scale::Tally::cells`].
    pub fn all(self) -> impl Iterator<Item = Cell> {
        (self.first..self.first + self.scale.cells()).map(Cell)
    }

    /// The cell that sums the values up.
    #[must_use]
    pub const fn sum(self) -> Cell {
        Cell(self.first + self.scale.cells() - 1)
    }
}

impl Metric {
    /// Where the cells of this metric begin.
    #[must_use]
    pub const fn first_cell(self) -> usize {
        FIRST_CELLS[self as usize]
    }

    /// How many cells this metric has: one per combination of label values, or as many as the scale of a histogram asks.
    #[must_use]
    pub const fn cells(self) -> usize {
        match self.row().scale {
            Some(scale) => self.combinations() * scale.cells(),
            None => self.combinations(),
        }
    }

    /// How many combinations of label values there are.
    const fn combinations(self) -> usize {
        let labels = self.row().labels;
        let mut combinations = 1;
        let mut at = 0;
        while at < labels.len() {
            combinations *= labels[at].values.len();
            at += 1;
        }
        combinations
    }
}

const fn first_cells() -> [usize; Metric::ALL.len() + 1] {
    let mut first = [0; Metric::ALL.len() + 1];
    let mut at = 0;
    while at < Metric::ALL.len() {
        first[at + 1] = first[at] + Metric::ALL[at].cells();
        at += 1;
    }
    first
}
