//! Sends states to other nodes: first the head, which is the state without its messages, then the messages
//! that the other node lacks, piece by piece from the segments.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ng_io::{Buffer, Environment};
use ng_storage::PAGE;
use ng_storage::record_body::InstallBody;
use ng_storage::segments_file::SegmentEntry;
use ng_storage::store::{ExportedFile, Fetch, Fetched, Sought};
use ng_vsr::Ticks;
use ng_wire::batch::BatchHeader;
use ng_wire::replica::{Content, FetchState, Op, STATE_CHUNK_MAX, StateChunk, xxh3_128};

use crate::group::Body;
use crate::group_state::{entry_of, metadata_state};
use crate::host::ShardLog;
use crate::machine::{Machine, MetadataMachine};
use crate::transfer::head::TransferHead;

/// Maximum states kept for others.
const EXPORTS_MAX: usize = 4;

/// Resend periods without a request after which a state is dropped.
const EXPORT_PATIENCE: Ticks = 50;

/// The same while another node waits for room. A node that still fetches has sent several requests within
/// this time.
const CROWDED_PATIENCE: Ticks = 4;

/// Marks requests of exports to the segments, to distinguish them from those of polls.
const ASKER: u64 = 1 << 63;

/// A state that another node is fetching.
#[derive(Debug)]
struct Export {
    nonce: u64,
    asked: Ticks,
    /// Last operation in the state.
    anchor: Op,
    stage: ExportStage,
    /// The last piece was sent; the node may still request it again.
    ended: bool,
}

#[derive(Debug)]
enum ExportStage {
    /// Segments do not contain all operations of the state yet.
    Gathering(Gathered),
    /// The segments are searched for the first message that the other node lacks, under this number.
    Locating(Gathered, u64),
    Ready(Box<Ready>),
}

/// A partition's state without its messages.
#[derive(Clone, Debug)]
struct Gathered {
    install: InstallBody,
    generation: u64,
    first_offset: u64,
    last_offset: Option<u64>,
    /// First offset that the other node lacks.
    first: u64,
}

impl Gathered {
    const fn next_offset(&self) -> u64 {
        match self.last_offset {
            Some(last) => last + 1,
            None => 0,
        }
    }

    /// First offset of the state that these segments still contain.
    fn kept_from(&self, files: &[ExportedFile]) -> u64 {
        let held = files.first().map_or(self.next_offset(), |file| file.entry.base_offset);
        held.max(self.first_offset)
    }

    /// The state with messages from these spans.
    fn with(&self, kept_from: u64, spans: Vec<Span>) -> ExportStage {
        let head = TransferHead { install: self.install.clone(), first: self.first, kept_from };
        ExportStage::Ready(Box::new(Ready::new(&head, self.generation, spans)))
    }

    /// The state without messages, because a later purge removed all of them. The replica executed that purge
    /// in an earlier run; its segments do not return to an earlier generation while it waits to learn that
    /// the purge is committed.
    fn purged(&self) -> ExportStage {
        Self { first: 0, ..self.clone() }.with(self.next_offset(), Vec::new())
    }
}

/// Byte range of one segment.
#[derive(Debug)]
struct Span {
    entry: SegmentEntry,
    begin: u64,
    end: u64,
}

/// Position of a piece.
#[derive(Debug)]
struct Place {
    entry: SegmentEntry,
    /// Position of the page with the first byte; `skip` is the byte's position in the page.
    page: u64,
    skip: usize,
    length: usize,
}

#[derive(Debug)]
struct Ready {
    head: Body,
    generation: u64,
    spans: Vec<Span>,
    total: u64,
    /// The piece that was read last, with its position in the state.
    piece: Option<(u64, Body)>,
    reading: Option<u64>,
}

/// All states that others are fetching, by node and group.
#[derive(Debug, Default)]
pub(crate) struct Exports {
    all: BTreeMap<(u8, u64), Export>,
    asked: u64,
    /// Groups whose log is retained, because others will request it after the state.
    pub(crate) kept: BTreeSet<u64>,
}

