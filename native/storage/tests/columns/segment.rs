//! Segments to read, and rows as they must come out.

use ng_storage::columns::{Columns, Decoded, Layout, Selection, Walk, decode};
use ng_storage::compaction::KeyRule;
use ng_wire::batch::{BATCH_HEADER_BYTES, BatchBuilder, BatchHeader, Messages, stamp};

pub(crate) const PARTITION: u64 = 3;

/// Name, kind and value of a user header.
type NamedValue = (Vec<u8>, u8, Vec<u8>);

/// One message, field by field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) offset: i64,
    pub(crate) timestamp: i64,
    pub(crate) origin: i64,
    pub(crate) id: Vec<u8>,
    pub(crate) value: Vec<u8>,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) tombstone: bool,
    pub(crate) user_headers: Vec<u8>,
    pub(crate) headers: Option<Vec<NamedValue>>,
}

pub(crate) fn field(kind: u8, bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("a short field");
    [&[kind][..], &length.to_le_bytes(), bytes].concat()
}

pub(crate) fn header(key: &[u8], kind: u8, value: &[u8]) -> Vec<u8> {
    [field(2, key), field(kind, value)].concat()
}

/// Batches of such numbers of messages; offsets begin at 10 and have a gap of 5 between batches.
pub(crate) fn segment(batches: &[u32]) -> Vec<u8> {
    let (mut bytes, mut base) = (Vec::new(), 10);
    for (number, count) in (0_u64..).zip(batches) {
        let mut batch = BatchBuilder::new(1_000 * number);
        for index in 0..*count {
            let payload = vec![b'p'; (index % 40) as usize];
            batch = batch.message(
                u128::from(base + u64::from(index)) << 64 | 7,
                index,
                &payload,
                &headers(index),
            );
        }
        let mut batch = batch.finish();
        stamp(&mut batch, PARTITION, base, 2_000 + number).expect("a good batch");
        bytes.extend_from_slice(&batch);
        base += u64::from(*count) + 5;
    }
    bytes
}

fn headers(index: u32) -> Vec<u8> {
    match index % 5 {
        0 => Vec::new(),
        1 => header(b"key", 2, format!("k{index}").as_bytes()),
        2 => [header(b"n", 9, &[42]), header(b"key", 1, &[0xff; 255]), header(b"key", 2, b"second")].concat(),
        3 => [header(b"tombstone", 3, &[1]), header(b"key", 12, &[9; 8])].concat(),
        _ => b"no headers".to_vec(),
    }
}

/// The rows of whole batches, read without the code under test.
pub(crate) fn expected(segment: &[u8]) -> Vec<Row> {
    let (mut rows, mut at) = (Vec::new(), 0);
    while at < segment.len() {
        let batch = BatchHeader::decode(&segment[at..]).expect("a header");
        let end = at + usize::try_from(batch.length).expect("a length");
        for message in Messages::new(&segment[at + BATCH_HEADER_BYTES..end], batch.count) {
            let message = message.expect("a message");
            let index = message.offset_delta;
            let text = |text: &[u8]| text.to_vec();
            let headers = match index % 5 {
                0 => Some(vec![]),
                1 => Some(vec![(text(b"key"), 2, format!("k{index}").into_bytes())]),
                2 => Some(vec![
                    (text(b"n"), 9, vec![42]),
                    (text(b"key"), 1, vec![0xff; 255]),
                    (text(b"key"), 2, text(b"second")),
                ]),
                3 => Some(vec![(text(b"tombstone"), 3, vec![1]), (text(b"key"), 12, vec![9; 8])]),
                _ => None,
            };
            let key = headers.iter().flatten().find(|(name, ..)| name == b"key");
            rows.push(Row {
                offset: i64::try_from(batch.base_offset).expect("an offset") + i64::from(index),
                timestamp: i64::try_from(batch.base_timestamp).expect("a time"),
                origin: i64::try_from(batch.origin_timestamp).expect("a time") + i64::from(index),
                id: message.id.to_be_bytes().to_vec(),
                value: message.payload.to_vec(),
                key: key.map(|(_, _, value)| value.clone()),
                tombstone: message.payload.is_empty() || index % 5 == 3,
                user_headers: message.user_headers.to_vec(),
                headers,
            });
        }
        at = end;
    }
    rows
}

pub(crate) fn walk(valid: usize) -> Walk {
    Walk { valid: valid as u64, after: 0, partition: PARTITION, hashed: true }
}

pub(crate) const EVERYTHING: Selection<'static> = Selection {
    columns: Columns::ALL,
    rows_max: 1_000,
    first_offset: 0,
    end_offset: u64::MAX,
    min_timestamp: 0,
    max_timestamp: u64::MAX,
    key: KeyRule::Header(b"key"),
};

/// Rows of one call, taken from the arena as Arrow would.
pub(crate) fn call(piece: &[u8], walk: &Walk, selection: &Selection<'_>) -> (Vec<Row>, Decoded) {
    let layout = Layout::new(selection.columns, selection.rows_max, piece.len());
    let mut arena = vec![0xa5; layout.size];
    let decoded = decode(piece, walk, selection, &mut arena).expect("the arena is as long as it must be");
    let buffer = |number: usize| {
        let place = layout.places[number];
        &arena[place.start..place.start + place.length]
    };
    let rows = (0..decoded.rows).map(|row| Reading { buffer: &buffer, columns: selection.columns }.row(row));
    (rows.collect(), decoded)
}

struct Reading<'a, F: Fn(usize) -> &'a [u8]> {
    buffer: &'a F,
    columns: Columns,
}

impl<'a, F: Fn(usize) -> &'a [u8]> Reading<'a, F> {
    fn row(&self, row: usize) -> Row {
        let has = |column| self.columns.has(column);
        Row {
            offset: if has(Columns::OFFSET) { self.number(0, row) } else { 0 },
            timestamp: if has(Columns::TIMESTAMP) { self.number(1, row) } else { 0 },
            origin: if has(Columns::ORIGIN) { self.number(2, row) } else { 0 },
            id: if has(Columns::ID) { self.text(3, row) } else { vec![] },
            value: if has(Columns::VALUE) { self.text(5, row) } else { vec![] },
            key: (has(Columns::KEY) && self.bit(7, row)).then(|| self.text(8, row)),
            tombstone: has(Columns::TOMBSTONE) && self.bit(10, row),
            user_headers: if has(Columns::USER_HEADERS) { self.text(11, row) } else { vec![] },
            headers: (has(Columns::HEADERS) && self.bit(13, row)).then(|| self.headers(row)),
        }
    }

    fn number(&self, buffer: usize, row: usize) -> i64 {
        i64::from_le_bytes(*(self.buffer)(buffer)[row * 8..].first_chunk().expect("a number"))
    }

    fn end(&self, buffer: usize, row: usize) -> usize {
        u32::from_le_bytes(*(self.buffer)(buffer)[row * 4..].first_chunk().expect("an end")) as usize
    }

    fn text(&self, buffer: usize, row: usize) -> Vec<u8> {
        (self.buffer)(buffer + 1)[self.end(buffer, row)..self.end(buffer, row + 1)].to_vec()
    }

    fn bit(&self, buffer: usize, row: usize) -> bool {
        (self.buffer)(buffer)[row / 8] >> (row % 8) & 1 == 1
    }

    fn headers(&self, row: usize) -> Vec<(Vec<u8>, u8, Vec<u8>)> {
        let range = self.end(14, row)..self.end(14, row + 1);
        range.map(|at| (self.text(15, at), (self.buffer)(17)[at], self.text(18, at))).collect()
    }
}
