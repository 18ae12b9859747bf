//! Connections without a session, oldest first.
//!
//! They cost memory before they have proved anything. Beyond the limit the oldest one is closed, so a flood
//! displaces itself while a client that logs in at once succeeds.

/// Marks the end of the list.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Link {
    older: u32,
    newer: u32,
    listed: bool,
}

const UNLISTED: Link = Link { older: NONE, newer: NONE, listed: false };

/// A first-in first-out list threaded through the slots of the connection table: every operation is O(1), and
/// each slot costs 12 bytes, listed or not.
#[derive(Debug)]
pub struct Unauthenticated {
    links: Vec<Link>,
    oldest: u32,
    newest: u32,
    count: usize,
}

impl Default for Unauthenticated {
    fn default() -> Self {
        Self { links: Vec::new(), oldest: NONE, newest: NONE, count: 0 }
    }
}

impl Unauthenticated {
    /// Number of connections without a session.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The slot that has had no session for the longest time.
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// Adds a slot as the newest connection without a session.
    pub fn join(&mut self, slot: u32) {
        let index = slot as usize;
        if self.links.len() <= index {
            self.links.resize(index + 1, UNLISTED);
        }
        assert!(!self.links[index].listed, "slot {slot} is listed already");
        self.links[index] = Link { older: self.newest, newer: NONE, listed: true };
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.links[newest as usize].newer = slot,
        }
        self.newest = slot;
        self.count += 1;
    }

    /// Removes a slot that logged in or closed; a slot outside the list is ignored.
    pub fn leave(&mut self, slot: u32) {
        let Some(link) = self.links.get(slot as usize).copied().filter(|link| link.listed) else { return };
        match link.older {
            NONE => self.oldest = link.newer,
            older => self.links[older as usize].newer = link.newer,
        }
        match link.newer {
            NONE => self.newest = link.older,
            newer => self.links[newer as usize].older = link.older,
        }
        self.links[slot as usize] = UNLISTED;
        self.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// For any order of joins and removals, the list equals a plain queue.
        #[test]
        fn agrees_with_a_queue(steps in proptest::collection::vec((0u32..24, any::<bool>()), 0..400)) {
            let mut unauthenticated = Unauthenticated::default();
            let mut queue: VecDeque<u32> = VecDeque::new();
            for (slot, joins) in steps {
                let listed = queue.contains(&slot);
                if joins && !listed {
                    unauthenticated.join(slot);
                    queue.push_back(slot);
                } else if !joins {
                    unauthenticated.leave(slot);
                    queue.retain(|other| *other != slot);
                }
                prop_assert_eq!(unauthenticated.oldest(), queue.front().copied());
                prop_assert_eq!(unauthenticated.count(), queue.len());
            }
        }
    }
}
