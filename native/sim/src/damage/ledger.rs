//! Everything that was acknowledged, held against what is served after damage.

use std::collections::{BTreeMap, BTreeSet};

use ng_wire::batch::{BATCH_HEADER_BYTES, BatchHeader, Messages};

use crate::judges::Verdict;

/// What a partition serves.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Payload of each message by its offset.
    pub(super) messages: BTreeMap<u64, Vec<u8>>,
    /// Acknowledged offsets that are refused as damaged.
    pub(super) refused: BTreeSet<u64>,
    pub(super) stored: BTreeMap<u32, Option<u64>>,
}

/// What a partition has acknowledged.
#[derive(Debug, Default)]
pub(super) struct Acknowledged {
    /// Payloads by offset.
    pub(super) messages: BTreeMap<u64, Vec<u8>>,
    /// Payloads of everything that was executed, acknowledged or not.
    known: BTreeMap<u64, Vec<u8>>,
    /// No acknowledged message has this offset or a higher one.
    pub(super) next_offset: u64,
    pub(super) stored: BTreeMap<u32, u64>,
    /// Whether an operator has accepted its losses, and no reading has settled which those are.
    pub(super) may_lose: bool,
    /// Ranges that the damaged files held: they may be refused.
    pub(super) excused: Vec<(u64, u64)>,
}

impl Acknowledged {
    /// A batch was executed.
    pub(super) fn executes(&mut self, batch: &[u8]) {
        for (offset, payload) in messages_of(batch).unwrap_or_default() {
            self.known.insert(offset, payload);
        }
    }

    /// A batch was acknowledged.
    pub(super) fn acknowledges(&mut self, batch: &[u8]) -> Result<(), String> {
        for (offset, payload) in messages_of(batch)? {
            if offset < self.next_offset {
                return Err(format!("offset {offset} is given again; the next one was {}", self.next_offset));
            }
            self.messages.insert(offset, payload);
            self.next_offset = offset + 1;
        }
        Ok(())
    }

    /// Holds a reading against the ledger; `fenced` are the ranges that the node says are lost.
    pub(super) fn judge(&self, reading: &Reading, fenced: &[(u64, u64)]) -> Result<(), Verdict> {
        self.judge_served(reading)?;
        let within = |ranges: &[(u64, u64)], offset: u64| {
            ranges.iter().any(|(first, last)| (*first..=*last).contains(&offset))
        };
        if let Some(offset) = reading.refused.iter().find(|offset| !within(&self.excused, **offset)) {
            return Err(Verdict(format!("offset {offset} is refused, and no damaged file held it")));
        }
        if let Some(offset) = reading.refused.iter().find(|offset| !within(fenced, **offset)) {
            return Err(Verdict(format!("offset {offset} is refused, and no fence names it: {fenced:?}")));
        }
        if self.may_lose {
            return Ok(());
        }
        let is_gone =
            |offset: &u64| !reading.messages.contains_key(offset) && !reading.refused.contains(offset);
        let gone: Vec<u64> = self.messages.keys().copied().filter(is_gone).collect();
        if let (Some(first), Some(last)) = (gone.first(), gone.last()) {
            return Err(Verdict(format!(
                "silent loss of {} acknowledged messages from offset {first} to {last}",
                gone.len()
            )));
        }
        for (consumer, offset) in &self.stored {
            let found = reading.stored.get(consumer).copied().flatten();
            if found != Some(*offset) {
                return Err(Verdict(format!("consumer {consumer} stored {offset}, and finds {found:?}")));
            }
        }
        Ok(())
    }

    /// Whatever was lost: what is served has the bytes that were sent.
    pub(super) fn judge_served(&self, reading: &Reading) -> Result<(), Verdict> {
        for (offset, payload) in &reading.messages {
            let known = self.messages.get(offset).or_else(|| self.known.get(offset));
            match known {
                Some(known) if known == payload => {}
                Some(_) => return Err(Verdict(format!("another message is served at offset {offset}"))),
                None => {
                    return Err(Verdict(format!("offset {offset} is served, and nothing was sent there")));
                }
            }
        }
        Ok(())
    }

    /// After an accepted loss the partition stands for what it serves now; its offsets stay given.
    pub(super) fn settle(&mut self, reading: &Reading) {
        if std::mem::take(&mut self.may_lose) {
            self.messages.retain(|offset, _| {
                reading.messages.contains_key(offset) || reading.refused.contains(offset)
            });
            self.stored = reading
                .stored
                .iter()
                .filter_map(|(consumer, offset)| Some((*consumer, (*offset)?)))
                .collect();
        }
    }
}

/// The messages of batches that stand one after the other: offset and payload of each.
pub(super) fn messages_of(mut bytes: &[u8]) -> Result<Vec<(u64, Vec<u8>)>, String> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let header = BatchHeader::decode(bytes).map_err(|refusal| format!("no batch: {refusal:?}"))?;
        let length = usize::try_from(header.length).unwrap_or(usize::MAX);
        let (batch, rest) = bytes.split_at_checked(length).ok_or("a batch is cut")?;
        for message in Messages::new(&batch[BATCH_HEADER_BYTES..], header.count) {
            let message = message.map_err(|refusal| format!("no message: {refusal:?}"))?;
            if !message.is_intact() {
                return Err("a message does not fit its checksum".to_owned());
            }
            found.push((header.base_offset + u64::from(message.offset_delta), message.payload.to_vec()));
        }
        bytes = rest;
    }
    Ok(found)
}
