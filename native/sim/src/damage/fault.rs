//! One fault of one file, drawn and done.

use std::path::{Path, PathBuf};

use ng_io::SimulatedEnvironment;
use ng_io::simulated::Random;
use ng_storage::PAGE;
use ng_storage::block::{BLOCK_HEADER, BlockHeader};

use super::disk::{Files, put};
use super::file_kind::FileKind;

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Damage {
    /// A bit is another one.
    Flip,
    /// A range of bytes, a page or several are zero.
    Zero,
    /// It is shorter.
    Truncate,
    /// It is gone.
    Remove,
    /// It has the name of another file of its kind, which has its name.
    Swap,
    /// It is a copy that was made earlier.
    Older,
}

impl Damage {
    /// Every fault.
    pub const ALL: [Self; 6] =
        [Self::Flip, Self::Zero, Self::Truncate, Self::Remove, Self::Swap, Self::Older];
}

/// Attempts to draw a fault that a file can have.
const DRAWS: u32 = 50;

/// What was done.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) file_kind: FileKind,
    pub(crate) damage: Damage,
    /// The files that are not what they were.
    pub(crate) touched: Vec<PathBuf>,
}

/// Where faults are drawn from.
#[derive(Debug)]
pub(crate) struct Choice<'a> {
    pub(crate) damages: &'a [Damage],
    /// The files as they are.
    pub(crate) files: &'a Files,
    /// The files of an earlier moment.
    pub(crate) older: &'a Files,
    /// Whether the last stop was orderly.
    pub(crate) orderly: bool,
}

impl Choice<'_> {
    /// Damages a file; none if no file can have any of the faults.
    pub(crate) fn damage(&self, environment: &SimulatedEnvironment, random: &mut Random) -> Option<Done> {
        for _ in 0..DRAWS {
            let file_kind = *pick(random, &FileKind::ALL)?;
            let of_kind: Vec<&PathBuf> =
                self.files.keys().filter(|path| FileKind::of(path, self.files) == Some(file_kind)).collect();
            let Some(path) = pick(random, &of_kind) else { continue };
            let damage = *pick(random, self.damages)?;
            if let Some(touched) = self.hit(environment, random, (path, file_kind), damage) {
                return Some(Done { file_kind, damage, touched });
            }
        }
        None
    }

    fn hit(
        &self,
        environment: &SimulatedEnvironment,
        random: &mut Random,
        (path, file_kind): (&Path, FileKind),
        damage: Damage,
    ) -> Option<Vec<PathBuf>> {
        let bytes = self.files.get(path).filter(|bytes| !bytes.is_empty())?;
        let changed = match damage {
            Damage::Flip => {
                environment.rot(path, position(random, bytes), 1 << random.below(8));
                return Some(vec![path.to_owned()]);
            }
            Damage::Swap => return self.swap(environment, random, (path, file_kind)),
            Damage::Remove => None,
            Damage::Zero => Some(zeroed(random, bytes)),
            Damage::Truncate => Some(bytes[..cut(random, bytes)].to_vec()),
            Damage::Older => Some(self.earlier(random, (path, file_kind))?.clone()),
        };
        if changed.as_ref() == Some(bytes) || self.is_an_earlier_end((path, file_kind), changed.as_deref()) {
            return None;
        }
        put(environment, path, changed.as_deref());
        Some(vec![path.to_owned()])
    }

    fn swap(
        &self,
        environment: &SimulatedEnvironment,
        random: &mut Random,
        (path, file_kind): (&Path, FileKind),
    ) -> Option<Vec<PathBuf>> {
        let bytes = self.files.get(path)?;
        let others: Vec<(&PathBuf, &Vec<u8>)> = self
            .files
            .iter()
            .filter(|(other, content)| {
                *content != bytes && FileKind::of(other, self.files) == Some(file_kind)
            })
            .collect();
        let (other, content) = *pick(random, &others)?;
        if [(path, content), (other, bytes)]
            .into_iter()
            .any(|(path, changed)| self.is_an_earlier_end((path, file_kind), Some(changed)))
        {
            return None;
        }
        put(environment, path, Some(content));
        put(environment, other, Some(bytes));
        Some(vec![path.to_owned(), other.clone()])
    }

    /// Whether a file of a journal now has zeroes in the place of the newest block. After a crash that is what the disk held
    /// before the block was written: no start can miss it.
    fn is_an_earlier_end(&self, (path, file_kind): (&Path, FileKind), changed: Option<&[u8]>) -> bool {
        let Some(changed) = changed.filter(|_| file_kind == FileKind::Journal && !self.orderly) else {
            return false;
        };
        let ring = self.files.iter().filter(|(other, _)| {
            other.parent() == path.parent() && FileKind::of(other, self.files) == Some(FileKind::Journal)
        });
        let blocks = ring.flat_map(|(file, bytes)| {
            bytes.chunks(PAGE).enumerate().filter_map(move |(number, page)| {
                let (header, _) = BlockHeader::decode(page).ok()?;
                Some((header.sequence, file, number * PAGE))
            })
        });
        let Some((_, file, at)) = blocks.max() else { return false };
        file == path
            && changed.get(at..at + BLOCK_HEADER).is_some_and(|left| left.iter().all(|byte| *byte == 0))
    }

    /// The file as it was, or one of its kind that its directory had.
    fn earlier(&self, random: &mut Random, (path, file_kind): (&Path, FileKind)) -> Option<&Vec<u8>> {
        // After a crash nothing knows of the newest blocks but the file that holds them: no start can miss them.
        if file_kind == FileKind::Journal && !self.orderly {
            return None;
        }
        if let Some(same) = self.older.get(path) {
            return Some(same);
        }
        let beside: Vec<&Vec<u8>> = self
            .older
            .iter()
            .filter(|(other, _)| {
                other.parent() == path.parent() && FileKind::of(other, self.older) == Some(file_kind)
            })
            .map(|(_, bytes)| bytes)
            .collect();
        pick(random, &beside).copied()
    }
}

