//! The tree of names: every change is seen at once, and lasts once its directory was synced.
//!
//! A power cut keeps, of each directory, the changes since its last sync up to some moment. A change of two directories
//! is one change, kept in both or in neither; so a sync of either makes it last, and in the other all that came before.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::content::Content;
use super::disk::{Disk, Kind, NodeId, ROOT};
use super::random::Random;
use crate::error::IoError;

/// A change that happens as a whole: one or two edits.
#[derive(Debug)]
pub(super) struct Change {
    edits: Vec<Edit>,
}

/// A name in a directory that stood for `before` and now stands for `after`.
#[derive(Debug)]
struct Edit {
    directory: NodeId,
    name: String,
    before: Option<NodeId>,
    after: Option<NodeId>,
}

impl Change {
    /// What a cut or an earlier state still needs.
    pub(super) fn mentions(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.edits.iter().flat_map(|edit| [Some(edit.directory), edit.before, edit.after]).flatten()
    }

    fn directories(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.edits.iter().map(|edit| edit.directory)
    }
}

impl Disk {
    pub(super) fn find(&self, operation: &'static str, path: &Path) -> Result<NodeId, IoError> {
        let mut found = Ok(ROOT);
        for name in names_of(operation, path) {
            let name = name?;
            found = found.and_then(|directory| self.child(operation, directory, &name));
        }
        found
    }

    fn child(&self, operation: &'static str, directory: NodeId, name: &str) -> Result<NodeId, IoError> {
        let child = self.entries(operation, directory)?.get(name);
        child.copied().ok_or(IoError::new(operation, libc::ENOENT))
    }

    fn entries(&self, operation: &'static str, id: NodeId) -> Result<&BTreeMap<String, NodeId>, IoError> {
        match &self.node(id).kind {
            Kind::Directory(entries) => Ok(entries),
            Kind::File(_) => Err(IoError::new(operation, libc::ENOTDIR)),
        }
    }

    /// The directory that holds the last name of a path, that name, and what it stands for.
    fn place(
        &self,
        operation: &'static str,
        path: &Path,
    ) -> Result<(NodeId, String, Option<NodeId>), IoError> {
        let mut directory = Ok(ROOT);
        let mut last = None;
        for name in names_of(operation, path) {
            if let Some(above) = last.replace(name?) {
                directory = directory.and_then(|directory| self.child(operation, directory, &above));
            }
        }
        let name = last.ok_or(IoError::busy(operation))?;
        let directory = directory?;
        let there = self.entries(operation, directory)?.get(&*name).copied();
        Ok((directory, name.into_owned(), there))
    }

    pub(super) fn create_file(&mut self, path: &Path) -> Result<NodeId, IoError> {
        let (directory, name, _) = self.place("open", path)?;
        let file = self.add(Kind::File(Content::default()));
        self.change(vec![Edit { directory, name, before: None, after: Some(file) }]);
        Ok(file)
    }

    pub(super) fn make_directory(&mut self, path: &Path) -> Result<(), IoError> {
        let (directory, name, there) = self.place("make a directory", path)?;
        if there.is_none() {
            let made = self.add(Kind::Directory(BTreeMap::new()));
            self.change(vec![Edit { directory, name, before: None, after: Some(made) }]);
        }
        Ok(())
    }

