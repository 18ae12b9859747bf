//! The bytes of one simulated file: what readers see, and what a power cut would leave of it.

use std::collections::{BTreeSet, VecDeque};

use super::SECTOR;
use super::random::Random;
use crate::buffer::{Buffer, PAGE};
use crate::error::IoError;

/// Longer files are refused: even a sparse one has a slot for every page.
pub(super) const FILE_BYTES_MAX: u64 = 1 << 36;

const ZERO: Page = [0; PAGE];

type Page = [u8; PAGE];

/// Pages that nobody uses at the moment.
#[derive(Debug, Default)]
pub(super) struct Pool {
    free: Vec<Box<Page>>,
}

/// A file. A page that is all zero has no memory.
#[derive(Debug, Default)]
pub(super) struct Content {
    pages: Vec<Option<Box<Page>>>,
    length: u64,
    /// The length that a power cut leaves at least.
    stable_length: u64,
    /// Pages that no sync has covered, as their writes completed, so that those of one sync are the first ones. What
    /// is on the disk for good is the oldest `before` of a page, or what readers see of a page that is not here.
    unsynced: VecDeque<Touch>,
    /// How many writes have completed.
    completed: u64,
    /// Sectors that cannot be read.
    spoiled: BTreeSet<u64>,
}

/// What one write did to one page.
#[derive(Debug)]
struct Touch {
    /// The write, by the order of completion.
    write: u64,
    page: usize,
    before: Option<Box<Page>>,
    /// One bit for each sector of the page that it wrote to.
    sectors: u8,
    /// Of the file, once this was done.
    length: u64,
}

impl Pool {
    fn copy_of(&mut self, page: &Page) -> Box<Page> {
        match self.free.pop() {
            Some(mut copy) => {
                copy.copy_from_slice(page);
                copy
            }
            None => Box::new(*page),
        }
    }

    fn take_back(&mut self, page: Option<Box<Page>>) {
        self.free.extend(page);
    }
}

impl Content {
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// What a sync submitted now covers: every write up to this one.
    pub(super) fn completed(&self) -> u64 {
        self.completed
    }

    /// A write completed.
    pub(super) fn write(&mut self, pool: &mut Pool, offset: u64, bytes: &[u8]) {
        self.completed += 1;
        self.put(pool, offset, bytes);
    }

    /// A write was given up: each of its sectors has been written, or not. It makes a file no longer than `end`.
    pub(super) fn write_partly(
        &mut self,
        pool: &mut Pool,
        offset: u64,
        bytes: &[u8],
        end: u64,
        random: &mut Random,
    ) {
        self.completed += 1;
        for (start, sector) in pieces(offset, bytes, SECTOR) {
            if random.flip() && start + sector.len() as u64 <= end {
                self.put(pool, start, sector);
            }
        }
    }

    fn put(&mut self, pool: &mut Pool, offset: u64, bytes: &[u8]) {
        for (start, piece) in pieces(offset, bytes, PAGE) {
            self.put_page(pool, start, piece);
        }
        if !self.spoiled.is_empty() {
            let sectors = offset / SECTOR as u64..(offset + bytes.len() as u64).div_ceil(SECTOR as u64);
            self.spoiled.retain(|sector| !sectors.contains(sector));
        }
    }

    fn put_page(&mut self, pool: &mut Pool, offset: u64, piece: &[u8]) {
        let (page, within) = split(offset);
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        let slot = &mut self.pages[page];
        let before = match <&Page>::try_from(piece) {
            Ok(whole) if *whole == ZERO => slot.take(),
            Ok(whole) => slot.replace(pool.copy_of(whole)),
            Err(_) => {
                let before = slot.as_deref().map(|page| pool.copy_of(page));
                if slot.is_some() || *piece != ZERO[..piece.len()] {
                    let page = slot.get_or_insert_with(|| pool.copy_of(&ZERO));
                    page[within..within + piece.len()].copy_from_slice(piece);
                }
                before
            }
        };
        self.length = self.length.max(offset + piece.len() as u64);
        let sectors =
            (within / SECTOR..(within + piece.len()).div_ceil(SECTOR)).fold(0, |mask, at| mask | 1 << at);
        self.unsynced.push_back(Touch { write: self.completed, page, before, sectors, length: self.length });
    }

    /// A sync completed that covers the writes up to `covered`.
    pub(super) fn sync(&mut self, pool: &mut Pool, covered: u64) {
        while let Some(touch) = self.unsynced.pop_front_if(|touch| touch.write <= covered) {
            self.stable_length = self.stable_length.max(touch.length);
            pool.take_back(touch.before);
        }
    }

    /// The last write was synced by itself, which covers no other that completed shortly before.
    pub(super) fn sync_last(&mut self, pool: &mut Pool, end: u64) {
        let last = self.completed;
        while let Some(own) = self.unsynced.pop_back_if(|touch| touch.write == last) {
            let now = self.pages[own.page].as_deref().unwrap_or(&ZERO);
            for earlier in self.unsynced.iter_mut().filter(|earlier| earlier.page == own.page) {
                let before = earlier.before.get_or_insert_with(|| pool.copy_of(&ZERO));
                copy_sectors(own.sectors, now, before);
            }
            pool.take_back(own.before);
        }
        let end = end.next_multiple_of(SECTOR as u64).min(self.length);
        self.stable_length = self.stable_length.max(end);
    }

