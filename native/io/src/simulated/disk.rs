//! The disk: a tree of names, what they name, and how full it is.

use std::collections::BTreeMap;

use super::content::{Content, FILE_BYTES_MAX, Pool};
use super::names::Change;
use super::random::Random;
use crate::buffer::Buffer;
use crate::driver::Handle;
use crate::error::IoError;

/// Where a file or directory is in [`Disk`]; its name may change, this does not.
pub(super) type NodeId = usize;

/// The directory that all paths begin at.
pub(super) const ROOT: NodeId = 0;

#[derive(Debug)]
pub(super) struct Disk {
    pub(super) nodes: Vec<Option<Node>>,
    free: Vec<NodeId>,
    /// Changes of names that no sync has covered, oldest first.
    pub(super) changes: Vec<Change>,
    pub(super) pool: Pool,
    pub(super) capacity: u64,
    /// Bytes of all files that have a name.
    used: u64,
    /// Files and directories that lost their name since the last sweep.
    pub(super) nameless: usize,
}

/// A file or a directory.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// How many names it has.
    pub(super) names: u32,
    /// Who has it locked.
    pub(super) holder: Option<Handle>,
    /// Writes of a dead process hold it until then.
    pub(super) held_until: u64,
}

#[derive(Debug)]
pub(super) enum Kind {
    File(Content),
    Directory(BTreeMap<String, NodeId>),
}

impl Disk {
    pub(super) fn empty(capacity: u64) -> Self {
        let mut disk = Self {
            nodes: Vec::new(),
            free: Vec::new(),
            changes: Vec::new(),
            pool: Pool::default(),
            capacity,
            used: 0,
            nameless: 0,
        };
        let root = disk.add(Kind::Directory(BTreeMap::new()));
        disk.gain_name(root);
        debug_assert_eq!(root, ROOT);
        disk
    }

    /// A node that has no name yet.
    pub(super) fn add(&mut self, kind: Kind) -> NodeId {
        let node = Some(Node { kind, names: 0, holder: None, held_until: 0 });
        match self.free.pop() {
            Some(id) => {
                self.nodes[id] = node;
                id
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() - 1
            }
        }
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        self.nodes[id].as_ref().expect("a node stays while something refers to it")
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        self.nodes[id].as_mut().expect("a node stays while something refers to it")
    }

    pub(super) fn content(&self, id: NodeId) -> Option<&Content> {
        match &self.node(id).kind {
            Kind::File(content) => Some(content),
            Kind::Directory(_) => None,
        }
    }

    pub(super) fn content_mut(&mut self, id: NodeId) -> Option<&mut Content> {
        self.file_mut(id).map(|(content, ..)| content)
    }

    /// A file with what its changes need beside it: the spare pages, and what it counts towards.
    fn file_mut(&mut self, id: NodeId) -> Option<(&mut Content, &mut Pool, Option<&mut u64>)> {
        match self.nodes[id].as_mut() {
            Some(Node { kind: Kind::File(content), names, .. }) => {
                Some((content, &mut self.pool, (*names > 0).then_some(&mut self.used)))
            }
            _ => None,
        }
    }

    /// A node got a name: with its first one it takes room.
    pub(super) fn gain_name(&mut self, id: NodeId) {
        let length = self.content(id).map_or(0, Content::length);
        let node = self.node_mut(id);
        node.names += 1;
        if node.names == 1 {
            self.used += length;
        }
    }

    /// A node lost a name: with its last one it gives its room back.
    pub(super) fn lose_name(&mut self, id: NodeId) {
        let length = self.content(id).map_or(0, Content::length);
        let node = self.node_mut(id);
        node.names -= 1;
        if node.names == 0 {
            self.used -= length;
            self.nameless += 1;
        }
    }

    pub(super) fn read(&self, id: NodeId, offset: u64, buffer: &mut Buffer) -> Result<usize, IoError> {
        let content = self.content(id).ok_or(IoError::new("read", libc::EISDIR))?;
        content.read(offset, buffer)
    }

    pub(super) fn write(&mut self, id: NodeId, offset: u64, bytes: &[u8]) {
        let Some((content, pool, used)) = self.file_mut(id) else { return };
        let before = content.length();
        content.write(pool, offset, bytes);
        if let Some(used) = used {
            *used += content.length() - before;
        }
    }

    /// Each sector of a write is done or not, but nothing beyond the end of the file if `within` it.
    pub(super) fn write_partly(
        &mut self,
        id: NodeId,
        offset: u64,
        bytes: &[u8],
        within: bool,
        random: &mut Random,
    ) {
        let Some((content, pool, used)) = self.file_mut(id) else { return };
        let before = content.length();
        content.write_partly(pool, offset, bytes, if within { before } else { FILE_BYTES_MAX }, random);
        if let Some(used) = used {
            *used += content.length() - before;
        }
    }

    /// Whether the file may reach to `end`.
    pub(super) fn room_for(&self, id: NodeId, end: u64) -> Result<(), IoError> {
        let length = self.content(id).map_or(0, Content::length);
        let grown = end.saturating_sub(length);
        if end > FILE_BYTES_MAX {
            return Err(IoError::new("write", libc::EFBIG));
        }
        if grown > 0 && self.used + grown > self.capacity {
            return Err(IoError::new("write", libc::ENOSPC));
        }
        Ok(())
    }

    /// A sync completed: of a file it covers the writes up to `covered`, of a directory every change until now.
    pub(super) fn sync(&mut self, id: NodeId, covered: u64) {
        match self.file_mut(id) {
            Some((content, pool, _)) => content.sync(pool, covered),
            None => self.sync_names(id),
        }
    }

    /// The last write to a file was synced by itself; it ended there.
    pub(super) fn sync_last_write(&mut self, id: NodeId, end: u64) {
        if let Some((content, pool, _)) = self.file_mut(id) {
            content.sync_last(pool, end);
        }
    }

    /// The power is gone; of `lost_names` in a thousand directories some changes are lost with it.
    pub(super) fn cut(&mut self, random: &mut Random, lost_names: u32) {
        // Some cuts keep nearly everything and some nearly nothing, so that both ends are met often.
        let kept = random.below(5);
        for node in self.nodes.iter_mut().flatten() {
            node.holder = None;
            node.held_until = 0;
            if let Kind::File(content) = &mut node.kind {
                content.cut(&mut self.pool, kept, random);
            }
        }
        self.cut_names(random, lost_names);
        self.sweep(&[]);
        let contents = (0..self.nodes.len()).filter(|id| self.nodes[*id].is_some());
        self.used = contents.filter_map(|id| self.content(id)).map(Content::length).sum();
    }

    /// Forgets what has no name, nor may get one back by a power cut, nor is among `roots`.
    pub(super) fn sweep(&mut self, roots: &[NodeId]) {
        let mut reached = vec![false; self.nodes.len()];
        let mut waiting = vec![ROOT];
        waiting.extend_from_slice(roots);
        waiting.extend(self.changes.iter().flat_map(Change::mentions));
        while let Some(id) = waiting.pop() {
            if std::mem::replace(&mut reached[id], true) {
                continue;
            }
            if let Kind::Directory(entries) = &self.node(id).kind {
                waiting.extend(entries.values());
            }
        }
        for (id, _) in reached.iter().enumerate().filter(|(_, reached)| !**reached) {
            if let Some(node) = self.nodes[id].take() {
                self.free.push(id);
                if let Kind::File(content) = node.kind {
                    content.free(&mut self.pool);
                }
            }
        }
        self.nameless = 0;
    }
}
