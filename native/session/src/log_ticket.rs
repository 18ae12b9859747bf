//! Whom an answer of the log is for: a tag within its ticket.

use ng_replication::Ticket;

/// The bits of a ticket between its row, of which there are far fewer, and its generation.
const SHIFT: u32 = 28;
const TAG_MASK: u64 = 0xf << SHIFT;

/// Which table of a shard waits for an answer of its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogCaller {
    /// Logins and logouts.
    LoginsInProgress,
    /// Metadata commands.
    Metadata,
    /// Requests for partitions.
    Partitions,
    /// Purges that the control plane ordered.
    Purges,
}

impl LogCaller {
    const ALL: [Self; 4] = [Self::LoginsInProgress, Self::Metadata, Self::Partitions, Self::Purges];

    /// The ticket that the log is given for a ticket of this table.
    #[must_use]
    pub const fn tag(self, ticket: u64) -> Ticket {
        debug_assert!(ticket & TAG_MASK == 0, "tables have far fewer rows");
        Ticket(ticket | (self as u64) << SHIFT)
    }

    /// The table, and the ticket there.
    #[must_use]
    pub fn of(Ticket(tagged): Ticket) -> Option<(Self, u64)> {
        let tag = usize::try_from((tagged & TAG_MASK) >> SHIFT).ok()?;
        Some((*Self::ALL.get(tag)?, tagged & !TAG_MASK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_comes_back_with_its_ticket() {
        for asking in LogCaller::ALL {
            for ticket in [0, (1 << SHIFT) - 1, 7 << 32 | 3, u64::from(u32::MAX) << 32] {
                assert_eq!(LogCaller::of(asking.tag(ticket)), Some((asking, ticket)));
            }
        }
        assert_eq!(LogCaller::of(Ticket(TAG_MASK)), None);
    }
}
