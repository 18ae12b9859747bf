//! What the disk itself says of blocks that were synced.
//!
//! That a block was synced is known to the next start only from a later one, which says so. Of a block that none speaks of
//! yet, a start cannot tell rot from a write that was cut short, and takes it for the latter: most often that is right, and
//! nothing was promised. Whoever promises something that must not be forgotten waits for the later block, too.

use std::collections::VecDeque;

/// Which blocks a later one vouches for, and for which one shall do so without waiting for further records.
#[derive(Debug, Default)]
pub(super) struct Proof {
    /// Blocks that are not synced yet, and what each says to be synced. Only those that say more than the one before.
    vouchers: VecDeque<(u64, u64)>,
    /// Blocks up to here are known to be synced, whatever becomes of them.
    through: u64,
    wanted: u64,
}

impl Proof {
    /// What an incarnation begins with.
    pub(super) fn of(through: u64) -> Self {
        Self { through, ..Self::default() }
    }

    pub(super) const fn through(&self) -> u64 {
        self.through
    }

    pub(super) fn want(&mut self, block: u64) {
        self.wanted = self.wanted.max(block);
    }

    /// A block was formed.
    pub(super) fn formed(&mut self, block: u64, synced_through: u64) {
        assert!(synced_through < block, "a block cannot vouch for itself");
        let said = self.vouchers.back().map_or(self.through, |(_, said)| *said);
        if synced_through > said {
            self.vouchers.push_back((block, synced_through));
        }
    }

    /// Blocks up to this one are synced. Whether another must follow, if the last one that was formed says that those up to
    /// `told` were.
    pub(super) fn synced(&mut self, block: u64, told: u64) -> bool {
        while let Some((_, said)) = self.vouchers.pop_front_if(|(voucher, _)| *voucher <= block) {
            self.through = said;
        }
        self.wanted <= block && told < self.wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_proven_once_a_later_one_is_synced() {
        let mut proof = Proof::of(4);
        proof.want(6);
        proof.formed(5, 4);
        proof.formed(6, 4);
        assert!(!proof.synced(5, 4), "the wanted one is not synced itself");
        assert!(proof.synced(6, 4), "nothing that was formed speaks of it");
        proof.formed(7, 6);
        assert_eq!(proof.through(), 4);
        assert!(!proof.synced(7, 6));
        assert_eq!(proof.through(), 6);
    }

    #[test]
    fn nothing_follows_that_nobody_wants() {
        let mut proof = Proof::of(0);
        for block in 1..100 {
            proof.formed(block, block - 1);
            assert!(!proof.synced(block, block - 1));
            assert_eq!((proof.through(), proof.vouchers.len()), (block - 1, 0));
        }
    }
}
