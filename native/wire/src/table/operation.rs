//! The operation byte: the plane of a request, and for replicated commands the command itself.

use super::coded;

coded! {
    /// The operation of a request, echoed by its reply. Zero is no operation.
    pub enum Operation: u8 {
        /// Makes a session.
        Register = 1, "register";
        /// A command that is not replicated; its code is in the header.
        NonReplicated = 2, "non_replicated";
        /// Ends a session.
        Logout = 3, "logout";
        /// Create topic, with the groups of its partitions; never sent by a client.
        CreateTopicWithAssignments = 64, "create_topic_with_assignments";
        /// Create partitions, with their groups; never sent by a client.
        CreatePartitionsWithAssignments = 65, "create_partitions_with_assignments";
        /// Removes a member from its group because its session ended; never sent by a client.
        RemoveConsumerGroupMember = 66, "remove_consumer_group_member";
        /// Ends the hand-over of a partition between group members; never sent by a client.
        CompleteConsumerGroupRevocation = 67, "complete_consumer_group_revocation";
        /// Delete segments, with the last offset to delete; never sent by a client.
        TruncatePartition = 68, "truncate_partition";
        /// Creates the root user where there are no users; never sent by a client.
        CreateRoot = 69, "create_root";
        /// Creates a stream.
        CreateStream = 128, "create_stream";
        /// Renames a stream.
        UpdateStream = 129, "update_stream";
        /// Deletes a stream.
        DeleteStream = 130, "delete_stream";
        /// Removes every record of a stream.
        PurgeStream = 131, "purge_stream";
        /// Creates a topic.
        CreateTopic = 132, "create_topic";
        /// Changes a topic.
        UpdateTopic = 133, "update_topic";
        /// Deletes a topic.
        DeleteTopic = 134, "delete_topic";
        /// Removes every record of a topic.
        PurgeTopic = 135, "purge_topic";
        /// Adds partitions to a topic.
        CreatePartitions = 136, "create_partitions";
        /// Removes the last partitions of a topic.
        DeletePartitions = 137, "delete_partitions";
        /// Deletes the oldest segments of a partition.
        DeleteSegments = 138, "delete_segments";
        /// Creates a consumer group.
        CreateConsumerGroup = 139, "create_consumer_group";
        /// Deletes a consumer group.
        DeleteConsumerGroup = 140, "delete_consumer_group";
        /// Creates a user.
        CreateUser = 141, "create_user";
        /// Changes a user.
        UpdateUser = 142, "update_user";
        /// Deletes a user.
        DeleteUser = 143, "delete_user";
        /// Changes a password.
        ChangePassword = 144, "change_password";
        /// Replaces the permissions of a user.
        UpdatePermissions = 145, "update_permissions";
        /// Creates a personal access token.
        CreatePersonalAccessToken = 146, "create_personal_access_token";
        /// Deletes a personal access token.
        DeletePersonalAccessToken = 147, "delete_personal_access_token";
        /// Joins a consumer group.
        JoinConsumerGroup = 148, "join_consumer_group";
        /// Leaves a consumer group.
        LeaveConsumerGroup = 149, "leave_consumer_group";
        /// Appends messages to a partition.
        SendMessages = 160, "send_messages";
        /// Stores a consumer's offset.
        StoreConsumerOffset = 161, "store_consumer_offset";
        /// Deletes a consumer's offset.
        DeleteConsumerOffset = 162, "delete_consumer_offset";
    }
}

impl Operation {
    /// Whether the body of a reply begins with a result section, which clients then strip without looking.
    #[must_use]
    pub const fn has_result_section(self) -> bool {
        !matches!(
            self,
            Self::NonReplicated | Self::Logout | Self::CreateRoot | Self::DeleteSegments | Self::SendMessages
        )
    }

    /// Whether the control plane proposes it by itself.
    #[must_use]
    pub const fn is_proposed_by_cluster(self) -> bool {
        matches!(self, Self::CreateRoot)
    }
}
