use crate::setup::Ticks;

/// Replicas that do not have the group yet: what is sent to them is lost, so prepares are not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Absent {
    /// A bit for each replica.
    who: u32,
    /// When it is tried again all the same: that one has opened may be lost.
    until: Ticks,
}

impl Absent {
    pub(crate) const fn add(&mut self, replica: u8, until: Ticks) {
        self.who |= 1 << replica;
        self.until = until;
    }

    pub(crate) const fn remove(&mut self, replica: u8) {
        self.who &= !(1 << replica);
    }

    pub(crate) const fn contains(self, replica: u8, now: Ticks) -> bool {
        self.who & 1 << replica != 0 && now < self.until
    }
}
