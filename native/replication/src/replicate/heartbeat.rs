//! Heartbeats: one frame for all groups that this shard leads. It shows that the shard is alive and contains
//! commits.

use std::collections::VecDeque;
use std::ops::Bound;

use ng_io::Environment;
use ng_vsr::{Event, Ticks};
use ng_wire::replica::{Beat, BeatEntry, Commit, Content, Message};

use crate::group::Group;
use crate::host::ShardLog;
use crate::machine::MetadataMachine;

/// Maximum groups in one heartbeat.
const ENTRIES_MAX: usize = 256;

/// Time and contents of the next heartbeat.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    /// Groups with commits that no heartbeat has sent yet.
    news: VecDeque<u64>,
    /// Group after which the next heartbeat continues.
    cursor: u64,
    next: Ticks,
}

impl Heartbeat {
    pub(crate) const fn new(now: Ticks) -> Self {
        Self { news: VecDeque::new(), cursor: 0, next: now }
    }

    pub(crate) const fn deadline(&self) -> Ticks {
        self.next
    }

    /// The next heartbeat contains this group first.
    pub(crate) fn add_news(&mut self, group: u64) {
        self.news.push_back(group);
    }
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Sends a heartbeat to the other nodes. Groups with new commits are first; other groups fill the rest in
    /// rotation, so that the loss of a heartbeat is repaired.
    pub(crate) fn beat_if_due(&mut self) {
        if self.life.identity.nodes < 2 || self.clock.ticks() < self.peers.heartbeat.next {
            return;
        }
        self.peers.heartbeat.next = self.clock.ticks() + self.life.identity.timing.heartbeat;
        self.tend_transfers();
        let mut entries = Vec::new();
        while entries.len() < ENTRIES_MAX
            && let Some(id) = self.peers.heartbeat.news.pop_front()
        {
            if let Some(group) = self.groups.get_mut(&id) {
                group.leave_news();
                entries.extend(entry(id, group));
            }
        }
        self.fill_in_turn(&mut entries);
        self.send_beat(entries);
    }

    /// Continues after the last group of the previous heartbeat. Visits at most as many groups as there is
    /// room for.
    fn fill_in_turn(&mut self, entries: &mut Vec<BeatEntry>) {
        let rest = ENTRIES_MAX - entries.len();
        let cursor = self.peers.heartbeat.cursor;
        let after = (Bound::Excluded(cursor), Bound::Unbounded);
        let turn: Vec<u64> = self
            .groups
            .range(after)
            .chain(self.groups.range(..=cursor))
            .map(|(id, _)| *id)
            .take(rest)
            .collect();
        self.peers.heartbeat.cursor = turn.last().copied().unwrap_or(cursor);
        for id in turn {
            entries.extend(self.groups.get_mut(&id).and_then(|group| entry(id, group)));
        }
    }

    fn send_beat(&mut self, entries: Vec<BeatEntry>) {
        let beat = Beat {
            shard: self.life.identity.shard,
            shards: self.life.identity.shards,
            incarnation: self.life.identity.incarnation,
            entries,
        };
        self.broadcast(Content::Beat(beat));
    }

    /// Takes a heartbeat of another node: its shard is alive and leads these groups.
    pub(crate) fn receive_beat(&mut self, from: u8, beat: &Beat) {
        let part = (beat.shard, beat.shards);
        if let Some(restarted) = self.peers.liveness.beat(from, part, beat.incarnation, self.clock.ticks()) {
            self.suspect(restarted);
        }
        for entry in beat.entries.iter().filter(|entry| self.groups.contains_key(&entry.group)) {
            let commit = Commit { view: entry.view, commit_max: entry.commit_max, head: entry.head };
            let event = Event::Message { from, message: Message::Commit(commit) };
            self.agenda.event(entry.group, event);
        }
    }
}

fn entry(id: u64, group: &mut Group) -> Option<BeatEntry> {
    let Commit { view, commit_max, head } = group.beat()?;
    Some(BeatEntry { group: id, view, commit_max, head })
}
