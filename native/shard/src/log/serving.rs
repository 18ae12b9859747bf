//! States that other nodes fetch from this one: what the group is without its messages at once, the messages piece by piece
//! out of its segments.

use std::collections::BTreeMap;
use std::sync::Arc;

use ng_io::{Buffer, Environment};
use ng_storage::PAGE;
use ng_storage::record_body::InstallBody;
use ng_storage::segments_file::SegmentEntry;
use ng_storage::store::ExportedFile;
use ng_vsr::Ticks;
use ng_wire::replica::{Content, FetchState, STATE_CHUNK_MAX, StateChunk, xxh3_128};

use super::group::Body;
use super::machine::{Machine, MetadataMachine};
use super::shard_log::ShardLog;
use super::state::{entry_of, metadata_state};
use super::transfer_head::TransferHead;

/// States that are kept for others at a time.
const EXPORTS_MAX: usize = 4;

/// Beats after which a state that nobody asks for any more is dropped.
const EXPORT_PATIENCE: Ticks = 50;

/// A state that another node is fetching.
#[derive(Debug)]
struct Export {
    nonce: u64,
    asked: Ticks,
    stage: Stage,
    /// The last piece was sent; it may be asked for again.
    ended: bool,
}

#[derive(Debug)]
enum Stage {
    /// The segments do not hold all of it yet.
    Gathering(Gathered),
    Ready(Box<Ready>),
}

/// A partition without its messages.
#[derive(Debug)]
struct Gathered {
    install: InstallBody,
    op: u64,
    generation: u64,
    /// `u64::MAX` for none.
    last_offset: u64,
}

#[derive(Debug)]
struct Ready {
    head: Body,
    generation: u64,
    files: Vec<ExportedFile>,
    total: u64,
    /// The piece that was read last, and where it stands in the state.
    piece: Option<(u64, Body)>,
    reading: Option<u64>,
}

/// All states that others are fetching, by node and group.
#[derive(Debug, Default)]
pub(super) struct Exports(BTreeMap<(u8, u64), Export>);

impl Exports {
    /// Drops what nobody has asked for any more.
    pub(super) fn drop_stale(&mut self, now: Ticks, resend: Ticks) {
        self.0.retain(|_, export| now < export.asked + EXPORT_PATIENCE * resend);
    }

    /// Whether another can be kept; one that has been sent to its end makes room.
    fn has_room(&mut self) -> bool {
        if self.0.len() >= EXPORTS_MAX {
            let ended = self.0.iter().find(|(_, export)| export.ended).map(|(key, _)| *key);
            ended.is_some_and(|key| self.0.remove(&key).is_some())
        } else {
            true
        }
    }
}

impl Ready {
    fn new(head: Vec<u8>, generation: u64, files: Vec<ExportedFile>) -> Self {
        let total = head.len() as u64 + files.iter().map(|file| file.bytes).sum::<u64>();
        Self { head: Arc::new(head), generation, files, total, piece: None, reading: None }
    }

    /// The file that a position lies in, the position in that, and how many bytes a piece from there has.
    fn place(&self, position: u64) -> Option<(SegmentEntry, u64, usize)> {
        let mut offset = position.checked_sub(self.head.len() as u64)?;
        for file in &self.files {
            if offset < file.bytes {
                let length = (file.bytes - offset).min(STATE_CHUNK_MAX as u64);
                return Some((file.entry, offset, usize::try_from(length).ok()?));
            }
            offset -= file.bytes;
        }
        None
    }

    /// The piece at a position, if it is in memory.
    fn piece(&self, position: u64) -> Option<Body> {
        let head = usize::try_from(position).ok().and_then(|start| self.head.get(start..));
        match head.filter(|rest| !rest.is_empty()) {
            Some(rest) => Some(Arc::new(rest[..rest.len().min(STATE_CHUNK_MAX)].to_vec())),
            None => self.piece.as_ref().filter(|(at, _)| *at == position).map(|(_, piece)| piece.clone()),
        }
    }

    /// Takes what was read, if that was asked for; false if it is not what it was any more.
    fn take(&mut self, entry: &SegmentEntry, offset: u64, bytes: Option<&Buffer>) -> Option<(u64, bool)> {
        let position = self.reading?;
        let (wanted, from, length) = self.place(position)?;
        if (&wanted, from) != (entry, offset) {
            return None;
        }
        self.reading = None;
        let piece = bytes.and_then(|bytes| bytes.get(..length));
        self.piece = piece.map(|piece| (position, Arc::new(piece.to_vec())));
        Some((position, piece.is_some()))
    }
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Another node asks for a piece of a group's state. What cannot be answered yet is asked again.
    pub(super) fn serve_state(&mut self, to: u8, id: u64, fetch: &FetchState) {
        let known = self.exports.0.get(&(to, id)).is_some_and(|export| export.nonce == fetch.nonce);
        if !known {
            if fetch.position != 0 {
                self.say_gone(to, id, fetch.nonce);
                return;
            }
            self.exports.0.remove(&(to, id));
            if !self.exports.has_room() {
                return;
            }
            let Some(stage) = self.gather(id) else { return };
            let export = Export { nonce: fetch.nonce, asked: self.now, stage, ended: false };
            self.exports.0.insert((to, id), export);
        }
        self.make_ready(to, id);
        let sent = self.send_piece(to, id, fetch.position);
        let Some(export) = self.exports.0.get_mut(&(to, id)) else { return };
        export.asked = self.now;
        let Stage::Ready(ready) = &mut export.stage else { return };
        if !sent
            && ready.reading.is_none()
            && let Some((entry, offset, length)) = ready.place(fetch.position)
            && offset.is_multiple_of(PAGE as u64)
        {
            ready.reading = Some(fetch.position);
            let length = length.next_multiple_of(PAGE);
            self.storing.store.read(id, entry, offset, length, &mut self.storing.effects);
        }
    }

