//! The newest message of each identity, in a table that lies in memory of the caller.
//!
//! The caller keeps the bytes between calls, so that a call owns nothing, and gives a larger table when one is full. Identities
//! are held whole: no two are ever taken for one, whatever their hashes are.

use std::hint::black_box;
use std::iter::successors;

use ng_wire::batch::{BATCH_HEADER_BYTES, BatchHeader, Messages};
use twox_hash::XxHash3_64;

use super::identity::{Identifier, Identity, Scratch};
use crate::columns::{Stop, Walk, is_tombstone};
use crate::refusal::Refusal;

/// The front of a table: how many slots it has.
const SLOTS: usize = 0;
/// How many entries.
const ENTRIES: usize = 8;
/// What identities are hashed with.
const SEED: usize = 16;
/// Where the entries end.
const FREE: usize = 24;
/// The slots follow: half of the hash and the place of the entry, so small that they stay close to the processor.
const HEADER: usize = 32;
const SLOT: usize = 8;
/// Then the entries. Each begins with the offset of the message; behind that is the last horizon that leaves it.
const HORIZON: usize = 8;
/// The mark of its identity.
const MARK: usize = 16;
/// The identity itself.
const IDENTITY: usize = 20;
/// Entries begin at multiples of this.
const PLACE: usize = 8;
/// Bytes of a table for each of its slots: three of four may be taken, which leaves 32 for each entry.
const SHARE: usize = 32;
/// How far an identity of usual length reaches into the next line of memory, from the front of its entry.
const REACH: usize = 40;
/// The smallest table.
const BYTES_MIN: usize = 1024;

/// There is no room for a further identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFull;

/// A table.
#[derive(Debug)]
pub struct Newest<'a> {
    bytes: &'a mut [u8],
    slots: usize,
}

/// A message.
struct Found {
    offset: u64,
    timestamp: u64,
    tombstone: bool,
}

/// What a slot holds that is taken.
#[derive(Clone, Copy, Debug)]
struct Link {
    hash: u32,
    /// Where its entry begins, in units of [`PLACE`].
    place: u32,
}

impl<'a> Newest<'a> {
    /// Makes an empty table of `bytes`, which are zero; `None` if they are too few.
    pub fn begin(bytes: &'a mut [u8], seed: u64) -> Option<Self> {
        if bytes.len() < BYTES_MIN {
            return None;
        }
        let slots = 1_usize << (bytes.len() / SHARE).ilog2();
        let mut table = Self { bytes, slots };
        table.put(SLOTS, slots as u64);
        table.put(ENTRIES, 0);
        table.put(SEED, seed);
        table.put(FREE, table.first_entry() as u64);
        Some(table)
    }

    /// Goes on with a table; `None` if the bytes are none.
    pub fn open(bytes: &'a mut [u8]) -> Option<Self> {
        let length = bytes.len();
        let mut table = Self { bytes, slots: 0 };
        if length < BYTES_MIN {
            return None;
        }
        table.slots = usize::try_from(table.get(SLOTS)).ok().filter(|slots| *slots <= length / SLOT)?;
        let free = usize::try_from(table.get(FREE)).ok()?;
        let is_whole = table.slots.is_power_of_two() && (table.first_entry()..=length).contains(&free);
        (is_whole && table.get(ENTRIES) <= table.slots as u64 / 4 * 3).then_some(table)
    }

    /// How many identities it has.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::try_from(self.get(ENTRIES)).unwrap_or(usize::MAX)
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn hash(&self, identity: &Identity<'_>) -> u32 {
        let seed = self.get(SEED) ^ u64::from(identity.space);
        let [low @ .., _, _, _, _] = XxHash3_64::oneshot_with_seed(seed, identity.bytes).to_le_bytes();
        u32::from_le_bytes(low)
    }

