use std::collections::VecDeque;

use ng_wire::replica::{Op, PrepareHeader, Standing, SuffixEntry, Tail};

use crate::effect::Position;

/// One place of the log.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// What stands there, where that is known.
    pub(crate) header: Option<PrepareHeader>,
    /// What is known of it here.
    pub(crate) standing: Standing,
    /// Up to where the journal must be synced to have it.
    pub(crate) position: Position,
    /// Who acknowledged it in this view, a bit for each replica.
    pub(crate) acks: u32,
    /// What is in the journal for this place and was not proved to be the group's: it may be the last copy.
    aside: Option<Box<(PrepareHeader, Position)>>,
}

impl Slot {
    const UNKNOWN: Self = Self {
        header: None,
        standing: Standing::Damaged,
        position: Position::RECOVERED,
        acks: 0,
        aside: None,
    };

    fn present(header: PrepareHeader, position: Position) -> Self {
        Self { header: Some(header), standing: Standing::Present, position, ..Self::UNKNOWN }
    }

    pub(crate) fn is_present(&self) -> bool {
        self.standing == Standing::Present
    }
}

/// The part of the log that is kept in memory: from an executed operation, the anchor, to the head.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    anchor: PrepareHeader,
    /// The places after the anchor.
    slots: VecDeque<Slot>,
    /// How many of them are not present.
    missing: usize,
    /// What is known of the places behind the head.
    pub(crate) tail: Tail,
}

impl Window {
    pub(crate) const fn new(anchor: PrepareHeader, tail: Tail) -> Self {
        Self { anchor, slots: VecDeque::new(), missing: 0, tail }
    }

    pub(crate) const fn base(&self) -> Op {
        self.anchor.op
    }

    pub(crate) fn head(&self) -> Op {
        self.anchor.op.plus(self.slots.len() as u64)
    }

    /// How many places after the anchor are not present.
    pub(crate) const fn missing(&self) -> usize {
        self.missing
    }

    pub(crate) fn get(&self, op: Op) -> Option<&Slot> {
        self.slots.get(self.index(op)?)
    }

    pub(crate) fn get_mut(&mut self, op: Op) -> Option<&mut Slot> {
        let index = self.index(op)?;
        self.slots.get_mut(index)
    }

    /// What stands at a place, the anchor's among them.
    pub(crate) fn header(&self, op: Op) -> Option<&PrepareHeader> {
        if op == self.anchor.op { Some(&self.anchor) } else { self.get(op)?.header.as_ref() }
    }

    /// The known header at a place if its body is here.
    pub(crate) fn stored(&self, op: Op) -> Option<&PrepareHeader> {
        self.get(op).filter(|slot| slot.is_present())?.header.as_ref()
    }

    /// The places after `from` up to the head.
    pub(crate) fn after(&self, from: Op) -> impl Iterator<Item = (Op, &Slot)> {
        let skip = usize::try_from(from.since(self.anchor.op)).unwrap_or(usize::MAX);
        let base = self.anchor.op;
        self.slots.iter().enumerate().skip(skip).map(move |(index, slot)| (base.plus(index as u64 + 1), slot))
    }

    /// The last place of which nothing is known. What stands behind it says what belongs there.
    pub(crate) fn last_unknown(&self) -> Option<Op> {
        let index = self.slots.iter().rposition(|slot| slot.header.is_none())?;
        Some(self.anchor.op.plus(index as u64 + 1))
    }

    /// Puts an operation whose body is here into its place. Nothing was ever acknowledged in the places that this skips,
    /// unless records are lost: they stand as the tail does.
    pub(crate) fn place(&mut self, header: PrepareHeader, position: Position) {
        let skipped = self.tail.standing();
        while self.head() < header.op.previous() {
            self.slots.push_back(Slot { standing: skipped, ..Slot::UNKNOWN });
            self.missing += 1;
        }
        if header.op == self.head().next() {
            self.slots.push_back(Slot::present(header, position));
        } else if let Some(slot) = self.get_mut(header.op) {
            let was_missing = !slot.is_present();
            *slot = Slot { acks: slot.acks, ..Slot::present(header, position) };
            self.missing -= usize::from(was_missing);
        }
        self.recall_before(header.op);
    }