fn pick<'a, T>(random: &mut Random, of: &'a [T]) -> Option<&'a T> {
    if of.is_empty() { None } else { of.get(below(random, of.len())) }
}

fn below(random: &mut Random, bound: usize) -> usize {
    usize::try_from(random.below(bound as u64)).unwrap_or(0)
}

/// A position, most often on a page that holds anything.
fn position(random: &mut Random, bytes: &[u8]) -> usize {
    let used = |page: &usize| bytes[*page..].iter().take(256).any(|byte| *byte != 0);
    let pages: Vec<usize> = (0..bytes.len()).step_by(PAGE).collect();
    let pages_used: Vec<usize> = pages.iter().copied().filter(used).collect();
    let anywhere = pages_used.is_empty() || random.below(10) == 0;
    let page = *pick(random, if anywhere { &pages } else { &pages_used }).unwrap_or(&0);
    let reach = [64, 512, PAGE][below(random, 3)].min(bytes.len() - page);
    page + below(random, reach)
}

fn zeroed(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let lengths = [1 + below(random, 512), PAGE, 16 * PAGE, bytes.len()];
    let length = lengths[below(random, lengths.len())];
    let from = position(random, bytes);
    let from = if length == bytes.len() {
        0
    } else if length >= PAGE {
        from / PAGE * PAGE
    } else {
        from
    };
    let mut changed = bytes.to_vec();
    let end = changed.len().min(from + length);
    changed[from..end].fill(0);
    changed
}

/// How many bytes are left.
fn cut(random: &mut Random, bytes: &[u8]) -> usize {
    let somewhere = position(random, bytes);
    [0, bytes.len() - 1, somewhere, somewhere / PAGE * PAGE][below(random, 4)]
}