    pub(super) fn make_directories(&mut self, path: &Path) -> Result<(), IoError> {
        let mut whole = PathBuf::new();
        for name in names_of("make a directory", path).collect::<Result<Vec<_>, _>>()? {
            whole.push(&*name);
            self.make_directory(&whole)?;
        }
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> Result<(), IoError> {
        let fail = |errno| Err(IoError::new("rename", errno));
        let (old_directory, old_name, moved) = self.place("rename", from)?;
        let (directory, name, there) = self.place("rename", to)?;
        let Some(moved) = moved else { return fail(libc::ENOENT) };
        if there == Some(moved) {
            return Ok(());
        }
        let is_directory = self.content(moved).is_none();
        if is_directory && to.starts_with(from) {
            return fail(libc::EINVAL);
        }
        if let Some(there) = there {
            match &self.node(there).kind {
                Kind::Directory(_) if !is_directory => return fail(libc::EISDIR),
                Kind::File(_) if is_directory => return fail(libc::ENOTDIR),
                Kind::Directory(entries) if !entries.is_empty() => return fail(libc::ENOTEMPTY),
                Kind::Directory(_) | Kind::File(_) => {}
            }
        }
        self.change(vec![
            Edit { directory: old_directory, name: old_name, before: Some(moved), after: None },
            Edit { directory, name, before: there, after: Some(moved) },
        ]);
        Ok(())
    }

    pub(super) fn link(&mut self, from: &Path, to: &Path) -> Result<(), IoError> {
        let fail = |errno| Err(IoError::new("link", errno));
        let file = self.find("link", from)?;
        let (directory, name, there) = self.place("link", to)?;
        if there.is_some() {
            return fail(libc::EEXIST);
        }
        if self.content(file).is_none() {
            return fail(libc::EPERM);
        }
        self.change(vec![Edit { directory, name, before: None, after: Some(file) }]);
        Ok(())
    }

    /// Removes a file or an empty directory; absent is as good, also when it is a directory on the way that is absent.
    pub(super) fn remove(&mut self, path: &Path) -> Result<(), IoError> {
        let (directory, name, there) = match self.place("remove", path) {
            Err(error) if error.is_absent() => return Ok(()),
            place => place?,
        };
        let Some(there) = there else { return Ok(()) };
        if self.entries("remove", there).is_ok_and(|entries| !entries.is_empty()) {
            return Err(IoError::new("remove", libc::ENOTEMPTY));
        }
        self.change(vec![Edit { directory, name, before: Some(there), after: None }]);
        Ok(())
    }

    pub(super) fn remove_file(&mut self, path: &Path) -> Result<(), IoError> {
        if self.find("remove", path).is_ok_and(|id| self.content(id).is_none()) {
            return Err(IoError::new("remove", libc::EISDIR));
        }
        self.remove(path)
    }

    pub(super) fn list(&self, path: &Path) -> Result<Vec<String>, IoError> {
        let operation = "list a directory";
        let id = self.find(operation, path)?;
        Ok(self.entries(operation, id)?.keys().cloned().collect())
    }

    /// The paths of all files, sorted.
    pub(super) fn file_names(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut waiting = vec![(PathBuf::new(), ROOT)];
        while let Some((path, id)) = waiting.pop() {
            match &self.node(id).kind {
                Kind::File(_) => files.push(path),
                Kind::Directory(entries) => {
                    waiting.extend(entries.iter().map(|(name, child)| (path.join(name), *child)));
                }
            }
        }
        files.sort_unstable();
        files
    }

    fn change(&mut self, edits: Vec<Edit>) {
        for edit in &edits {
            self.set(edit.directory, &edit.name, edit.after);
        }
        // What only changes its name is never without one.
        edits.iter().filter_map(|edit| edit.after).for_each(|named| self.gain_name(named));
        edits.iter().filter_map(|edit| edit.before).for_each(|before| self.lose_name(before));
        self.changes.push(Change { edits });
    }

    fn set(&mut self, directory: NodeId, name: &str, node: Option<NodeId>) {
        if let Kind::Directory(entries) = &mut self.node_mut(directory).kind {
            match node {
                Some(node) => entries.insert(name.to_owned(), node),
                None => entries.remove(name),
            };
        }
    }

    /// Every change of a directory lasts, and what must have come before it elsewhere.
    pub(super) fn sync_names(&mut self, directory: NodeId) {
        let mut lasting = BTreeSet::from([directory]);
        let mut left = Vec::new();
        for change in std::mem::take(&mut self.changes).into_iter().rev() {
            if change.directories().any(|directory| lasting.contains(&directory)) {
                lasting.extend(change.directories());
            } else {
                left.push(change);
            }
        }
        left.reverse();
        self.changes = left;
    }

    /// The power is gone: where names are lost, a directory keeps its changes up to one of them.
    pub(super) fn cut_names(&mut self, random: &mut Random, lost_names: u32) {
        let mut counts = BTreeMap::<NodeId, u64>::new();
        for directory in self.changes.iter().flat_map(Change::directories) {
            *counts.entry(directory).or_default() += 1;
        }
        let mut keeping = BTreeMap::new();
        for (directory, count) in counts {
            let loses = random.strikes(lost_names);
            keeping.insert(directory, if loses { random.below(count + 1) } else { count });
        }
        let mut lost = Vec::new();
        for change in std::mem::take(&mut self.changes) {
            let kept = change.directories().all(|directory| keeping[&directory] > 0);
            for directory in change.directories() {
                keeping
                    .entry(directory)
                    .and_modify(|left| *left = if kept { left.saturating_sub(1) } else { 0 });
            }
            if !kept {
                lost.push(change);
            }
        }
        for edit in lost.iter().rev().flat_map(|change| change.edits.iter().rev()) {
            self.set(edit.directory, &edit.name, edit.before);
        }
        self.name_all();
    }

    /// After names came back or went: counts the names that each node has in the tree.
    fn name_all(&mut self) {
        self.nodes.iter_mut().flatten().for_each(|node| node.names = 0);
        let mut waiting = vec![ROOT];
        while let Some(id) = waiting.pop() {
            let node = self.node_mut(id);
            node.names += 1;
            if let Kind::Directory(entries) = &node.kind {
                waiting.extend(entries.values());
            }
        }
    }
}

/// The names on a path from the root; all relative paths begin there, too.
fn names_of<'a>(
    operation: &'static str,
    path: &'a Path,
) -> impl Iterator<Item = Result<Cow<'a, str>, IoError>> {
    let names = path.as_os_str().as_encoded_bytes().split(|byte| *byte == b'/');
    names.filter(|name| !matches!(*name, b"" | b".")).map(move |name| match str::from_utf8(name) {
        _ if name == b".." || name.contains(&0) => Err(IoError::invalid(operation)),
        Ok(name) => Ok(Cow::Borrowed(name)),
        Err(_) => Ok(String::from_utf8_lossy(name)),
    })
}