    /// Takes back, link by link, what was put aside in front of a known operation and leads to it.
    fn recall_before(&mut self, mut op: Op) {
        while let Some(parent) = self.header(op).map(|header| header.parent) {
            op = op.previous();
            if !self.get_mut(op).is_some_and(|slot| slot.recall(parent)) {
                return;
            }
            self.missing -= 1;
        }
    }

    /// Takes over the log of a view: `headers` run from an operation that some primary executed to its head.
    ///
    /// Places in front of them stay up to `committed`, what this replica knew to be committed in the log it had,
    /// and beyond as far as they provably lead to the new one; the rest is put aside. What this replica may have
    /// acknowledged and lost never becomes "header only": that would be a false "no".
    pub(crate) fn adopt(&mut self, headers: &[PrepareHeader], committed: Op) {
        let (Some(first), Some(last)) = (headers.first(), headers.last()) else { return };
        let unseen = match self.tail {
            Tail::Certain => Standing::HeaderOnly,
            Tail::Unproven => Standing::Unproven,
            Tail::Damaged => Standing::Damaged,
        };
        self.slots.truncate(usize::try_from(last.op.since(self.anchor.op)).unwrap_or(usize::MAX));
        while self.head() < first.op.previous() {
            self.slots.push_back(Slot::UNKNOWN);
        }
        for header in headers {
            if header.op > self.head() {
                self.slots.push_back(Slot { standing: unseen, header: Some(*header), ..Slot::UNKNOWN });
            } else if let Some(slot) = self.get_mut(header.op) {
                slot.adopt(header);
            }
        }
        self.put_disconnected_aside(first.op, committed.max(self.anchor.op));
        self.tail = Tail::Certain;
        self.slots.iter_mut().for_each(|slot| slot.acks = 0);
        self.count_missing();
    }

    /// Puts aside what stands between `committed` and `from` and does not lead to it, link by link.
    fn put_disconnected_aside(&mut self, from: Op, committed: Op) {
        let mut op = from;
        let mut connected = true;
        while op > committed.next() {
            let parent = self.header(op).map(|header| header.parent);
            op = op.previous();
            let Some(slot) = self.get_mut(op) else { continue };
            if let Some(parent) = parent.filter(|_| connected) {
                slot.recall(parent);
            }
            let link = slot.header.map(|header| header.checksum);
            connected = connected && link.is_some() && link == parent;
            if !connected {
                slot.put_aside();
            }
        }
    }

    /// Makes `anchor` the first place: the state up to it came from elsewhere.
    ///
    /// What stands behind it stays if it leads on from it.
    pub(crate) fn install(&mut self, anchor: PrepareHeader) {
        let connected = self.head() >= anchor.op
            && self.header(anchor.op).is_none_or(|header| header.checksum == anchor.checksum)
            && self.header(anchor.op.next()).is_none_or(|header| header.parent == anchor.checksum);
        if connected {
            let drop = usize::try_from(anchor.op.since(self.anchor.op)).unwrap_or(usize::MAX);
            self.slots.drain(..drop);
        } else {
            self.slots.clear();
        }
        self.anchor = anchor;
        self.count_missing();
    }

    /// Moves the anchor up to an executed operation.
    pub(crate) fn release(&mut self, up_to: Op) {
        while self.anchor.op < up_to {
            let Some(header) = self.slots.front().and_then(|slot| slot.header) else { return };
            self.anchor = header;
            self.slots.pop_front();
        }
    }

    /// Gives back the memory of places that are gone, if all are.
    pub(crate) fn shrink(&mut self) {
        if self.slots.is_empty() {
            self.slots = VecDeque::new();
        }
    }

    /// Marks a place whose body cannot be read.
    pub(crate) fn damage(&mut self, op: Op, checksum: u128) {
        if let Some(slot) = self.get(op)
            && slot.header.is_some_and(|header| header.checksum == checksum)
        {
            self.stand(op, Standing::Damaged);
        }
    }

    /// Says what is known of a place of the log.
    pub(crate) fn stand(&mut self, op: Op, standing: Standing) {
        if let Some(slot) = self.get_mut(op) {
            slot.standing = standing;
            self.count_missing();
        }
    }

