//! The superblock of a shard: four copies, of which two must agree.

use ng_wire::primitive::{put_u8, put_u16, put_u32, put_u64, put_u128};

use crate::PAGE;
use crate::bytes::{Fields, count32, pad_from, put_zero};
use crate::envelope::Kind;
use crate::layout::Member;
use crate::refusal::{Reason, Refusal};

/// Copies in the file, one page each.
pub const COPIES: usize = 4;

/// Files that a journal may have.
pub const JOURNAL_FILES_MAX: u32 = 4096;

/// Bytes of the file.
pub const FILE_BYTES: usize = COPIES * PAGE;

/// The structure's marks and bounds.
pub const KIND: Kind = Kind { name: "superblock", magic: *b"NGSUPERB", version: 2, size: (256, 256) };

/// Constants of the cluster that a configuration may not change afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Genesis {
    /// The largest frame of a client.
    pub frame_bytes_max: u32,
    /// Prepares of one group under way.
    pub pipeline_depth: u32,
    /// Slots of the client table.
    pub client_table_slots: u32,
    /// Consumers of one partition whose offsets are kept.
    pub consumer_offsets_max: u32,
}

/// The manifest that is in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ManifestPointer {
    /// Its sequence, 0 when there is none.
    pub sequence: u64,
    /// Its own checksum.
    pub checksum: u128,
}

/// A block that was on the disk for good before a superblock named it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncedBlock {
    /// Its sequence, 0 when there is none.
    pub sequence: u64,
    /// The checksum of its header.
    pub checksum: u128,
    /// The number of its file.
    pub file: u32,
}

/// The files of a journal as a superblock vouches for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// How many there are: 0, 1, 2 ... Each was whole and synced before the superblock counted it, and took blocks only after.
    pub files: u32,
    /// The newest block that is known to be on the disk for good, with every block before it.
    pub synced: SyncedBlock,
}

/// What a shard knows before it opens anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Identity of the cluster.
    pub cluster: u128,
    /// Identity of the node's disk.
    pub node: u128,
    /// Which of how many nodes.
    pub member: Member,
    /// The random mark of this journal's blocks.
    pub journal: u128,
    /// The layout's epoch.
    pub epoch: u32,
    /// Which shard.
    pub shard: u32,
    /// Of how many.
    pub shard_count: u32,
    /// Whether the last stop was orderly.
    pub clean: bool,
    /// Of this superblock, from 1.
    pub sequence: u64,
    /// Checksum of copy 0 of the previous sequence.
    pub parent: u128,
    /// Raised at each start before the first append.
    pub incarnation: u64,
    /// The manifest in force.
    pub manifest: ManifestPointer,
    /// Bytes of every file of the journal's ring.
    pub journal_file_bytes: u64,
    /// The files of the journal.
    pub ring: Ring,
    /// Constants of the cluster.
    pub genesis: Genesis,
}

/// The winner of a read, and what became of each copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elected {
    /// What is in force.
    pub superblock: Superblock,
    /// The checksum of its copy 0: the next superblock's parent.
    pub checksum: u128,
    /// Copies that hold it.
    pub agreeing: usize,
}

impl Ring {
    fn decode(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        let files = count32(fields.count("journal files", 1, JOURNAL_FILES_MAX)?);
        let file = fields.u32("synced file")?;
        if file >= files {
            return Err(fields.refuse("synced file", Reason::Value(file.into())));
        }
        let sequence = fields.u64("synced sequence")?;
        let checksum = fields.u128("synced checksum")?;
        Ok(Self { files, synced: SyncedBlock { sequence, checksum, file } })
    }
}

impl Superblock {
    /// One copy, 256 bytes, and its checksum.
    #[must_use]
    pub fn encode_copy(&self, copy: u8) -> (Vec<u8>, u128) {
        let mut bytes = Vec::with_capacity(PAGE);
        let checksum = KIND.seal(&mut bytes, |into| {
            put_u128(into, self.cluster);
            put_u128(into, self.node);
            put_u128(into, self.journal);
            put_u32(into, self.epoch);
            put_u32(into, self.shard);
            put_u32(into, self.shard_count);
            put_u8(into, copy);
            put_u8(into, u8::from(self.clean));
            put_u16(into, 0);
            put_u64(into, self.sequence);
            put_u128(into, self.parent);
            put_u64(into, self.incarnation);
            put_u64(into, self.manifest.sequence);
            put_u128(into, self.manifest.checksum);
            put_u64(into, self.journal_file_bytes);
            put_u32(into, self.ring.files);
            put_u32(into, self.ring.synced.file);
            put_u64(into, self.ring.synced.sequence);
            put_u128(into, self.ring.synced.checksum);
            put_u32(into, self.genesis.frame_bytes_max);
            put_u32(into, self.genesis.pipeline_depth);
            put_u32(into, self.genesis.client_table_slots);
            put_u32(into, self.genesis.consumer_offsets_max);
            self.member.encode(into);
            put_zero(into, 46);
        });
        (bytes, checksum)
    }