    /// Looks at the places of identities that are about to be added. In a large table each is far from the processor: asked
    /// for one by one they would be waited for one by one.
    fn fetch(&self, hashes: impl Iterator<Item = u32>) {
        let mut places = [0; GROUP];
        for (place, hash) in places.iter_mut().zip(hashes) {
            *place = self.link(self.home(hash)).map_or(0, |link| start(link.place));
        }
        let seen = places.iter().fold(0, |seen, place| seen ^ self.get(*place) ^ self.get(place + REACH));
        black_box(seen);
    }

    /// Takes a message into account; the same one may come again.
    fn add_hashed(&mut self, hash: u32, identity: &Identity<'_>, found: &Found) -> Result<(), TableFull> {
        let is_deleted = found.tombstone && identity.is_key();
        let horizon = if is_deleted { found.timestamp } else { u64::MAX };
        let mut at = self.home(hash);
        for _ in 0..self.slots {
            let Some(link) = self.link(at) else {
                let numbers = [found.offset.to_le_bytes(), horizon.to_le_bytes()];
                let mark = mark(identity).ok_or(TableFull)?;
                let place = self.keep(&[numbers.as_flattened(), &mark, identity.bytes])?;
                self.put_link(at, Link { hash, place });
                return Ok(());
            };
            let entry = start(link.place);
            if link.hash == hash && self.is(entry, identity) {
                if found.offset >= self.get(entry) {
                    self.put(entry, found.offset);
                    self.put(entry + HORIZON, horizon);
                }
                return Ok(());
            }
            at = self.behind(at);
        }
        Err(TableFull)
    }

    /// Moves everything into a larger table.
    pub fn move_into(&self, other: &mut Newest<'_>) -> Result<(), TableFull> {
        for link in (0..self.slots).filter_map(|at| self.link(at)) {
            let entry = start(link.place);
            let place = other.keep(&[self.bytes.get(entry..self.end(entry)).unwrap_or_default()])?;
            let mut at = other.home(link.hash);
            while other.link(at).is_some() {
                at = other.behind(at);
            }
            other.put_link(at, Link { place, ..link });
        }
        other.put(SEED, self.get(SEED));
        Ok(())
    }

    /// The offsets of the newest messages, ascending, less tombstones that were appended before `horizon`.
    #[must_use]
    pub fn winners(&self, horizon: u64) -> Vec<u64> {
        let free = self.free();
        let next = |entry: usize| Some(self.end(entry).next_multiple_of(PLACE)).filter(|next| *next < free);
        let entries =
            successors(Some(self.first_entry()).filter(|first| *first < free), |entry| next(*entry));
        let stays = entries.filter(|entry| self.get(entry + HORIZON) >= horizon);
        let mut offsets: Vec<u64> = stays.map(|entry| self.get(entry)).collect();
        offsets.sort_unstable();
        offsets
    }

    fn home(&self, hash: u32) -> usize {
        hash as usize & (self.slots - 1)
    }

    const fn behind(&self, at: usize) -> usize {
        (at + 1) & (self.slots - 1)
    }

    const fn first_entry(&self) -> usize {
        HEADER + self.slots * SLOT
    }

    /// Appends an entry. A quarter of the slots stays free, so that a search ends soon.
    fn keep(&mut self, parts: &[&[u8]]) -> Result<u32, TableFull> {
        if self.len() >= self.slots / 4 * 3 {
            return Err(TableFull);
        }
        let start = self.free();
        let place = u32::try_from(start / PLACE).map_err(|_| TableFull)?;
        let mut end = start;
        for part in parts {
            let room = self.bytes.get_mut(end..end + part.len()).ok_or(TableFull)?;
            room.copy_from_slice(part);
            end += part.len();
        }
        self.put(ENTRIES, self.get(ENTRIES) + 1);
        self.put(FREE, end.next_multiple_of(PLACE).min(self.bytes.len()) as u64);
        Ok(place)
    }

    fn is(&self, entry: usize, identity: &Identity<'_>) -> bool {
        let held = self.bytes.get(entry + MARK..self.end(entry)).and_then(|held| held.split_first_chunk());
        held.is_some_and(|(held, bytes)| Some(*held) == mark(identity) && bytes == identity.bytes)
    }

