//! Connects replicas and journal: appends the records of replicas, and reports syncs and damage to them.

use ng_io::{Environment, IoError};
use ng_storage::journal::{self, Refused};
use ng_storage::record::{RecordHeader, RecordKind};
use ng_storage::record_body::{InstallBody, ViewBody};
use ng_vsr::{Event, Position, Record, ViewRecord};
use ng_wire::replica::Op;

use crate::durability::journal::{ENOSPC, Report, Waits};
use crate::group::Body;
use crate::host::ShardLog;
use crate::machine::MetadataMachine;
use crate::outbox::Fatal;
use crate::replicate::agenda::Work;

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Appends a record of a replica. A prepare was admitted only when the journal had room; views and
    /// installs need no admission, because the journal always has room for them.
    pub(crate) fn append(&mut self, id: u64, position: Position, record: &Record, body: Option<&Body>) {
        let appended = match record {
            Record::Prepare(header) => {
                let Some(body) = body.cloned() else { return self.lose(id, header.op) };
                if let Some(group) = self.groups.get_mut(&id) {
                    group.execution.keep_body(header.op, header.checksum, body.clone());
                    // The operation may be executing already, after its body was lost in between.
                    self.agenda.execute(id);
                }
                self.journal.append((*header).into(), body)
            }
            Record::View(view) => {
                let (header, body) = view_record(id, view, self.journal.core().synced_through());
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
                let synced = self.journal.core().synced_through();
                if let Some(group) = self.groups.get_mut(&id) {
                    group.records.appended(position, at.block, synced);
                    if matches!(record, Record::View(_)) && self.life.identity.nodes > 1 {
                        group.records.set_promise_block(at.block);
                        self.journal.prove(at.block);
                    }
                }
            }
            Err(refused) => self.refused(id, kind_of(record), refused),
        }
    }

    /// The journal has room for a prepare. The caller asks before it passes the prepare to a replica, because
    /// a replica cannot take it back.
    pub(crate) fn has_room(&self, group: u64, op: Op, body_bytes: usize) -> bool {
        self.journal.core().has_room(group, op.0, body_bytes)
    }

    /// Performs the effects of the journal and handles its reports.
    pub(crate) fn perform_journal(&mut self, driver: &mut E::Driver) {
        let segments_wait = self.segments.core().waits_for_space() > 0;
        self.journal.perform(driver, segments_wait, self.clock.instant());
        while let Some(report) = self.journal.next_report() {
            match report {
                Report::Enlist { files } => self.checkpoint.enlist(files),
                Report::Damaged { group, op } => self.damaged(group, Op(op)),
                Report::Fatal(fault) => {
                    let file = journal::shell::file_name(fault.file);
                    self.outbox.fail(Fatal::Write { file, error: fault.error });
                }
            }
        }
    }

    /// Sends a message once the journal is synced up to a block. A message to another node contains the view,
    /// which is a promise. So it also waits until a later block proves the record of the view: a start that
    /// finds that record damaged then knows that it existed.
    pub(crate) fn hold_message(&mut self, block: u64, waits: Waits) {
        let promising = match &waits {
            Waits::Message { group, to, .. } if *to != self.life.identity.node => self.groups.get(group),
            _ => None,
        };
        let promised = promising.map_or(0, |group| group.records.promise_block());
        if let Some(waits) = self.journal.hold(block, promised, waits) {
            self.dispatch(waits);
        }
    }

    pub(crate) fn release_held(&mut self) {
        while let Some(waits) = self.journal.release() {
            self.dispatch(waits);
        }
    }

    pub(crate) fn dispatch(&mut self, waits: Waits) {
        match waits {
            Waits::Message { group, to, message, body } if to == self.life.identity.node => {
                let event = Event::Message { from: to, message: *message };
                self.agenda.add(Work { group, event, body, ticket: None });
            }
            Waits::Message { group, to, message, body } => self.send(group, to, *message, body),
            Waits::Removal { group } => self.segments.remove(group),
        }
    }

    /// A stored record is unreadable.
    fn damaged(&mut self, group: u64, op: Op) {
        let Some(located) = self.journal.core().locate(group, op.0) else { return };
        if self.life.identity.nodes == 1
            && self.groups.get(&group).is_some_and(|known| op > known.replica.commit_min())
        {
            self.outbox.fail(Fatal::Lost { group, op });
            return;
        }
        let event = Event::Unreadable { op, checksum: located.checksum };
        self.agenda.event(group, event);
    }

    fn lose(&mut self, group: u64, op: Op) {
        debug_assert!(false, "a prepare has a body");
        self.outbox.fail(Fatal::Lost { group, op });
    }

    /// The journal refused a record that no replica can take back.
    pub(crate) fn refused(&mut self, group: u64, kind: RecordKind, refused: Refused) {
        match refused {
            // The journal has reported the failure.
            Refused::Failed => self.outbox.stop(),
            // So many records wait for a full disk that memory has no room for more.
            Refused::Busy if kind != RecordKind::Prepare => {
                let file = journal::shell::file_name(self.journal.core().files());
                self.outbox.fail(Fatal::Write { file, error: IoError::new("make a further file", ENOSPC) });
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
