//! The registry as clients see it: lists of clients, and statistics.

use std::fmt::Write as _;

use ng_io::Instant;
use ng_wire::reply::{Client, Stats};
use ng_wire::table::transport::Transport;

use super::{ClientRow, NodeView, Registry};
use crate::node_facts::{IGGY_SEMVER, IGGY_VERSION};
use crate::totals::Totals;

impl Registry {
    pub(super) fn list(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let mut address = String::new();
        for (client_id, row) in &self.clients {
            row.describe(*client_id, &mut address, |client| client.put(&mut body));
        }
        body
    }

    pub(super) fn details(&self, client_id: u32) -> Vec<u8> {
        let mut body = Vec::new();
        if let Some(row) = self.clients.get(&client_id) {
            row.describe(client_id, &mut String::new(), |client| client.put_details(&mut body));
        }
        body
    }

    pub(super) fn stats(&self, node: NodeView<'_>, now: Instant) -> Vec<u8> {
        let NodeView { facts, catalog, totals } = node;
        let (host, stored) = (&self.host, totals.iter().sum::<Totals>());
        let mut body = Vec::new();
        Stats {
            process_id: std::process::id(),
            cpu_usage: host.cpu_usage,
            total_cpu_usage: host.total_cpu_usage,
            memory_usage: host.memory_usage,
            total_memory: host.total_memory,
            available_memory: host.available_memory,
            run_time: u64::try_from((now - facts.started).as_micros()).unwrap_or(u64::MAX),
            start_time: facts.started_wall.0,
            read_bytes: host.read_bytes,
            written_bytes: host.written_bytes,
            messages_size_bytes: stored.size_bytes,
            streams_count: count(catalog.streams_count()),
            topics_count: count(catalog.topics_count()),
            partitions_count: count(catalog.partitions_count()),
            segments_count: u32::try_from(stored.segments).unwrap_or(u32::MAX),
            messages_count: stored.messages,
            clients_count: count(self.clients.len()),
            hostname: &host.hostname,
            os_name: &host.os_name,
            os_version: &host.os_version,
            kernel_version: &host.kernel_version,
            server_version: IGGY_VERSION,
            server_semver: IGGY_SEMVER,
            threads_count: host.threads_count,
            free_disk_space: host.free_disk_space,
            total_disk_space: host.total_disk_space,
            ..Stats::default()
        }
        .put(&mut body);
        body
    }
}

fn count(counted: usize) -> u32 {
    u32::try_from(counted).unwrap_or(u32::MAX)
}

impl ClientRow {
    /// Builds the row that clients see; `address` is room for its text.
    fn describe(&self, client_id: u32, address: &mut String, put: impl FnOnce(&Client<'_>)) {
        address.clear();
        write!(address, "{}", self.address).expect("a String takes everything");
        put(&Client {
            client_id,
            user_id: self.session.map(|session| session.bound.user_id),
            transport: Transport::Tcp,
            address,
            memberships: &[],
        });
    }
}