    /// Where an entry ends, which lies within the table, whatever its length says.
    fn end(&self, entry: usize) -> usize {
        let mark = self.bytes.get(entry + MARK..).and_then(|bytes| bytes.first_chunk());
        let length = mark.map_or(0, |mark| u32::from_le_bytes(*mark) >> 1);
        (entry + IDENTITY).saturating_add(length as usize).min(self.bytes.len())
    }

    fn link(&self, slot: usize) -> Option<Link> {
        let word = self.get(HEADER + slot * SLOT).to_le_bytes();
        let (halves, _) = word.as_chunks();
        let [hash, place] = *halves else { return None };
        let [hash, place] = [hash, place].map(u32::from_le_bytes);
        (place != 0).then_some(Link { hash, place })
    }

    fn put_link(&mut self, slot: usize, link: Link) {
        self.put(HEADER + slot * SLOT, u64::from(link.place) << 32 | u64::from(link.hash));
    }

    /// Where the next entry begins, or the end of the table.
    fn free(&self) -> usize {
        let length = self.bytes.len();
        usize::try_from(self.get(FREE)).map_or(length, |free| free.min(length))
    }

    fn get(&self, at: usize) -> u64 {
        let number = self.bytes.get(at..).and_then(|bytes| bytes.first_chunk());
        number.map_or(0, |number| u64::from_le_bytes(*number))
    }

    fn put(&mut self, at: usize, value: u64) {
        self.bytes[at..at + size_of::<u64>()].copy_from_slice(&value.to_le_bytes());
    }
}

/// How long an identity is, and whether it is a key; `None` if it is longer than any message.
fn mark(identity: &Identity<'_>) -> Option<[u8; 4]> {
    let length = u32::try_from(identity.bytes.len()).ok().filter(|length| *length <= u32::MAX >> 1)?;
    Some((length << 1 | u32::from(identity.is_key())).to_le_bytes())
}

const fn start(place: u32) -> usize {
    place as usize * PLACE
}

/// How far a piece was taken into account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noted {
    /// Position of the batch that the next call begins with.
    pub consumed: usize,
    /// The `after` of the next call.
    pub after: u64,
    /// How many messages there were.
    pub messages: u64,
    /// How many of them have an identity.
    pub identified: u64,
    /// Why it came to its end; full is the table.
    pub stop: Stop,
}

/// Takes the messages of a piece into account.
pub fn note(piece: &[u8], walk: &Walk, identifier: &Identifier<'_>, newest: &mut Newest<'_>) -> Noted {
    let mut walk = *walk;
    let mut noted = Noted { consumed: 0, after: walk.after, messages: 0, identified: 0, stop: Stop::End };
    noted.stop = loop {
        let rest = &piece[noted.consumed..];
        let batch = match walk.batch(rest, noted.consumed) {
            Ok(batch) => batch,
            Err(stop) => break stop,
        };
        let length = usize::try_from(batch.header.length).unwrap_or(usize::MAX);
        match note_batch(&rest[BATCH_HEADER_BYTES..length], &batch.header, identifier, newest) {
            Ok(identified) => noted.identified += identified,
            Err(stop) => break stop,
        }
        noted.messages += u64::from(batch.header.count);
        noted.consumed += length;
        noted.after = batch.last_offset + 1;
        walk.after = noted.after;
    };
    noted
}

/// Messages whose slots are fetched together.
const GROUP: usize = 32;

