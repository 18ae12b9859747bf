//! Between replicas and the journal: their records as its records, its progress as theirs.

use ng_io::{Environment, IoError};
use ng_storage::journal::{self, Refused};
use ng_storage::record::{RecordHeader, RecordKind};
use ng_storage::record_body::{InstallBody, ViewBody};
use ng_vsr::{Event, Position, Record, ViewRecord};
use ng_wire::replica::Op;

use crate::group::Body;
use crate::host::{ShardLog, Waits, Work};
use crate::machine::MetadataMachine;
use crate::outbox::Fatal;

/// What the disk says when it is full.
const ENOSPC: i32 = 28;

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Appends a record of a replica. A prepare was let in only when the journal had room; views and installs always have.
    pub(crate) fn append(&mut self, id: u64, position: Position, record: &Record, body: Option<&Body>) {
        let appended = match record {
            Record::Prepare(header) => {
                let Some(body) = body.cloned() else { return self.lose(id, header.op) };
                if let Some(group) = self.groups.get_mut(&id) {
                    group.bodies.insert(header.op, (header.checksum, body.clone()));
                    // It may have been handed out already, and its body have been lost since.
                    self.executable.insert(id);
                }
                self.journal.append((*header).into(), body)
            }
            Record::View(view) => {
                let (header, body) = view_record(id, view, self.journal.synced_through());
                self.journal.append(header, Body::new(body.into()))
            }
            Record::Install(anchor) => {
                let Some(body) = self.transfers.whole(id).map(InstallBody::encode) else {
                    return self.lose(id, anchor.op);
                };
                let header = RecordHeader {
                    op: anchor.op.0,
                    epoch: anchor.epoch,
                    ..RecordHeader::of(RecordKind::Install, id, &body)
                };
                self.journal.append(header, Body::new(body.into()))
            }
        };
        match appended {
            Ok(at) => {
                let synced = self.journal.synced_through();
                if let Some(group) = self.groups.get_mut(&id) {
                    group.appended(position, at.block, synced);
                    if matches!(record, Record::View(_)) && self.identity.nodes > 1 {
                        group.sworn_block = at.block;
                        self.journal.prove(at.block);
                    }
                }
            }
            Err(refused) => self.refused(id, kind_of(record), refused),
        }
    }

    /// Whether the journal takes a prepare now; asked before a replica hears of it, for a replica cannot take it back.
    pub(crate) fn has_room(&self, group: u64, op: Op, body_bytes: usize) -> bool {
        self.journal.has_room(group, op.0, body_bytes)
    }

    /// Heeds what the journal says, and starts what it has to do, unless its next block waits for company. In this order:
    /// what has just become durable says how much company there is.
    pub(crate) fn perform_journal(&mut self, driver: &mut E::Driver) {
        self.heed_journal(driver);
        let patience = self.shell.measured().recent_sync();
        let is_idle = self.journal.is_idle();
        if !is_idle || !self.gathering.holds(self.journal.waiting(), patience, self.instant) {
            self.journal.start(&mut self.journal_effects);
            self.heed_journal(driver);
        }
    }

    /// While segments wait for space the journal does not grow: it would take what a purge frees before messages are written
    /// there, and grow again because they are not. It needs two files to go on at all.
    fn leave_space_to_segments(&mut self) {
        if self.storing.store.waits_for_space() == 0 || self.journal.files() < journal::FILES_MIN {
            return;
        }
        let grows = |effect: &mut journal::Effect| matches!(effect, journal::Effect::Grow { .. });
        if self.journal_effects.extract_if(.., grows).count() > 0 {
            let refused = Err(IoError::new("leave space to segments", ENOSPC));
            self.journal.step(journal::Event::Grown(refused), &mut self.journal_effects);
        }
    }

    fn heed_journal(&mut self, driver: &mut E::Driver) {
        if self.journal_effects.is_empty() {
            return;
        }
        self.leave_space_to_segments();
        self.shell.perform(driver, &mut self.journal_effects);
        let mut effects = std::mem::take(&mut self.journal_effects);
        for effect in effects.drain(..) {
            match effect {
                journal::Effect::Durable { through, records } => {
                    self.gathering.durable(records + self.journal.waiting());
                    self.held.synced(through);
                    self.promised.synced(self.journal.proven_through());
                }
                journal::Effect::Enlist { files } => self.checkpoint.enlist(files),
                journal::Effect::Damaged { group, op } => self.damaged(group, Op(op)),
                journal::Effect::Fatal(fault) => {
                    let file = journal::shell::file_name(fault.file);
                    self.fail(Fatal::Write { file, error: fault.error });
                }
                other => unreachable!("the shell performs {other:?}"),
            }
        }
        // Nothing above asks the journal for anything: its memory is kept for the next effects.
        self.journal_effects = effects;
    }

    /// Lets a message go once the journal is synced up to a block. One for another node says what view this one is in, and
    /// that is a promise: it also waits until a later block vouches for the record of the view. A start that finds that record
    /// rotten knows then that it was there.
    pub(crate) fn hold_message(&mut self, block: u64, waits: Waits) {
        let sworn = match &waits {
            Waits::Message { group, to, .. } if *to != self.identity.node => self.groups.get(group),
            _ => None,
        };
        let sworn_block = sworn.map_or(0, |group| group.sworn_block);
        let proven = self.promised.until(sworn_block, (block, waits));
        if let Some(waits) = proven.and_then(|(block, waits)| self.held.until(block, waits)) {
            self.let_go(waits);
        }
    }

    pub(crate) fn release_held(&mut self) {
        while let Some((block, waits)) = self.promised.next() {
            if let Some(waits) = self.held.until(block, waits) {
                self.let_go(waits);
            }
        }
        while let Some(waits) = self.held.next() {
            self.let_go(waits);
        }
    }

    pub(crate) fn let_go(&mut self, waits: Waits) {
        match waits {
            Waits::Message { group, to, message, body } if to == self.identity.node => {
                let event = Event::Message { from: to, message: *message };
                self.work.push_back(Work { group, event, body, ticket: None });
            }
            Waits::Message { group, to, message, body } => self.send(group, to, *message, body),
            Waits::Removal { group } => self.remove_files(group),
        }
    }

    /// A stored record cannot be read any more.
    fn damaged(&mut self, group: u64, op: Op) {
        let Some(located) = self.journal.locate(group, op.0) else { return };
        if self.identity.nodes == 1
            && self.groups.get(&group).is_some_and(|known| op > known.replica.commit_min())
        {
            self.fail(Fatal::Lost { group, op });
            return;
        }
        let event = Event::Unreadable { op, checksum: located.checksum };
        self.work.push_back(Work { group, event, body: None, ticket: None });
    }

    fn lose(&mut self, group: u64, op: Op) {
        debug_assert!(false, "a prepare comes with its body");
        self.fail(Fatal::Lost { group, op });
    }

    /// A record was not taken that no replica can take back.
    pub(crate) fn refused(&mut self, group: u64, kind: RecordKind, refused: Refused) {
        match refused {
            // It has said so.
            Refused::Failed => self.failed = true,
            // So much waits for a full disk that no more can be kept in memory.
            Refused::Busy if kind != RecordKind::Prepare => {
                let file = journal::shell::file_name(self.journal.files());
                self.fail(Fatal::Write { file, error: IoError::new("make a further file", ENOSPC) });
            }
            other => unreachable!("a {kind:?} of group {group:x} was let in: {other}"),
        }
    }
}

const fn kind_of(record: &Record) -> RecordKind {
    match record {
        Record::Prepare(_) => RecordKind::Prepare,
        Record::View(_) => RecordKind::View,
        Record::Install(_) => RecordKind::Install,
    }
}

fn view_record(group: u64, view: &ViewRecord, synced_through: u64) -> (RecordHeader, Vec<u8>) {
    let body = ViewBody {
        view: view.view.0,
        log_view: view.log_view.0,
        commit: view.commit.0,
        head: view.head.0,
        headers: view.headers.iter().rev().map(|header| (*header).into()).collect(),
    }
    .encode();
    let header = RecordHeader {
        view: view.view.0,
        request: synced_through,
        ..RecordHeader::of(RecordKind::View, group, &body)
    };
    (header, body)
}
