//! What a partition is, in other words: every message by its offset, every consumer by its name.

use std::collections::BTreeMap;

use ng_wire::batch::{BATCH_HEADER_BYTES, BatchHeader, Messages};
use ng_wire::replica::{ConsumerKind, OffsetRefusal, PartitionOp, PartitionReply, RefusedOffset, Rejection};

use crate::rig::{Entry, LIMITS};

/// A partition that keeps its messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    /// Messages of this generation, also the truncated ones.
    pub(crate) messages: BTreeMap<u64, u128>,
    pub(crate) first_offset: u64,
    pub(crate) generation: u64,
    pub(crate) fenced: bool,
    pub(crate) consumers: Vec<(ConsumerKind, u64, u64)>,
}

impl Model {
    pub(crate) fn last_offset(&self) -> Option<u64> {
        self.messages.keys().next_back().copied()
    }

    /// Executes an operation; what its client must be told.
    pub(crate) fn execute(&mut self, (operation, body): &Entry) -> PartitionReply {
        let value = match PartitionOp::decode(*operation, body) {
            None => return PartitionReply::Rejected(Rejection::Unsupported),
            Some(Err(_)) => return PartitionReply::Rejected(Rejection::Malformed),
            Some(Ok(PartitionOp::Batch(_))) if self.fenced => {
                return PartitionReply::Rejected(Rejection::Fenced);
            }
            Some(Ok(PartitionOp::Batch(batch))) => self.append(batch),
            Some(Ok(PartitionOp::Offsets(writes))) => {
                let results: Vec<_> =
                    writes.iter().map(|write| self.store(write.kind, write.id, write.offset)).collect();
                let refused = (0..)
                    .zip(results)
                    .filter_map(|(index, result)| result.err().map(|reason| RefusedOffset { index, reason }));
                return PartitionReply::Done { value: 0, refused: refused.collect() };
            }
            Some(Ok(PartitionOp::Purge { generation })) => {
                if generation <= self.generation {
                    return PartitionReply::Rejected(Rejection::StaleGeneration);
                }
                *self = Self { generation, fenced: self.fenced, ..Self::default() };
                generation
            }
            Some(Ok(PartitionOp::TruncatePrefix { offset })) => {
                let end = self.last_offset().map_or(0, |last| last + 1);
                if offset > self.first_offset {
                    self.first_offset = if offset > end { end } else { offset };
                }
                self.first_offset
            }
            Some(Ok(PartitionOp::DropGroupOffsets { id })) => {
                self.consumers.retain(|(kind, own, _)| (*kind, *own) != (ConsumerKind::Group, id));
                0
            }
            Some(Ok(PartitionOp::Fence { on })) => {
                self.fenced = on;
                0
            }
            Some(Ok(PartitionOp::Swap(swap))) => {
                if swap.generation != self.generation {
                    return PartitionReply::Rejected(Rejection::StaleGeneration);
                }
                let truncated = swap.inputs().any(|input| input.last_offset < self.first_offset);
                if truncated {
                    return PartitionReply::Rejected(Rejection::InputGone);
                }
                0
            }
            Some(Ok(PartitionOp::Noop)) => 0,
        };
        PartitionReply::Done { value, refused: Vec::new() }
    }

    fn append(&mut self, batch: &[u8]) -> u64 {
        let header = BatchHeader::decode(batch).expect("a batch that was stamped");
        for message in Messages::new(&batch[BATCH_HEADER_BYTES..], header.count) {
            let message = message.expect("a good message");
            let offset = header.base_offset + u64::from(message.offset_delta);
            let before = self.messages.insert(offset, message.id);
            assert_eq!(before, None, "offset {offset} was given twice");
        }
        header.base_offset
    }

    fn store(&mut self, kind: ConsumerKind, id: u64, offset: Option<u64>) -> Result<(), OffsetRefusal> {
        let place = self.consumers.iter().position(|consumer| (consumer.0, consumer.1) == (kind, id));
        match (offset, place) {
            (None, None) => return Err(OffsetRefusal::Missing),
            (None, Some(place)) => drop(self.consumers.swap_remove(place)),
            (Some(offset), _) if self.last_offset() < Some(offset) => return Err(OffsetRefusal::BeyondEnd),
            (Some(offset), Some(place)) => self.consumers[place].2 = offset,
            (Some(offset), None) if self.consumers.len() < LIMITS.consumer_offsets_max as usize => {
                self.consumers.push((kind, id, offset));
            }
            _ => return Err(OffsetRefusal::TableFull),
        }
        Ok(())
    }
}
