//! The newest message of each identity, in a table that lies in memory of the caller.
//!
//! The caller keeps the bytes between calls, so that a call owns nothing, and gives a larger table when one is full. Identities
//! are held whole: no two are ever taken for one, whatever their hashes are.

use std::hint::black_box;
use std::ops::Range;

use ng_wire::batch::{BATCH_HEADER_BYTES, BatchHeader, Messages};
use twox_hash::XxHash3_64;

use super::identity::{Identifier, Identity, Scratch};
use crate::columns::{Stop, Walk, is_tombstone};
use crate::refusal::Refusal;

/// The front of a table: how many slots, how many of them are taken, the seed, where room for identities is left.
const HEADER: usize = 32;
/// Hash, place and length of the identity, whether the message is a tombstone, its offset and its time.
const SLOT: usize = 40;
/// Bytes for one slot and the identity that it may hold.
const ENTRY: usize = 64;
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

/// The newest message of an identity.
#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u64,
    place: u64,
    length: u32,
    tombstone: u32,
    offset: u64,
    timestamp: u64,
}

impl<'a> Newest<'a> {
    /// Makes an empty table of `bytes`, which are zero; `None` if they are too few.
    pub fn begin(bytes: &'a mut [u8], seed: u64) -> Option<Self> {
        if bytes.len() < BYTES_MIN {
            return None;
        }
        let most = (bytes.len() - HEADER) / ENTRY;
        let slots = 1_usize << most.ilog2();
        let mut table = Self { bytes, slots };
        table.put(0, slots as u64);
        table.put(1, 0);
        table.put(2, seed);
        table.put(3, (HEADER + slots * SLOT) as u64);
        Some(table)
    }

    /// Goes on with a table; `None` if the bytes are none.
    pub fn open(bytes: &'a mut [u8]) -> Option<Self> {
        let length = bytes.len();
        let mut table = Self { bytes, slots: 0 };
        if length < BYTES_MIN {
            return None;
        }
        let slots = usize::try_from(table.get(0)).ok()?;
        let keys = slots.checked_mul(SLOT)?.checked_add(HEADER)?;
        let free = usize::try_from(table.get(3)).ok()?;
        table.slots = slots;
        let room = slots.is_power_of_two() && (keys..=length).contains(&free);
        (room && table.get(1) <= slots as u64 / 4 * 3).then_some(table)
    }

    /// How many identities it has.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::try_from(self.get(1)).unwrap_or(usize::MAX)
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn hash(&self, identity: &Identity<'_>) -> u64 {
        let seed = self.get(2) ^ u64::from(identity.space);
        XxHash3_64::oneshot_with_seed(seed, identity.bytes)
    }

    /// Looks at the places of identities that are about to be added. In a large table each is far from the processor: asked
    /// for one by one they would be waited for one by one.
    fn fetch(&self, hashes: impl Iterator<Item = u64>) {
        let (mut places, mut seen) = ([0; GROUP], 0);
        for (place, hash) in places.iter_mut().zip(hashes) {
            let start = HEADER + self.home(hash) * SLOT;
            *place = number(self.bytes, start + 8);
            seen ^= number(self.bytes, start + SLOT - 8);
        }
        for place in places {
            seen ^= number(self.bytes, usize::try_from(place).unwrap_or(0));
        }
        black_box(seen);
    }

    /// Takes a message into account; the same one may come again.
    fn add_hashed(&mut self, hash: u64, identity: &Identity<'_>, found: &Found) -> Result<(), TableFull> {
        let tombstone = u32::from(found.tombstone && identity.is_key());
        let Found { offset, timestamp, .. } = *found;
        let mut at = self.home(hash);
        for _ in 0..self.slots {
            let Some(slot) = self.slot(at) else {
                let (place, length) = self.keep(&[&[identity.space], identity.bytes])?;
                self.put_slot(at, &Slot { hash, place, length, tombstone, offset, timestamp });
                return Ok(());
            };
            if slot.hash == hash && self.is(&slot, identity) {
                if offset >= slot.offset {
                    self.put_slot(at, &Slot { tombstone, offset, timestamp, ..slot });
                }
                return Ok(());
            }
            at = self.behind(at);
        }
        Err(TableFull)
    }