impl Exports {
    /// The number belongs to an export and not to a poll.
    pub(crate) const fn asks(asker: u64) -> bool {
        asker & ASKER != 0
    }

    /// Returns true if there is room for another export. When all slots are used, removes the oldest that was
    /// sent completely or had no request since `quiet_since`.
    fn has_room(&mut self, quiet_since: Ticks) -> bool {
        if self.all.len() < EXPORTS_MAX {
            return true;
        }
        let is_over = |export: &Export| export.ended || export.asked < quiet_since;
        let over = self.all.iter().filter(|(_, export)| is_over(export));
        let longest = over.min_by_key(|(_, export)| export.asked).map(|(key, _)| *key);
        longest.is_some_and(|key| self.all.remove(&key).is_some())
    }

    /// Oldest anchor among the states of a group that others are fetching. They will request the log after
    /// it.
    pub(crate) fn oldest_anchor(&self, id: u64) -> Option<Op> {
        let of_group = self.all.iter().filter(|((_, group), _)| *group == id);
        of_group.map(|(_, export)| export.anchor).min()
    }
}

impl Ready {
    fn new(head: &TransferHead, generation: u64, spans: Vec<Span>) -> Self {
        let head = head.encode();
        let total = head.len() as u64 + spans.iter().map(|span| span.end - span.begin).sum::<u64>();
        Self { head: Arc::new(head.into()), generation, spans, total, piece: None, reading: None }
    }

    /// Position of the piece that begins at `position`.
    fn place(&self, position: u64) -> Option<Place> {
        let mut behind = position.checked_sub(self.head.len() as u64)?;
        for Span { entry, begin, end } in &self.spans {
            if behind < end - begin {
                let offset = begin + behind;
                let page = offset / PAGE as u64 * PAGE as u64;
                let skip = usize::try_from(offset - page).ok()?;
                let length = (end - offset).min((STATE_CHUNK_MAX - skip) as u64);
                return Some(Place { entry: *entry, page, skip, length: usize::try_from(length).ok()? });
            }
            behind -= end - begin;
        }
        None
    }

    /// The piece at `position`, if it is in memory.
    fn piece(&self, position: u64) -> Option<Body> {
        let head = usize::try_from(position).ok().and_then(|start| self.head.get(start..));
        match head.filter(|rest| !rest.is_empty()) {
            Some(rest) => Some(Arc::new(rest[..rest.len().min(STATE_CHUNK_MAX)].to_vec().into())),
            None => self.piece.as_ref().filter(|(at, _)| *at == position).map(|(_, piece)| piece.clone()),
        }
    }

    /// Takes the result of a read if this state requested it. The flag is false if the segment has changed or
    /// is unreadable.
    fn take(&mut self, entry: &SegmentEntry, page: u64, bytes: Option<&Buffer>) -> Option<(u64, bool)> {
        let position = self.reading?;
        let place = self.place(position)?;
        if (&place.entry, place.page) != (entry, page) {
            return None;
        }
        self.reading = None;
        let piece = bytes.and_then(|bytes| bytes.get(place.skip..place.skip + place.length));
        self.piece = piece.map(|piece| (position, Arc::new(piece.to_vec().into())));
        Some((position, piece.is_some()))
    }
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Serves a request for a piece of a group's state. If the piece is not ready, no answer is sent, because
    /// the other node will ask again.
    pub(crate) fn serve_state(&mut self, to: u8, id: u64, fetch: &FetchState) {
        let known =
            self.transfers.exports.all.get(&(to, id)).is_some_and(|export| export.nonce == fetch.nonce);
        if !known {
            if fetch.position != 0 {
                self.refuse_state(to, id, fetch.nonce);
                return;
            }
            self.transfers.exports.all.remove(&(to, id));
            if !self.transfers.exports.has_room(
                self.clock.ticks().saturating_sub(CROWDED_PATIENCE * self.life.identity.timing.resend),
            ) {
                // Another node may have room.
                self.refuse_state(to, id, fetch.nonce);
                return;
            }
            let Some((anchor, stage)) = self.gather(id, fetch) else { return };
            let export =
                Export { nonce: fetch.nonce, asked: self.clock.ticks(), anchor, stage, ended: false };
            self.transfers.exports.all.insert((to, id), export);
            self.hold_log(id);
        }
        self.make_ready(to, id);
        let sent = self.send_piece(to, id, fetch.position);
        let Some(export) = self.transfers.exports.all.get_mut(&(to, id)) else { return };
        export.asked = self.clock.ticks();
        let ExportStage::Ready(ready) = &mut export.stage else { return };
        if !sent
            && ready.reading.is_none()
            && let Some(place) = ready.place(fetch.position)
        {
            ready.reading = Some(fetch.position);
            let length = (place.skip + place.length).next_multiple_of(PAGE);
            self.segments.order(|store, effects| store.read(id, place.entry, place.page, length, effects));
        }
    }

