//! One beat for all groups that this shard leads: who lives, and what is committed.

use std::collections::VecDeque;
use std::ops::Bound;

use ng_io::Environment;
use ng_vsr::{Event, Ticks};
use ng_wire::replica::{Beat, BeatEntry, Commit, Content, Message};

use crate::group::Group;
use crate::host::ShardLog;
use crate::machine::MetadataMachine;

/// Groups that one beat tells of.
const ENTRIES_MAX: usize = 256;

/// When the next beat is due, and which groups it tells of.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    /// Groups of which the other nodes do not know the commit.
    news: VecDeque<u64>,
    /// The group after which the next beat goes on.
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

    /// The next beat tells of this group first.
    pub(crate) fn add_news(&mut self, group: u64) {
        self.news.push_back(group);
    }
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Tells the other nodes that this shard lives. The groups with news come first, then as many of the
    /// others as there is room for, in turn, so that what a lost beat said is said again.
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

    /// Goes on after the group at which the beat before ended; looks at no more groups than there is room
    /// for.
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

    /// A beat of another node: its shard lives, and leads these groups.
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
