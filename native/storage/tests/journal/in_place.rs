//! Bodies that lie in pages with room in front of them: their blocks are written from there.

use std::sync::Arc;

use ng_io::{Chunk, Output};
use ng_storage::block::BODY_FRONT;
use ng_storage::journal::recovery::Recovered;
use ng_storage::journal::{Effect, Event, Limits, PrepareJournal};

use crate::rig::{LIMITS, prepare};

/// A journal that writes its first block next; whatever it has written, its syncs are over.
fn journal() -> PrepareJournal {
    let limits = Limits { file_bytes: 1 << 20, ..LIMITS };
    let mut effects = Vec::new();
    let mut journal = PrepareJournal::resume(1, 1, limits, Recovered::empty(4), &mut effects);
    finish(&mut journal, take_write(&mut effects));
    journal
}

/// Takes bodies into one block, as the next ops, and starts its write.
fn write(journal: &mut PrepareJournal, first_op: u64, bodies: &[&Arc<Chunk>]) -> Output {
    for (op, body) in (first_op..).zip(bodies) {
        journal.append(prepare(1, op, 1, body), Arc::clone(body)).expect("room");
    }
    let mut effects = Vec::new();
    journal.start(&mut effects);
    take_write(&mut effects)
}

fn take_write(effects: &mut Vec<Effect>) -> Output {
    let write = effects.drain(..).find_map(|effect| match effect {
        Effect::Write { buffer, .. } => Some(buffer),
        _ => None,
    });
    write.expect("a block is written")
}

fn finish(journal: &mut PrepareJournal, buffer: Output) {
    let mut effects = Vec::new();
    journal.step(Event::Written { buffer, result: Ok(()) }, &mut effects);
    journal.start(&mut effects);
}

fn copied(bytes: &[u8]) -> Arc<Chunk> {
    Arc::new(bytes.to_vec().into())
}

fn framed(bytes: &[u8]) -> Arc<Chunk> {
    Arc::new(Chunk::with_front(BODY_FRONT, bytes))
}

#[test]
fn the_block_is_the_same_as_one_that_was_copied_together() {
    for length in [0, 1, 8, 3_679, 3_680, 3_681, 4_096, 40_000] {
        let bytes: Vec<u8> = (1..=255).cycle().take(length).collect();
        let (copied, framed) = (copied(&bytes), framed(&bytes));
        let expected = write(&mut journal(), 1, &[&copied]);
        let block = write(&mut journal(), 1, &[&framed]);
        assert_eq!(expected[..], block[..], "of {length} bytes");
        assert_eq!(framed.as_ptr(), block[BODY_FRONT..].as_ptr(), "nothing was copied");
    }
}

#[test]
fn bodies_that_share_a_block_are_copied_together() {
    let [one, two] = [framed(&[1; 5_000]), framed(&[2; 5_000])];
    let expected = write(&mut journal(), 1, &[&copied(&one), &copied(&two)]);
    assert_eq!(write(&mut journal(), 1, &[&one, &two])[..], expected[..]);
}

#[test]
fn a_body_is_copied_while_its_pages_are_being_written() {
    let body = framed(&[7; 5_000]);
    let mut journal = journal();
    let first = write(&mut journal, 1, &[&body]);
    let before = first.to_vec();
    finish(&mut journal, some_output());
    let second = write(&mut journal, 2, &[&body]);
    assert_ne!(second.as_ptr(), first.as_ptr());
    assert_eq!((&second[BODY_FRONT..BODY_FRONT + 5_000], &first[..]), (&body[..], &before[..]));
}

/// What a write gives back whose own bytes are kept by the test.
fn some_output() -> Output {
    ng_io::Buffer::default().into()
}
