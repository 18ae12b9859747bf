//! The status a process ends with.

use super::coded;

coded! {
    /// What the exit status of the daemon says about its end.
    pub enum ExitStatus: u8 {
        /// Stopped when asked to, with everything in order.
        Clean = 0, "clean";
        /// Stored data is damaged beyond what can be repaired without losing acknowledged records.
        DamagedData = 65, "damaged_data";
        /// A thread met a state that cannot be, and the process stopped instead of going on.
        InternalFault = 70, "internal_fault";
        /// The journal could not be written or synced, so nothing further may be acknowledged.
        JournalIo = 74, "journal_io";
        /// Stopped before everything in flight was settled.
        UncleanStop = 75, "unclean_stop";
        /// The configuration, or what it asks of this machine, is not acceptable.
        Configuration = 78, "configuration";
    }
}
