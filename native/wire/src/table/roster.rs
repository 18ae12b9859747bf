//! The description of a node in the cluster roster.

use super::coded;

coded! {
    /// The part a node plays.
    pub enum NodeRole: u8 {
        /// Takes the writes.
        Leader = 0, "leader";
        /// Follows the leader.
        Follower = 1, "follower";
    }
}

coded! {
    /// The state a node is in. Clients discard a roster with any other number.
    pub enum NodeStatus: u8 {
        /// Serves.
        Healthy = 0, "healthy";
        /// Has started and does not serve yet.
        Starting = 1, "starting";
        /// Is on its way out.
        Stopping = 2, "stopping";
        /// Does not answer the others.
        Unreachable = 3, "unreachable";
        /// Was taken out of service by its operator.
        Maintenance = 4, "maintenance";
    }
}