    /// The power is gone: of what no sync has covered, each sector is as one of the writes to it left it, or as before
    /// all of them; `kept` in four of them are there on average.
    pub(super) fn cut(&mut self, pool: &mut Pool, kept: u64, random: &mut Random) {
        let mut touches: Vec<Touch> = std::mem::take(&mut self.unsynced).into();
        // A stable sort: within a page the order of the writes stays.
        touches.sort_by_key(|touch| touch.page);
        for versions in touches.chunk_by(|one, other| one.page == other.page) {
            self.cut_page(pool, versions, kept, random);
        }
        for touch in touches {
            pool.take_back(touch.before);
        }
        self.length = self.stable_length;
        // Beyond the end of the file its last page is zero: a sector that is kept is as long as the file was with it.
        let pages = index(self.length.div_ceil(PAGE as u64));
        for page in self.pages.drain(pages.min(self.pages.len())..) {
            pool.take_back(page);
        }
    }

    fn cut_page(&mut self, pool: &mut Pool, versions: &[Touch], kept: u64, random: &mut Random) {
        let page = versions[0].page;
        let mut left = pool.copy_of(versions[0].before.as_deref().unwrap_or(&ZERO));
        for (index, touch) in versions.iter().enumerate() {
            let survivors = (0..8).fold(0_u8, |mask, sector| {
                let written = touch.sectors & 1 << sector != 0;
                if written && random.below(4) < kept { mask | 1 << sector } else { mask }
            });
            let after = match versions.get(index + 1) {
                Some(next) => next.before.as_deref(),
                None => self.pages[page].as_deref(),
            };
            copy_sectors(survivors, after.unwrap_or(&ZERO), &mut left);
            if survivors != 0 {
                let last = 8 - u64::from(survivors.leading_zeros());
                let end = page as u64 * PAGE as u64 + last * SECTOR as u64;
                self.stable_length = self.stable_length.max(end.min(touch.length));
            }
        }
        let seen = self.pages[page].replace(left);
        pool.take_back(seen);
    }

    /// Appends the bytes from `offset` to the buffer as far as there is room; an error if a sector of them is spoiled.
    pub(super) fn read(&self, offset: u64, buffer: &mut Buffer) -> Result<usize, IoError> {
        let start = offset.min(self.length);
        let end = start.saturating_add(buffer.spare() as u64).min(self.length);
        let sectors = start / SECTOR as u64..end.div_ceil(SECTOR as u64);
        if self.spoiled.range(sectors).next().is_some() {
            return Err(IoError::new("read", libc::EIO));
        }
        let mut at = start;
        while at < end {
            let (page, within) = split(at);
            let count = index(end - at).min(PAGE - within);
            buffer.extend_from_slice(&self.page(page)[within..within + count]);
            at += count as u64;
        }
        Ok(index(end - start))
    }

    fn page(&self, page: usize) -> &Page {
        self.pages.get(page).and_then(Option::as_deref).unwrap_or(&ZERO)
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let length = index(self.length);
        let mut bytes = Vec::with_capacity(length.next_multiple_of(PAGE));
        (0..length.div_ceil(PAGE)).for_each(|page| bytes.extend_from_slice(self.page(page)));
        bytes.truncate(length);
        bytes
    }

    /// Flips bits of one byte, as readers see it and on the disk.
    pub(super) fn rot(&mut self, position: usize, mask: u8) -> bool {
        let (page, within) = split(position as u64);
        if position as u64 >= self.length {
            return false;
        }
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        let olds = self.unsynced.iter_mut().filter(|touch| touch.page == page).map(|touch| &mut touch.before);
        for version in olds.chain([&mut self.pages[page]]) {
            version.get_or_insert_with(|| Box::new(ZERO))[within] ^= mask;
        }
        true
    }

    pub(super) fn spoil(&mut self, position: usize) -> bool {
        (position as u64) < self.length && self.spoiled.insert(position as u64 / SECTOR as u64)
    }

    /// Gives the memory back.
    pub(super) fn free(self, pool: &mut Pool) {
        self.pages.into_iter().for_each(|page| pool.take_back(page));
        self.unsynced.into_iter().for_each(|touch| pool.take_back(touch.before));
    }
}

/// Cuts bytes that begin at `offset` where a unit ends.
fn pieces(offset: u64, bytes: &[u8], unit: usize) -> impl Iterator<Item = (u64, &[u8])> {
    let mut at = offset;
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let room = unit - index(at % unit as u64);
        let (piece, behind) = rest.split_at(room.min(rest.len()));
        rest = behind;
        let start = at;
        at += piece.len() as u64;
        (!piece.is_empty()).then_some((start, piece))
    })
}

fn copy_sectors(sectors: u8, from: &Page, to: &mut Page) {
    let bits = (0..8).filter(|bit| sectors & 1 << bit != 0);
    for range in bits.map(|bit| bit * SECTOR..(bit + 1) * SECTOR) {
        to[range.clone()].copy_from_slice(&from[range]);
    }
}

/// The page of a position, and where in it.
fn split(position: u64) -> (usize, usize) {
    (index(position / PAGE as u64), index(position % PAGE as u64))
}

fn index(position: u64) -> usize {
    usize::try_from(position).expect("files fit memory")
}
