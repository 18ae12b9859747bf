//! The status a process ends with.

use super::coded;

coded! {
    /// The exit status of the daemon.
    pub enum ExitStatus: u8 {
        /// Stopped in order, on request.
        Clean = 0, "clean";
        /// Stored data is damaged beyond what can be repaired without losing acknowledged records.
        DamagedData = 65, "damaged_data";
        /// A thread detected an impossible state, so the process stopped.
        InternalFault = 70, "internal_fault";
        /// The journal could not be written or synced, so nothing more may be acknowledged.
        JournalIo = 74, "journal_io";
        /// Stopped before all requests in progress had ended.
        UncleanStop = 75, "unclean_stop";
        /// The configuration is invalid, or this machine cannot satisfy it.
        Configuration = 78, "configuration";
    }
}
