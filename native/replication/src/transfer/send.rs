//! States that other nodes fetch from this one: what the group is without its messages at once, then the
//! messages that the other one lacks, piece by piece out of the segments.

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

/// States that are kept for others at a time.
const EXPORTS_MAX: usize = 4;

/// Periods of resending after which a state that nobody asks for any more is dropped.
const EXPORT_PATIENCE: Ticks = 50;

/// The same where another node waits for its place: whoever still wants it has asked for a piece several
/// times in so long.
const CROWDED_PATIENCE: Ticks = 4;

/// What tells the questions of an export to the segments from those of polls.
const ASKER: u64 = 1 << 63;

/// A state that another node is fetching.
#[derive(Debug)]
struct Export {
    nonce: u64,
    asked: Ticks,
    /// The last operation in it.
    anchor: Op,
    stage: ExportStage,
    /// The last piece was sent; it may be asked for again.
    ended: bool,
}

#[derive(Debug)]
enum ExportStage {
    /// The segments do not hold all of it yet.
    Gathering(Gathered),
    /// Where the first message stands that the other node lacks is being looked up, under this number.
    Locating(Gathered, u64),
    Ready(Box<Ready>),
}

/// A partition without its messages.
#[derive(Clone, Debug)]
struct Gathered {
    install: InstallBody,
    generation: u64,
    first_offset: u64,
    last_offset: Option<u64>,
    /// The first offset that the other node lacks.
    first: u64,
}

impl Gathered {
    const fn next_offset(&self) -> u64 {
        match self.last_offset {
            Some(last) => last + 1,
            None => 0,
        }
    }

    /// First offset of the state that these segments still hold.
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
    /// in an earlier life; its segments do not return to an earlier generation while it waits to hear that it
    /// is committed.
    fn purged(&self) -> ExportStage {
        Self { first: 0, ..self.clone() }.with(self.next_offset(), Vec::new())
    }
}

/// Bytes of one segment.
#[derive(Debug)]
struct Span {
    entry: SegmentEntry,
    begin: u64,
    end: u64,
}

/// Where a piece lies.
#[derive(Debug)]
struct Place {
    entry: SegmentEntry,
    /// The page that it begins in, and where in that.
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
    /// The piece that was read last, and where it stands in the state.
    piece: Option<(u64, Body)>,
    reading: Option<u64>,
}

/// All states that others are fetching, by node and group.
#[derive(Debug, Default)]
pub(crate) struct Exports {
    all: BTreeMap<(u8, u64), Export>,
    asked: u64,
    /// Groups of which the log is kept for the sake of these.
    pub(crate) kept: BTreeSet<u64>,
}

impl Exports {
    /// Whether a question to the segments was one of these.
    pub(crate) const fn asks(asker: u64) -> bool {
        asker & ASKER != 0
    }

    /// Whether another can be kept. If there are as many as may be, the one makes room that was sent to its
    /// end or was not asked for since `quiet_since`.
    fn has_room(&mut self, quiet_since: Ticks) -> bool {
        if self.all.len() < EXPORTS_MAX {
            return true;
        }
        let is_over = |export: &Export| export.ended || export.asked < quiet_since;
        let over = self.all.iter().filter(|(_, export)| is_over(export));
        let longest = over.min_by_key(|(_, export)| export.asked).map(|(key, _)| *key);
        longest.is_some_and(|key| self.all.remove(&key).is_some())
    }

    /// The oldest anchor of the states of a group that others are fetching: what follows it they will ask
    /// for.
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

    /// Where the piece at a position lies.
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

    /// The piece at a position, if it is in memory.
    fn piece(&self, position: u64) -> Option<Body> {
        let head = usize::try_from(position).ok().and_then(|start| self.head.get(start..));
        match head.filter(|rest| !rest.is_empty()) {
            Some(rest) => Some(Arc::new(rest[..rest.len().min(STATE_CHUNK_MAX)].to_vec().into())),
            None => self.piece.as_ref().filter(|(at, _)| *at == position).map(|(_, piece)| piece.clone()),
        }
    }

    /// Takes what was read, if that was asked for; false if it is not what it was any more.
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
    /// Another node asks for a piece of a group's state. What cannot be answered yet is asked again.
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

    /// Drops what nobody has asked for any more; the log behind the others is kept for those who will ask for
    /// it.
    pub(crate) fn tend_exports(&mut self) {
        let (now, resend) = (self.clock.ticks(), self.life.identity.timing.resend);
        self.transfers.exports.all.retain(|_, export| now < export.asked + EXPORT_PATIENCE * resend);
        for id in self.transfers.exports.kept.clone() {
            self.hold_log(id);
        }
    }

    /// The state of a group as of what its replica has executed, unless its machine is ahead of that just
    /// now.
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

    /// Goes on to the messages once all of them are in segments. A purge meanwhile makes the state one of the
    /// past.
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

    /// It was looked up where the first batch stands that another node lacks.
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
                // All that it lacks was truncated, and there is nothing behind that.
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

    /// The segments of a group have come further: what is gathered of it may be ready now.
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

    /// A piece of a segment was read, for whoever waits for it.
    pub(crate) fn piece_read(&mut self, id: u64, entry: &SegmentEntry, offset: u64, bytes: Option<&Buffer>) {
        let generation = self.segments.core().held(id).map(|held| held.generation);
        let mut told = Vec::new();
        for ((to, group), export) in &mut self.transfers.exports.all {
            if *group == id
                && let ExportStage::Ready(ready) = &mut export.stage
                && let Some((position, whole)) = ready.take(entry, offset, bytes)
            {
                told.push((*to, position, whole && generation == Some(ready.generation), export.nonce));
            }
        }
        for (to, position, stands, nonce) in told {
            if stands {
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

/// The batches of these files, those of the first from a position on.
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

    /// Once a group of three stood still: the only replica with the state had executed a truncation before it
    /// restarted, and told the others that it still retained what that had dropped. They refused the messages
    /// as incomplete.
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

    /// Nodes that gave up fetching kept others from a state for 50 periods of resending, and those were told
    /// nothing.
    #[test]
    fn a_state_that_nobody_asks_for_makes_room() {
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
