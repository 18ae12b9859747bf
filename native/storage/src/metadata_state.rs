//! The state of the metadata after an op: the client table and the machine, each as its owner encodes it.

use ng_wire::primitive::{put_u64, put_u128};

use crate::bytes::{Fields, put_zero};
use crate::checksum::checksum;
use crate::envelope::Kind;
use crate::refusal::{Reason, Refusal};

const SIZE: usize = 128;

/// The structure's marks and bounds.
pub const KIND: Kind = Kind { name: "metadata state", magic: *b"NGSTATE\0", version: 1, size: (SIZE, SIZE) };

/// The state of the metadata after an op.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetadataState {
    /// The group of the metadata.
    pub group: u64,
    /// The last op in it.
    pub op: u64,
    /// Checksum of the prepare of that op.
    pub chain: u128,
    /// The client table.
    pub clients: Vec<u8>,
    /// The state machine.
    pub machine: Vec<u8>,
}

impl MetadataState {
    /// The file's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut content = Vec::with_capacity(SIZE + self.clients.len() + self.machine.len());
        content.extend_from_slice(&self.clients);
        content.extend_from_slice(&self.machine);
        let content_checksum = checksum(&content);
        let mut bytes = Vec::with_capacity(SIZE + content.len());
        KIND.seal(&mut bytes, |into| {
            put_u64(into, self.group);
            put_u64(into, self.op);
            put_u128(into, self.chain);
            put_u128(into, content_checksum);
            put_u64(into, self.clients.len() as u64);
            put_u64(into, self.machine.len() as u64);
            put_zero(into, 32);
        });
        bytes.extend_from_slice(&content);
        bytes
    }

    /// Reads a whole file.
    pub fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
        let opened = KIND.open(bytes)?;
        let mut fields = Fields::new(KIND.name, opened.content);
        let group = fields.u64("group")?;
        let op = fields.u64("op")?;
        let chain = fields.u128("chain")?;
        let content_checksum = fields.u128("content checksum")?;
        let clients = fields.u64("clients length")?;
        let machine = fields.u64("machine length")?;
        fields.zero("reserved", 32)?;
        fields.finish()?;
        if clients.checked_add(machine) != Some(opened.rest.len() as u64) {
            return Err(Refusal::new(KIND.name, "machine length", Reason::Value(machine)));
        }
        if checksum(opened.rest) != content_checksum {
            return Err(Refusal::new(KIND.name, "content checksum", Reason::Checksum));
        }
        let split = usize::try_from(clients).unwrap_or(usize::MAX);
        let Some((clients, machine)) = opened.rest.split_at_checked(split) else {
            return Err(Refusal::new(KIND.name, "clients length", Reason::Value(clients)));
        };
        Ok(Self { group, op, chain, clients: clients.to_vec(), machine: machine.to_vec() })
    }
}
