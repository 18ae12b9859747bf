//! Publishes the metrics of a shard at the end of a turn.

use ng_io::{Driver, Environment};
use ng_wire::table::frame_drop::{DropReason, FrameVariant};
use ng_wire::table::metric::{Cell, HistogramCells, Metric};
use ng_wire::table::outcome::{LoginOutcome, LoginRefusal};

use super::Shard;

impl<E: Environment> Shard<E> {
    pub(super) fn publish(&mut self) {
        self.turns += 1;
        let metrics = &self.handler.metrics;
        let traffic = self.connections.traffic();
        let counters = self.driver.counters();
        let rings = self.handler.mailboxes.rings();
        for (cell, value) in [
            (const { Cell::of(Metric::ShardTurns) }, self.turns),
            (const { Cell::of(Metric::ConnectionsOpen) }, self.connections.count() as u64),
            (
                const { Cell::of(Metric::ConnectionsUnauthenticated) },
                self.connections.unauthenticated() as u64,
            ),
            (const { Cell::of(Metric::BytesReceived) }, traffic.bytes_received),
            (const { Cell::of(Metric::BytesSent) }, traffic.bytes_sent),
            (const { Cell::of(Metric::EarlyAcknowledgements) }, traffic.early_acknowledgements),
            (const { Cell::of(Metric::Doorbells) }, rings),
            (const { Cell::of(Metric::IoSyscalls) }, counters.syscalls),
            (const { Cell::of(Metric::IoOperations) }, counters.operations),
            (const { Cell::of(Metric::LogEventsLost) }, self.handler.log.lost()),
        ] {
            metrics.set(cell, value);
        }
        if let Some(registry) = &self.handler.registry {
            let logins = registry.login_counts();
            metrics.set(const { Cell::of(Metric::SessionsOpen) }, registry.sessions() as u64);
            let submitted = self.first.as_ref().map_or(0, |first| first.from_python.times_full());
            let full = registry.ring_full_count() + submitted;
            metrics.set(const { Cell::of(Metric::RecordRingFull) }, full);
            metrics.set(Cell::login(LoginOutcome::Ok), logins.ok);
            metrics.set(Cell::login(LoginOutcome::Refused), logins.refused + logins.throttled);
            metrics.set(Cell::login_refusal(LoginRefusal::Credentials), logins.refused);
            metrics.set(Cell::login_refusal(LoginRefusal::Throttled), logins.throttled);
            metrics.set(Cell::login(LoginOutcome::Busy), logins.busy);
        }
        if let Some(commands) = &self.handler.metadata {
            let unconverged = commands.unconverged();
            metrics.set(const { Cell::of(Metric::MetadataAnswersUnconverged) }, unconverged);
        }
        self.publish_log();
        self.publish_space();
        self.publish_memory();
        self.handler.measure_answered(|| self.driver.now());
        // Rung after every turn that left an event or a record for Python, because a bell without a sleeper
        // costs only one load.
        let told = self.handler.log.told();
        let records = self.handler.registry.as_mut().is_some_and(|registry| registry.take_written());
        if records || told != self.events_told {
            self.events_told = told;
            self.python_bell.ring();
        }
    }

    fn publish_log(&self) {
        let metrics = &self.handler.metrics;
        let counts = self.log.counts();
        let disk = self.log.disk_figures();
        let (live_bytes, live_bytes_max) = disk.journal_live_bytes;
        let (damaged_partitions, damaged_ranges) = self.owned.damaged();
        for (cell, value) in [
            (const { Cell::of(Metric::PartitionRequestsWaiting) }, self.owned.waiting() as u64),
            (const { Cell::of(Metric::MailboxEntriesWaiting) }, self.handler.mailboxes.waiting() as u64),
            (const { Cell::of(Metric::PollsWaitingForMemory) }, self.handler.waiting_polls.count() as u64),
            (const { Cell::of(Metric::UnflushedBytes) }, disk.unflushed_bytes as u64),
            (const { Cell::of(Metric::SegmentWritesPutOff) }, counts.put_off),
            (const { Cell::of(Metric::GroupsOpen) }, disk.groups as u64),
            (const { Cell::of(Metric::JournalFiles) }, disk.journal_files.into()),
            (const { Cell::of(Metric::JournalLiveBytes) }, live_bytes),
            (const { Cell::of(Metric::JournalLiveBytesMax) }, live_bytes_max),
            (const { Cell::of(Metric::DamagedPartitions) }, damaged_partitions as u64),
            (const { Cell::of(Metric::DamagedRanges) }, damaged_ranges as u64),
            (Cell::frame_drop(FrameVariant::ReplicaMessage, DropReason::Unwanted), counts.dropped),
            (Cell::frame_drop(FrameVariant::ReplicaMessage, DropReason::Full), counts.dropped_full),
            (Cell::frame_drop(FrameVariant::ReplicaRead, DropReason::Full), counts.dropped_reads),
        ] {
            metrics.set(cell, value);
        }
        let measured = self.log.journal_measured();
        metrics.show(const { HistogramCells::of(Metric::JournalSyncSeconds, 0) }, &measured.sync_micros);
        metrics.show(const { HistogramCells::of(Metric::JournalBlockBytes, 0) }, &measured.block_bytes);
    }
}