    /// Drops states without recent requests, and retains the log only for the others.
    pub(crate) fn tend_exports(&mut self) {
        let (now, resend) = (self.clock.ticks(), self.life.identity.timing.resend);
        self.transfers.exports.all.retain(|_, export| now < export.asked + EXPORT_PATIENCE * resend);
        for id in self.transfers.exports.kept.clone() {
            self.hold_log(id);
        }
    }

    /// The state at the last executed operation; `None` while the machine is ahead of its replica.
    fn gather(&mut self, id: u64, fetch: &FetchState) -> Option<(Op, ExportStage)> {
        let group = self.groups.get(&id)?;
        let anchor = group.replica.anchor().filter(|anchor| anchor.op == group.execution.executed())?;
        let stage = match &group.machine {
            Machine::Partition(partition, _) => {
                let entry = entry_of(partition, &anchor);
                let install = InstallBody { anchor: anchor.into(), state: entry.to_bytes() };
                let generation = entry.purge_generation;
                let (first_offset, last_offset) = (entry.first_offset, partition.state().last_offset);
                let first = if fetch.generation == generation { fetch.offset } else { 0 };
                ExportStage::Gathering(Gathered { install, generation, first_offset, last_offset, first })
            }
            Machine::Metadata => {
                let mut machine = Vec::new();
                self.metadata.snapshot(&mut machine);
                let state = metadata_state(&anchor, group.replica.clients()?, machine).encode();
                let install = InstallBody { anchor: anchor.into(), state };
                let head = TransferHead { install, first: 0, kept_from: 0 };
                ExportStage::Ready(Box::new(Ready::new(&head, 0, Vec::new())))
            }
        };
        Some((anchor.op, stage))
    }

    /// Locates the messages once all of them are in segments. A purge in the meantime makes the state
    /// obsolete.
    fn make_ready(&mut self, to: u8, id: u64) {
        self.open_segments(id);
        let Exports { all, asked, .. } = &mut self.transfers.exports;
        let Some(export) = all.get_mut(&(to, id)) else { return };
        let ExportStage::Gathering(gathered) = &export.stage else { return };
        let Some(held) = self.segments.core().held(id) else {
            self.segments.order(|store, effects| store.open(id, None, effects));
            return;
        };
        if self.segments.core().synced(id) < export.anchor.0 {
            self.segments.order(|store, effects| store.flush(id, effects));
            return;
        }
        if held.generation > gathered.generation {
            export.stage = gathered.purged();
            return;
        }
        if !self.segments.core().holds(id, gathered.generation, gathered.last_offset) {
            all.remove(&(to, id));
            return;
        }
        if gathered.first == 0 || gathered.last_offset < Some(gathered.first) {
            let nothing = gathered.first > 0;
            let Some(plan) = self.segments.core().export(id) else { return };
            let files = if nothing { &[] as &[ExportedFile] } else { &plan.files };
            export.stage = gathered.with(gathered.kept_from(&plan.files), spans(files, 0));
            return;
        }
        *asked += 1;
        let fetch = Fetch {
            asker: ASKER | *asked,
            generation: gathered.generation,
            sought: Sought::Offset(gathered.first),
            until: u64::MAX,
            bytes: PAGE,
            batch_bytes: usize::MAX,
        };
        export.stage = ExportStage::Locating(gathered.clone(), fetch.asker);
        self.segments.order(|store, effects| store.fetch(id, fetch, effects));
    }