    /// Whether no neighbour contradicts an operation for a place whose header is unknown: it must lead to its successor,
    /// or else on from its predecessor, where these are known.
    pub(crate) fn fits_between(&self, header: &PrepareHeader) -> bool {
        let before = self.header(header.op.previous()).map(|before| before.checksum);
        let after = self.header(header.op.next()).map(|after| after.parent);
        match after {
            Some(parent) => parent == header.checksum,
            None => before.is_none_or(|before| before == header.parent),
        }
    }

    /// The first places after `from` whose operations are not here, up to the next one that is: first and last, or the
    /// first alone if all places behind it lack.
    pub(crate) fn lacking_after(&self, from: Op) -> (Op, Option<Op>) {
        let mut places = self.after(from).skip_while(|(_, slot)| slot.is_present());
        let first = places.next().map_or_else(|| self.head().max(from).next(), |(op, _)| op);
        let end = places.find(|(_, slot)| slot.is_present());
        (first, end.map(|(op, _)| op.previous()))
    }

    /// The log from `from` on, as a vote reports it.
    pub(crate) fn suffix(&self, from: Op) -> Vec<SuffixEntry> {
        let first = SuffixEntry { header: self.header(from).copied(), standing: Standing::Present };
        let rest =
            self.after(from).map(|(_, slot)| SuffixEntry { header: slot.header, standing: slot.standing });
        std::iter::once(first).chain(rest).collect()
    }

    /// The known headers from `from` on, up to the head or the first unknown one.
    pub(crate) fn headers(&self, from: Op) -> Vec<PrepareHeader> {
        let rest = self.after(from).map_while(|(_, slot)| slot.header);
        self.header(from).copied().into_iter().chain(rest).collect()
    }

    /// Drops everything from the first place that does not lead on from the one before.
    pub(crate) fn cut_disconnected(&mut self) {
        let mut previous = Some(self.anchor.checksum);
        let cut = self.slots.iter().position(|slot| {
            let broken =
                matches!((previous, slot.header), (Some(link), Some(header)) if header.parent != link);
            previous = slot.header.map(|header| header.checksum);
            broken
        });
        self.slots.truncate(cut.unwrap_or(usize::MAX));
        self.count_missing();
    }

    /// Something that names nothing was lost: it may have been any operation whose body is not here.
    pub(crate) fn doubt(&mut self, tail: Tail) {
        if self.tail != Tail::Damaged {
            self.tail = tail;
        }
        for slot in &mut self.slots {
            if matches!(slot.standing, Standing::Absent | Standing::HeaderOnly) {
                slot.standing = tail.standing();
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn heap_bytes(&self) -> usize {
        let aside = self.slots.iter().filter(|slot| slot.aside.is_some()).count();
        self.slots.capacity() * size_of::<Slot>() + aside * size_of::<(PrepareHeader, Position)>()
    }

    fn count_missing(&mut self) {
        self.missing = self.slots.iter().filter(|slot| !slot.is_present()).count();
    }

    fn index(&self, op: Op) -> Option<usize> {
        usize::try_from(op.0.checked_sub(self.anchor.op.0)?.checked_sub(1)?).ok()
    }
}

impl Slot {
    fn adopt(&mut self, header: &PrepareHeader) {
        if self.recall(header.checksum) {
            return;
        }
        let standing = match (self.header, self.standing) {
            (Some(own), _) if own.checksum == header.checksum => return,
            (Some(_), _) | (None, Standing::Absent) => Standing::HeaderOnly,
            (None, standing) => standing,
        };
        *self = Self { header: Some(*header), standing, ..Self::UNKNOWN };
    }

    fn put_aside(&mut self) {
        let kept = self.header.filter(|_| self.is_present()).map(|header| Box::new((header, self.position)));
        *self = Self { aside: kept.or(self.aside.take()), ..Self::UNKNOWN };
    }

    /// Whether what was put aside is the operation with this checksum, and so is taken back.
    fn recall(&mut self, checksum: u128) -> bool {
        let Some((header, position)) = self.aside.as_deref().copied() else { return false };
        let same = self.header.is_none() && header.checksum == checksum;
        if same {
            *self = Self::present(header, position);
        }
        same
    }
}
