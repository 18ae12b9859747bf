//! Everything that was promised is read back by a client that knows nothing else.

use super::asked::{Asked, Poll};
use super::client::Client;
use super::model::{Place, Standing};
use super::request::From;
use super::sizes::server;
use super::world::WholeWorld;
use crate::judges::Verdict;
use crate::node::MILLI;

/// Milliseconds that one answer may take.
const PATIENCE: u64 = 20_000;

/// Messages that are polled at a time.
const MESSAGES: u32 = 100;

/// Reads all of it.
pub(super) fn run(world: &mut WholeWorld) -> Result<(), Verdict> {
    let number = world.clients.len();
    let mut auditor = Client::new(number, 1);
    auditor.acts = u64::MAX;
    world.clients.push(auditor);
    let audited = read_all(world, number);
    let mut auditor = world.clients.pop();
    if let Some(auditor) = &mut auditor {
        auditor.disconnect(&mut world.model);
    }
    audited
}

fn read_all(world: &mut WholeWorld, number: usize) -> Result<(), Verdict> {
    world.tell(|| "everything is read back".to_owned());
    log_in(world, number)?;
    for topic in 0..u32::try_from(world.model.topics.len()).unwrap_or(0) {
        let standing = world.model.topic(topic).standing;
        if matches!(standing, Standing::Exists | Standing::Gone) {
            ask(world, number, &Asked::GetTopic { topic, standing })?;
        }
    }
    for place in world.model.places() {
        read_place(world, number, place)?;
    }
    Ok(())
}

fn read_place(world: &mut WholeWorld, number: usize, place: Place) -> Result<(), Verdict> {
    let partition = world.model.partition(place);
    let readable_to = partition.and_then(|partition| partition.readable_to);
    let consumers: Vec<u32> =
        partition.map(|partition| partition.consumers.keys().copied().collect()).unwrap_or_default();
    let mut next = 0;
    while let Some(end) = readable_to
        && next <= end
    {
        let from = From::Offset(next);
        let consumer = u32::MAX;
        let begins_at = begins_at(world, place);
        let poll =
            Poll { place, consumer, from, count: MESSAGES, auto_commit: false, readable_to, begins_at };
        world.model.read_to = next;
        ask(world, number, &Asked::Poll(poll))?;
        // Nothing is read where nothing is refused only where everything is gone, or while the node has no room for it.
        next = world.model.read_to.max(self::begins_at(world, place));
    }
    for consumer in consumers {
        ask(world, number, &Asked::Get { place, consumer, absent: false })?;
    }
    Ok(())
}

fn begins_at(world: &WholeWorld, place: Place) -> u64 {
    world.model.partition(place).map_or(0, |partition| partition.front.first)
}

fn log_in(world: &mut WholeWorld, number: usize) -> Result<(), Verdict> {
    let bound = world.now + PATIENCE * MILLI;
    while !world.clients[number].has_session() {
        if world.now >= bound {
            return Err(Verdict("nobody can log in any more".to_owned()));
        }
        if !world.clients[number].is_connected() {
            let environment = world.environment.clone();
            world.clients[number].connect(&environment, server(), &mut world.model);
        }
        let soon = world.now + 10 * MILLI;
        world.until(soon, |world| world.clients[number].has_session())?;
    }
    Ok(())
}

/// Asks until it is done.
fn ask(world: &mut WholeWorld, number: usize, asked: &Asked) -> Result<(), Verdict> {
    let bound = world.now + PATIENCE * MILLI;
    loop {
        let done = world.model.done;
        world.ask(number, asked.clone());
        world.until(bound, |world| world.clients[number].pending.is_empty())?;
        if world.model.done > done {
            return Ok(());
        }
        if world.now >= bound || !world.clients[number].has_session() {
            return Err(Verdict(format!("{asked:?} is not done, though nothing is wrong any more")));
        }
        let soon = world.now + 5 * MILLI;
        world.until(soon, |_| false)?;
    }
}
