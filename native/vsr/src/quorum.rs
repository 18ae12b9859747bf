/// The most replicas a group may have.
pub const REPLICAS_MAX: u8 = 32;

/// How many replicas decide what, derived from the number of replicas.
///
/// Any replication quorum meets any view-change quorum, and a nack quorum leaves too few replicas for a
/// replication quorum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quorums {
    /// All of them.
    pub replicas: u8,
    /// Acknowledgements that commit an operation.
    pub replication: u8,
    /// Votes that begin a view.
    pub view_change: u8,
    /// Denials that prove an operation was never committed.
    pub nack: u8,
}

impl Quorums {
    /// The quorums of a group of `replicas`.
    #[must_use]
    pub const fn of(replicas: u8) -> Self {
        let majority = replicas / 2 + 1;
        Self { replicas, replication: majority, view_change: majority, nack: replicas - majority + 1 }
    }

    /// How many others a replica with a blank disk must hear before it believes a view.
    ///
    /// With so many answers from normal operation, no view has voters enough outside of them to have begun
    /// unheard. In a group of two the only other one has to do.
    #[must_use]
    pub const fn probe(self) -> u8 {
        if self.view_change < self.replicas { self.view_change } else { self.replicas - 1 }
    }
}
