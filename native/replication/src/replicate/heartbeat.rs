//! One beat for all groups that this shard leads: who lives, and what is committed.

use std::ops::Bound;

use ng_io::Environment;
use ng_vsr::Event;
use ng_wire::replica::{Beat, BeatEntry, Commit, Content, Message};

use crate::group::Group;
use crate::host::{ShardLog, Work};
use crate::machine::MetadataMachine;

/// Groups that one beat tells of.
const ENTRIES_MAX: usize = 256;

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Tells the other nodes that this shard lives. The groups with news come first, then as many of the others as there
    /// is room for, in turn, so that what a lost beat said is said again.
    pub(crate) fn beat_if_due(&mut self) {
        if self.identity.nodes < 2 || self.now < self.next_beat {
            return;
        }
        self.next_beat = self.now + self.identity.timing.heartbeat;
        self.tend_transfers();
        let mut entries = Vec::new();
        while entries.len() < ENTRIES_MAX
            && let Some(id) = self.news.pop_front()
        {
            if let Some(group) = self.groups.get_mut(&id) {
                group.is_news = false;
                entries.extend(entry(id, group));
            }
        }
        self.fill_in_turn(&mut entries);
        self.send_beat(entries);
    }

    /// Goes on after the group at which the beat before ended; looks at no more groups than there is room for.
    fn fill_in_turn(&mut self, entries: &mut Vec<BeatEntry>) {
        let rest = ENTRIES_MAX - entries.len();
        let cursor = self.beat_cursor;
        let after = (Bound::Excluded(cursor), Bound::Unbounded);
        let turn: Vec<u64> = self
            .groups
            .range(after)
            .chain(self.groups.range(..=cursor))
            .map(|(id, _)| *id)
            .take(rest)
            .collect();
        self.beat_cursor = turn.last().copied().unwrap_or(cursor);
        for id in turn {
            entries.extend(self.groups.get_mut(&id).and_then(|group| entry(id, group)));
        }
    }

    fn send_beat(&mut self, entries: Vec<BeatEntry>) {
        let beat = Beat {
            shard: self.identity.shard,
            shards: self.identity.shards,
            incarnation: self.identity.incarnation,
            entries,
        };
        self.say_to_all(Content::Beat(beat));
    }

    /// A beat of another node: its shard lives, and leads these groups.
    pub(crate) fn hear_beat(&mut self, from: u8, beat: &Beat) {
        let part = (beat.shard, beat.shards);
        if let Some(restarted) = self.pairs.beat(from, part, beat.incarnation, self.now) {
            self.suspect(restarted);
        }
        for entry in beat.entries.iter().filter(|entry| self.groups.contains_key(&entry.group)) {
            let commit = Commit { view: entry.view, commit_max: entry.commit_max, head: entry.head };
            let event = Event::Message { from, message: Message::Commit(commit) };
            self.work.push_back(Work { group: entry.group, event, body: None, ticket: None });
        }
    }
}

fn entry(id: u64, group: &mut Group) -> Option<BeatEntry> {
    let Commit { view, commit_max, head } = group.replica.beat()?;
    group.told = commit_max;
    Some(BeatEntry { group: id, view, commit_max, head })
}