    /// Takes the position of the first batch that the other node lacks.
    pub(crate) fn export_located(&mut self, asker: u64, fetched: &Fetched) {
        let asks = |export: &Export| matches!(export.stage, ExportStage::Locating(_, by) if by == asker);
        let Some((key, export)) = self.transfers.exports.all.iter_mut().find(|(_, export)| asks(export))
        else {
            return;
        };
        let ((to, id), nonce) = (*key, export.nonce);
        let ExportStage::Locating(gathered, _) = &export.stage else { return };
        let begin = match fetched {
            Fetched::Batches(found) => found.batches.first().and_then(|first| {
                let header = BatchHeader::decode(found.buffer.get(first.clone())?).ok()?;
                Some((header.base_offset, found.position + first.start as u64))
            }),
            _ => None,
        };
        let plan = self.segments.core().export(id);
        let located = plan.and_then(|plan| {
            let kept_from = gathered.kept_from(&plan.files);
            let Some((offset, position)) = begin else {
                // All messages that it lacks were truncated, and none follow.
                let truncated = matches!(fetched, Fetched::Nothing) && plan.files.is_empty();
                return truncated.then(|| gathered.with(kept_from, Vec::new()));
            };
            let first = plan.files.iter().rposition(|file| file.entry.base_offset <= offset)?;
            Some(gathered.with(kept_from, spans(&plan.files[first..], position)))
        });
        match located {
            Some(stage) => export.stage = stage,
            None => {
                self.transfers.exports.all.remove(&(to, id));
                self.refuse_state(to, id, nonce);
                return;
            }
        }
        self.send_piece(to, id, 0);
    }

    /// The segments of a group have made progress, so a gathered state may be ready now.
    pub(crate) fn exports_follow(&mut self, id: u64) {
        let gathering = |export: &Export| matches!(export.stage, ExportStage::Gathering(_));
        let of_group = self
            .transfers
            .exports
            .all
            .iter()
            .filter(|((_, group), export)| *group == id && gathering(export));
        for to in of_group.map(|((to, _), _)| *to).collect::<Vec<_>>() {
            self.make_ready(to, id);
            self.send_piece(to, id, 0);
        }
    }

    /// Takes a piece of a segment and sends it to the nodes that wait for it.
    pub(crate) fn piece_read(&mut self, id: u64, entry: &SegmentEntry, offset: u64, bytes: Option<&Buffer>) {
        let generation = self.segments.core().held(id).map(|held| held.generation);
        let mut waiting = Vec::new();
        for ((to, group), export) in &mut self.transfers.exports.all {
            if *group == id
                && let ExportStage::Ready(ready) = &mut export.stage
                && let Some((position, whole)) = ready.take(entry, offset, bytes)
            {
                waiting.push((*to, position, whole && generation == Some(ready.generation), export.nonce));
            }
        }
        for (to, position, current, nonce) in waiting {
            if current {
                self.send_piece(to, id, position);
            } else {
                self.transfers.exports.all.remove(&(to, id));
                self.refuse_state(to, id, nonce);
            }
        }
    }

    /// Sends the piece at a position, if it is in memory.
    fn send_piece(&mut self, to: u8, id: u64, position: u64) -> bool {
        let Some(export) = self.transfers.exports.all.get_mut(&(to, id)) else { return false };
        let ExportStage::Ready(ready) = &export.stage else { return false };
        let Some(piece) = ready.piece(position) else { return false };
        export.ended |= position + piece.len() as u64 == ready.total;
        let (nonce, total) = (export.nonce, ready.total);
        self.send_chunk(to, id, (nonce, position, total), piece);
        true
    }

