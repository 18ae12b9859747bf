//! What one node knows of the others: when each was heard last, and in which life.

use crate::Ticks;

#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    heard: Ticks,
    life: u64,
    silent: bool,
}

/// The other nodes as one node hears them.
#[derive(Debug)]
pub(crate) struct Pairs(Vec<Pair>);

impl Pairs {
    pub(crate) fn new(nodes: u8, now: Ticks) -> Self {
        Self(vec![Pair { heard: now, ..Pair::default() }; nodes.into()])
    }

    pub(crate) fn heard(&mut self, from: u8, now: Ticks) {
        let pair = &mut self.0[usize::from(from)];
        *pair = Pair { heard: now, silent: false, ..*pair };
    }

    /// A beat came; whether it is of another life than those before.
    pub(crate) fn beat(&mut self, from: u8, life: u64, now: Ticks) -> bool {
        self.heard(from, now);
        let pair = &mut self.0[usize::from(from)];
        let restarted = pair.life != 0 && life > pair.life;
        pair.life = pair.life.max(life);
        restarted
    }

    /// Who fell silent since the last look.
    pub(crate) fn fallen_silent(&mut self, patience: Ticks, now: Ticks) -> Vec<u8> {
        let fallen = (0..).zip(&mut self.0).filter(|(_, pair)| !pair.silent && now >= pair.heard + patience);
        fallen
            .map(|(node, pair)| {
                pair.silent = true;
                node
            })
            .collect()
    }
}
