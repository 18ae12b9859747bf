//! The figures of a node.

use crate::primitive::{put_count, put_f32, put_str32, put_u32, put_u64};

/// What a node says about itself and the machine it runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats<'a> {
    /// The process.
    pub process_id: u32,
    /// Percent of a CPU the process uses.
    pub cpu_usage: f32,
    /// Percent of all CPUs in use by anyone.
    pub total_cpu_usage: f32,
    /// Bytes of memory the process holds.
    pub memory_usage: u64,
    /// Bytes of memory of the machine.
    pub total_memory: u64,
    /// Bytes of memory that are free for use.
    pub available_memory: u64,
    /// Microseconds since the start.
    pub run_time: u64,
    /// When the process started, in microseconds since the epoch.
    pub start_time: u64,
    /// Bytes the process read from disks.
    pub read_bytes: u64,
    /// Bytes the process wrote to disks.
    pub written_bytes: u64,
    /// Bytes of all messages kept.
    pub messages_size_bytes: u64,
    /// Streams.
    pub streams_count: u32,
    /// Topics.
    pub topics_count: u32,
    /// Partitions.
    pub partitions_count: u32,
    /// Segments.
    pub segments_count: u32,
    /// Messages kept.
    pub messages_count: u64,
    /// Connected clients.
    pub clients_count: u32,
    /// Consumer groups.
    pub consumer_groups_count: u32,
    /// The name of the machine.
    pub hostname: &'a str,
    /// The name of the operating system.
    pub os_name: &'a str,
    /// The version of the operating system.
    pub os_version: &'a str,
    /// The version of the kernel.
    pub kernel_version: &'a str,
    /// The version of the server.
    pub server_version: &'a str,
    /// The version of the server as one number, or zero for none.
    pub server_semver: u32,
    /// Threads of the process.
    pub threads_count: u32,
    /// Bytes free on the disk of the data.
    pub free_disk_space: u64,
    /// Bytes of the disk of the data.
    pub total_disk_space: u64,
}

impl Stats<'_> {
    /// Appends the payload.
    pub fn put(&self, into: &mut Vec<u8>) {
        self.put_process(into);
        self.put_data(into);
        for text in [self.hostname, self.os_name, self.os_version, self.kernel_version, self.server_version] {
            put_str32(into, text);
        }
        put_u32(into, self.server_semver);
        // Figures per partition cache, of which we keep none.
        put_count(into, 0);
        put_u32(into, self.threads_count);
        put_u64(into, self.free_disk_space);
        put_u64(into, self.total_disk_space);
    }

    fn put_process(&self, into: &mut Vec<u8>) {
        put_u32(into, self.process_id);
        put_f32(into, self.cpu_usage);
        put_f32(into, self.total_cpu_usage);
        put_u64(into, self.memory_usage);
        put_u64(into, self.total_memory);
        put_u64(into, self.available_memory);
        put_u64(into, self.run_time);
        put_u64(into, self.start_time);
        put_u64(into, self.read_bytes);
        put_u64(into, self.written_bytes);
    }

    fn put_data(&self, into: &mut Vec<u8>) {
        put_u64(into, self.messages_size_bytes);
        put_u32(into, self.streams_count);
        put_u32(into, self.topics_count);
        put_u32(into, self.partitions_count);
        put_u32(into, self.segments_count);
        put_u64(into, self.messages_count);
        put_u32(into, self.clients_count);
        put_u32(into, self.consumer_groups_count);
    }
}