    /// Moves everything into a larger table.
    pub fn move_into(&self, other: &mut Newest<'_>) -> Result<(), TableFull> {
        for at in 0..self.slots {
            let Some(slot) = self.slot(at) else { continue };
            let identity = &self.bytes[self.key(&slot)];
            let mut to = other.home(slot.hash);
            let (place, length) = other.keep(&[identity])?;
            while other.slot(to).is_some() {
                to = other.behind(to);
            }
            other.put_slot(to, &Slot { place, length, ..slot });
        }
        other.put(2, self.get(2));
        Ok(())
    }

    /// The offsets of the newest messages, ascending, less tombstones that were appended before `horizon`.
    #[must_use]
    pub fn winners(&self, horizon: u64) -> Vec<u64> {
        let slots = (0..self.slots).filter_map(|at| self.slot(at));
        let stays = slots.filter(|slot| slot.tombstone == 0 || slot.timestamp >= horizon);
        let mut offsets: Vec<u64> = stays.map(|slot| slot.offset).collect();
        offsets.sort_unstable();
        offsets
    }

    fn home(&self, hash: u64) -> usize {
        usize::try_from(hash & (self.slots as u64 - 1)).unwrap_or(0)
    }

    const fn behind(&self, at: usize) -> usize {
        (at + 1) & (self.slots - 1)
    }

    /// A quarter of the slots stays free, so that a search ends soon.
    fn keep(&mut self, parts: &[&[u8]]) -> Result<(u64, u32), TableFull> {
        if self.len() >= self.slots / 4 * 3 {
            return Err(TableFull);
        }
        let start = usize::try_from(self.get(3)).map_err(|_| TableFull)?;
        let mut end = start;
        for part in parts {
            let room = self.bytes.get_mut(end..end + part.len()).ok_or(TableFull)?;
            room.copy_from_slice(part);
            end += part.len();
        }
        self.put(1, self.get(1) + 1);
        self.put(3, end as u64);
        Ok((start as u64, u32::try_from(end - start).map_err(|_| TableFull)?))
    }

    fn is(&self, slot: &Slot, identity: &Identity<'_>) -> bool {
        self.bytes[self.key(slot)].split_first() == Some((&identity.space, identity.bytes))
    }

    /// Within the table, whatever the slot says.
    fn key(&self, slot: &Slot) -> Range<usize> {
        let start = usize::try_from(slot.place).unwrap_or(usize::MAX).min(self.bytes.len());
        start..start.saturating_add(slot.length as usize).min(self.bytes.len())
    }

    /// What a slot holds, if it is taken.
    fn slot(&self, at: usize) -> Option<Slot> {
        let start = HEADER + at * SLOT;
        let number = |field: usize| number(self.bytes, start + 8 * field);
        let (place, lengths) = (number(1), number(2));
        let low = |number: u64| u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0);
        (place != 0).then(|| Slot {
            hash: number(0),
            place,
            length: low(lengths),
            tombstone: low(lengths >> 32),
            offset: number(3),
            timestamp: number(4),
        })
    }

    fn put_slot(&mut self, at: usize, slot: &Slot) {
        let lengths = u64::from(slot.tombstone) << 32 | u64::from(slot.length);
        let numbers = [slot.hash, slot.place, lengths, slot.offset, slot.timestamp];
        let start = HEADER + at * SLOT;
        for (place, number) in self.bytes[start..start + SLOT].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
    }

    fn get(&self, field: usize) -> u64 {
        number(self.bytes, 8 * field)
    }

    fn put(&mut self, field: usize, value: u64) {
        self.bytes[8 * field..8 * field + 8].copy_from_slice(&value.to_le_bytes());
    }
}

fn number(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
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
    fn a_table_that_is_full_says_so_and_keeps_what_it_has() {
        let mut bytes = vec![0; 1024];
        let mut table = Newest::begin(&mut bytes, 1).expect("enough bytes");
        let long = [0; 1024];
        assert_eq!(add(&mut table, &key(&long), &found(0, false)), Err(TableFull));
        let fits = (0_u64..)
            .take_while(|name| add(&mut table, &key(&name.to_le_bytes()), &found(*name, false)).is_ok());
        let fits = fits.count() as u64;
        assert_eq!((table.len() as u64, table.winners(0)), (fits, (0..fits).collect::<Vec<_>>()));
        assert!(fits >= 6);
        assert!(Newest::open(&mut bytes).is_some());
        bytes[0] = 3;
        assert!(Newest::open(&mut bytes).is_none());
        assert!(Newest::begin(&mut [0; 1023], 1).is_none());
    }
}