fn note_batch(
    frames: &[u8],
    header: &BatchHeader,
    identifier: &Identifier<'_>,
    newest: &mut Newest<'_>,
) -> Result<u64, Stop> {
    let mut messages = Messages::new(frames, header.count);
    let mut identified = 0;
    loop {
        let mut rooms: [(Scratch, [u8; 16]); GROUP] = Default::default();
        let mut group = [const { None }; GROUP];
        let mut left = GROUP;
        for ((scratch, id), place) in rooms.iter_mut().zip(&mut group) {
            let Some(message) = messages.next() else { break };
            let message = message.map_err(|refusal| Stop::Damaged(Refusal::from(refusal)))?;
            left -= 1;
            let Some(identity) = identifier.identity(&message, scratch, id) else { continue };
            let found = Found {
                offset: header.base_offset + u64::from(message.offset_delta),
                timestamp: header.base_timestamp,
                tombstone: is_tombstone(&message),
            };
            *place = Some((newest.hash(&identity), identity, found));
        }
        newest.fetch(group.iter().flatten().map(|(hash, ..)| *hash));
        for (hash, identity, found) in group.iter().flatten() {
            newest.add_hashed(*hash, identity, found).map_err(|TableFull| Stop::Full)?;
            identified += 1;
        }
        if left > 0 {
            return Ok(identified);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, Identity, Newest, TableFull};

    fn add(table: &mut Newest<'_>, identity: &Identity<'_>, found: &Found) -> Result<(), TableFull> {
        table.add_hashed(table.hash(identity), identity, found)
    }

    fn found(offset: u64, tombstone: bool) -> Found {
        Found { offset, timestamp: offset, tombstone }
    }

    fn key(bytes: &[u8]) -> Identity<'_> {
        Identity { space: 0, bytes }
    }

    #[test]
    fn identities_with_one_hash_stay_apart() {
        let mut bytes = vec![0; 4096];
        let mut table = Newest::begin(&mut bytes, 7).expect("enough bytes");
        for (offset, name) in (0_u64..).zip([b"a", b"b", b"c", b"a", b"b"]) {
            table.add_hashed(1, &key(name), &found(offset, false)).expect("room");
        }
        table.add_hashed(1, &Identity { space: 1, bytes: b"c" }, &found(9, false)).expect("room");
        assert_eq!((table.len(), table.winners(0)), (4, vec![2, 3, 4, 9]));
        let mut larger = vec![0; 8192];
        let mut other = Newest::begin(&mut larger, 8).expect("enough bytes");
        table.move_into(&mut other).expect("room");
        other.add_hashed(1, &key(b"b"), &found(20, false)).expect("room");
        assert_eq!((other.len(), other.winners(0)), (4, vec![2, 3, 9, 20]));
    }

    #[test]
    fn an_older_message_that_comes_again_changes_nothing() {
        let mut bytes = vec![0; 1024];
        let mut table = Newest::begin(&mut bytes, 1).expect("enough bytes");
        for offset in [5, 3, 5] {
            add(&mut table, &key(b"k"), &found(offset, offset == 5)).expect("room");
        }
        assert_eq!(table.winners(5), [5]);
        assert_eq!(table.winners(6), [0; 0]);
    }

    #[test]
    fn short_identities_take_43_bytes() {
        let mut bytes = vec![0; 1 << 20];
        let mut table = Newest::begin(&mut bytes, 1).expect("enough bytes");
        let names = (0..).map(|name: u64| (name, format!("{name:012}")));
        let fits = names.take_while(|(at, name)| {
            let name = key(name.as_bytes());
            add(&mut table, &name, &found(*at, false)).is_ok()
        });
        assert_eq!(fits.count(), (1 << 20) * 3 / 4 / 32 - 1);
    }

    #[test]
    fn a_table_that_is_full_says_so_and_keeps_what_it_has() {
        let mut bytes = vec![0; 1024];
        let mut table = Newest::begin(&mut bytes, 1).expect("enough bytes");
        let long = [0; 1024];
        assert_eq!(add(&mut table, &key(&long), &found(0, false)), Err(TableFull));
        let fits = (0_u64..)
            .take_while(|name| add(&mut table, &key(&name.to_le_bytes()), &found(*name, false)).is_ok());
        let fits = fits.count() as u64;
        assert_eq!((table.len() as u64, table.winners(0)), (fits, (0..fits).collect::<Vec<_>>()));
        assert!(fits >= 20);
        assert!(Newest::open(&mut bytes).is_some());
        bytes[0] = 3;
        assert!(Newest::open(&mut bytes).is_none());
        assert!(Newest::begin(&mut [0; 1023], 1).is_none());
    }
}