    fn refuse_state(&mut self, to: u8, id: u64, nonce: u64) {
        self.send_chunk(to, id, (nonce, 0, 0), Arc::new(Vec::new().into()));
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
        self.send_content(to, id, group.epoch, Content::StateChunk(chunk), Some(piece));
    }
}

/// Spans of these files; the first begins at `position`.
fn spans(files: &[ExportedFile], position: u64) -> Vec<Span> {
    let begins = std::iter::once(position).chain(std::iter::repeat(0));
    let span = |(file, begin): (&ExportedFile, u64)| Span { entry: file.entry, begin, end: file.bytes };
    files.iter().zip(begins).map(span).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use ng_storage::record::{RecordHeader, RecordKind};

    use super::*;

    fn gathered() -> Gathered {
        let anchor = RecordHeader::of(RecordKind::Prepare, 7, &[]);
        let install = InstallBody { anchor, state: vec![1, 2, 3] };
        Gathered { install, generation: 2, first_offset: 14, last_offset: Some(66), first: 20 }
    }

    fn file(base_offset: u64) -> ExportedFile {
        let (last_offset, generation) = (u64::MAX, 2);
        let entry = SegmentEntry {
            base_offset,
            last_offset,
            min_timestamp: 0,
            max_timestamp: 0,
            bytes: 0,
            messages: 0,
            generation,
            footer: 0,
        };
        ExportedFile { path: PathBuf::new(), entry, bytes: 0 }
    }

    /// Regression: a group of three stalled. The only replica with the state had executed a truncation before
    /// it restarted, and claimed that it still retained the truncated messages, so the others refused the
    /// messages as incomplete.
    #[test]
    fn a_sender_does_not_promise_messages_that_its_segments_have_dropped() {
        let gathered = gathered();
        assert_eq!(
            gathered.kept_from(&[file(10), file(40)]),
            14,
            "the state dropped what the segments retain"
        );
        assert_eq!(gathered.kept_from(&[file(47)]), 47);
        assert_eq!(gathered.kept_from(&[]), 67);
        assert_eq!(Gathered { last_offset: None, first_offset: 0, ..gathered }.kept_from(&[]), 0);
    }

    /// Regression: nodes that stopped fetching kept others from a state for 50 resend periods, and those got
    /// no answer.
    #[test]
    fn a_state_without_requests_makes_room() {
        let export = |asked, ended| {
            let stage = ExportStage::Gathering(gathered());
            Export { nonce: 1, asked, anchor: Op(9), stage, ended }
        };
        let mut exports = Exports::default();
        for (to, asked) in (0..).zip([70, 50, 60]) {
            assert!(exports.has_room(0));
            exports.all.insert((to, 7), export(asked, false));
        }
        exports.all.insert((3, 7), export(90, false));
        assert!(!exports.has_room(50), "each was asked for since then");
        assert!(exports.has_room(61));
        assert!(!exports.all.contains_key(&(1, 7)), "the one that was asked for least recently makes room");
        exports.all.insert((1, 7), export(95, true));
        assert!(exports.has_room(50));
        assert!(!exports.all.contains_key(&(1, 7)), "it was sent to its end");
        assert_eq!(exports.all.len(), 3);
    }

    #[test]
    fn a_state_of_a_purged_generation_has_no_messages() {
        let ExportStage::Ready(ready) = gathered().purged() else { panic!("nothing is to be read") };
        let head = TransferHead::decode(&ready.head).expect("an install record").expect("a whole head");
        assert_eq!((head.first, head.kept_from, head.install.state), (0, 67, vec![1, 2, 3]));
        assert_eq!(ready.total, ready.head.len() as u64);
    }
}