    /// The state of a group as of what its replica has executed, unless its machine is ahead of that just now.
    fn gather(&mut self, id: u64) -> Option<Stage> {
        let group = self.groups.get(&id)?;
        let anchor = group.replica.anchor().filter(|anchor| anchor.op == group.executed)?;
        match &group.machine {
            Machine::Partition(partition, _) => {
                let entry = entry_of(partition, &anchor);
                let install = InstallBody { anchor: anchor.into(), state: entry.to_bytes() };
                let (generation, last_offset) = (entry.purge_generation, entry.last_offset);
                Some(Stage::Gathering(Gathered { install, op: anchor.op.0, generation, last_offset }))
            }
            Machine::Metadata => {
                let mut machine = Vec::new();
                self.metadata.snapshot(&mut machine);
                let state = metadata_state(&anchor, group.replica.clients()?, machine).encode();
                let install = InstallBody { anchor: anchor.into(), state };
                let head = TransferHead { install, list: None, unsealed: 0 };
                Some(Stage::Ready(Box::new(Ready::new(head.encode(), 0, Vec::new()))))
            }
        }
    }

    /// Goes on to the messages once all of them are in segments. A purge meanwhile makes the state one of the past.
    fn make_ready(&mut self, to: u8, id: u64) {
        self.open_segments(id);
        let Some(export) = self.exports.0.get_mut(&(to, id)) else { return };
        let Stage::Gathering(gathered) = &export.stage else { return };
        let (store, effects) = (&mut self.storing.store, &mut self.storing.effects);
        if store.held(id).is_none() {
            store.open(id, None, effects);
            return;
        }
        if store.synced(id) < gathered.op {
            store.flush(id, effects);
            return;
        }
        let Some(plan) = store.export(id) else { return };
        let reaches = gathered.last_offset == u64::MAX || plan.last_offset >= Some(gathered.last_offset);
        if plan.generation != gathered.generation || !reaches {
            self.exports.0.remove(&(to, id));
            return;
        }
        let head = TransferHead::of(gathered.install.clone(), id, &plan);
        export.stage = Stage::Ready(Box::new(Ready::new(head.encode(), plan.generation, plan.files)));
    }

    /// A piece of a segment was read, for whoever waits for it.
    pub(super) fn piece_read(&mut self, id: u64, entry: &SegmentEntry, offset: u64, bytes: Option<&Buffer>) {
        let generation = self.storing.store.held(id).map(|held| held.generation);
        let mut told = Vec::new();
        for ((to, group), export) in &mut self.exports.0 {
            if *group == id
                && let Stage::Ready(ready) = &mut export.stage
                && let Some((position, whole)) = ready.take(entry, offset, bytes)
            {
                told.push((*to, position, whole && generation == Some(ready.generation), export.nonce));
            }
        }
        for (to, position, stands, nonce) in told {
            if stands {
                self.send_piece(to, id, position);
            } else {
                self.exports.0.remove(&(to, id));
                self.say_gone(to, id, nonce);
            }
        }
    }

    /// Sends the piece at a position, if it is in memory.
    fn send_piece(&mut self, to: u8, id: u64, position: u64) -> bool {
        let Some(export) = self.exports.0.get_mut(&(to, id)) else { return false };
        let Stage::Ready(ready) = &export.stage else { return false };
        let Some(piece) = ready.piece(position) else { return false };
        export.ended |= position + piece.len() as u64 == ready.total;
        let (nonce, total) = (export.nonce, ready.total);
        self.send_chunk(to, id, (nonce, position, total), piece);
        true
    }

    fn say_gone(&mut self, to: u8, id: u64, nonce: u64) {
        self.send_chunk(to, id, (nonce, 0, 0), Arc::new(Vec::new()));
    }

    fn send_chunk(&mut self, to: u8, id: u64, (nonce, position, total): (u64, u64, u64), piece: Body) {
        let Some(group) = self.groups.get(&id) else { return };
        let chunk = StateChunk {
            nonce,
            position,
            total,
            checksum: xxh3_128(&piece),
            bytes: u32::try_from(piece.len()).unwrap_or(0),
        };
        self.say(to, id, group.epoch, Content::StateChunk(chunk), Some(piece));
    }
}
