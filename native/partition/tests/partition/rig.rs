//! A primary without a cluster: what it prepares stands in a log, and is executed some time later.

use ng_partition::{Applied, Partition, PartitionLimits, StampRefusal, Stamped, Stamper};
use ng_wire::batch::BatchBuilder;
use ng_wire::replica::{LogOperation, OffsetWrite, PartitionOp, PartitionReply, offsets_body};

/// Few enough that tests fill the table.
pub(crate) const LIMITS: PartitionLimits =
    PartitionLimits { index: 3, batch_bytes_max: 4096, consumer_offsets_max: 4 };

pub(crate) const GROUP: u64 = 77;

/// One operation as it stands in the log.
pub(crate) type Entry = (LogOperation, Vec<u8>);

/// A batch of messages with these numbers.
pub(crate) fn batch(ids: impl IntoIterator<Item = u128>) -> Vec<u8> {
    let empty = BatchBuilder::new(1_000);
    ids.into_iter().fold(empty, |batch, id| batch.message(id, 0, &id.to_le_bytes(), b"")).finish()
}

pub(crate) fn offsets(writes: &[OffsetWrite]) -> Entry {
    (LogOperation::Offsets, offsets_body(writes))
}

/// A log, how far it was executed, and who stamps what comes next.
pub(crate) struct Rig {
    pub(crate) partition: Partition,
    pub(crate) stamper: Option<Stamper>,
    pub(crate) log: Vec<Entry>,
}

impl Rig {
    pub(crate) fn new(partition: Partition) -> Self {
        Self { partition, stamper: None, log: Vec::new() }
    }

    fn executed(&self) -> usize {
        usize::try_from(self.partition.state().applied_op).expect("a short log")
    }

    /// Stamps a batch; `None` if what stands in the log must be executed first.
    pub(crate) fn stamp(&mut self, batch: &mut [u8], now: u64) -> Option<Result<Stamped, StampRefusal>> {
        if self.stamper.is_none() && self.executed() == self.log.len() {
            self.stamper = Some(Stamper::begin(&self.partition));
        }
        Some(self.stamper.as_mut()?.stamp(batch, now))
    }

    pub(crate) fn prepare(&mut self, (operation, body): Entry) {
        if let Some(stamper) = &mut self.stamper {
            stamper.follow(operation, &body);
        }
        self.log.push((operation, body));
    }

    pub(crate) fn ask(&mut self, operation: PartitionOp<'_>) {
        self.prepare(operation.encode());
    }

    /// Stamps and prepares messages with these numbers.
    pub(crate) fn send(&mut self, ids: impl IntoIterator<Item = u128>, now: u64) -> Stamped {
        let mut batch = batch(ids);
        let stamped = self.stamp(&mut batch, now).expect("nothing inherited").expect("a good batch");
        self.prepare((LogOperation::Batch, batch));
        stamped
    }

    /// Executes the next operation of the log.
    pub(crate) fn execute(&mut self) -> Option<Applied> {
        let at = self.executed();
        let (operation, body) = self.log.get(at)?;
        Some(self.partition.apply(at as u64 + 1, *operation, body))
    }

    pub(crate) fn execute_all(&mut self) -> Vec<Applied> {
        std::iter::from_fn(|| self.execute()).collect()
    }

    /// Executes all that is left; what came of the last of it, as its client reads it.
    pub(crate) fn reply(&mut self) -> PartitionReply {
        let applied = self.execute_all().pop().expect("something to execute");
        PartitionReply::decode(&applied.reply()).expect("a reply")
    }

    /// Another replica leads: what was prepared beyond `kept` operations is gone, if it was not executed.
    pub(crate) fn change_view(&mut self, kept: usize) {
        self.log.truncate(kept.max(self.executed()));
        self.stamper = None;
    }
}