    /// Two copies, as they are written at once: `first` is 0 or 2.
    #[must_use]
    pub fn encode_half(&self, first: u8) -> Vec<u8> {
        let mut half = Vec::with_capacity(2 * PAGE);
        for copy in [first, first + 1] {
            half.extend_from_slice(&self.encode_copy(copy).0);
            pad_from(&mut half, 0, PAGE);
        }
        half
    }

    /// Reads one copy from the page it belongs to.
    pub fn decode_copy(page: &[u8], copy: u8) -> Result<Self, Refusal> {
        let mut fields = Fields::new(KIND.name, KIND.open(page)?.content);
        let cluster = fields.u128("cluster")?;
        let node = fields.u128("node")?;
        let journal = fields.u128("journal")?;
        let epoch = fields.u32("epoch")?;
        let shard = fields.u32("shard")?;
        let shard_count = fields.u32("shard count")?;
        if shard >= shard_count {
            return Err(fields.refuse("shard", Reason::Value(u64::from(shard))));
        }
        let found = fields.u8("copy")?;
        if found != copy {
            return Err(fields.refuse("copy", Reason::Value(u64::from(found))));
        }
        let clean = match fields.u8("clean")? {
            0 => false,
            1 => true,
            other => return Err(fields.refuse("clean", Reason::Value(u64::from(other)))),
        };
        fields.zero("reserved", 2)?;
        let sequence = fields.u64("sequence")?;
        let parent = fields.u128("parent")?;
        let incarnation = fields.u64("incarnation")?;
        let manifest =
            ManifestPointer { sequence: fields.u64("manifest")?, checksum: fields.u128("manifest")? };
        let journal_file_bytes = fields.u64("journal file bytes")?;
        if journal_file_bytes == 0 || !journal_file_bytes.is_multiple_of(PAGE as u64) {
            return Err(fields.refuse("journal file bytes", Reason::Value(journal_file_bytes)));
        }
        let ring = Ring::decode(&mut fields)?;
        let genesis = Genesis {
            frame_bytes_max: fields.u32("frame bytes max")?,
            pipeline_depth: fields.u32("pipeline depth")?,
            client_table_slots: fields.u32("client table slots")?,
            consumer_offsets_max: fields.u32("consumer offsets max")?,
        };
        let member = Member::decode(&mut fields)?;
        fields.zero("reserved", 46)?;
        fields.finish()?;
        Ok(Self {
            cluster,
            node,
            member,
            journal,
            epoch,
            shard,
            shard_count,
            clean,
            sequence,
            parent,
            incarnation,
            manifest,
            journal_file_bytes,
            ring,
            genesis,
        })
    }

    /// Each copy of a file by itself; a page that the file lacks is short.
    pub fn decode_copies(file: &[u8]) -> [Result<Self, Refusal>; COPIES] {
        [0_u8, 1, 2, 3].map(|copy| {
            let start = (usize::from(copy) * PAGE).min(file.len());
            let end = (start + PAGE).min(file.len());
            Self::decode_copy(&file[start..end], copy)
        })
    }

    /// Reads a whole file: the highest sequence that two copies agree on.
    ///
    /// A single copy of a higher sequence is the first half of a write that nobody was told of.
    pub fn elect(file: &[u8]) -> Result<Elected, Refusal> {
        let copies = Self::decode_copies(file);
        if let Some(Err(newer)) = copies.iter().find(|copy| copy.is_err_and(|refusal| refusal.is_newer())) {
            return Err(*newer);
        }
        let valid: Vec<&Self> = copies.iter().flatten().collect();
        if valid.iter().any(|one| valid.iter().any(|two| one.sequence == two.sequence && one != two)) {
            return Err(Refusal::new(KIND.name, "copies", Reason::Fork));
        }
        let agreeing = |one: &Self| valid.iter().filter(|two| two.sequence == one.sequence).count();
        valid
            .iter()
            .filter(|one| agreeing(one) >= 2)
            .max_by_key(|one| one.sequence)
            .map(|winner| Elected {
                superblock: **winner,
                checksum: winner.encode_copy(0).1,
                agreeing: agreeing(winner),
            })
            .ok_or(Refusal::new(KIND.name, "copies", Reason::NoQuorum))
    }
}
