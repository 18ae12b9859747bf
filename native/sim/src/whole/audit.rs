//! Everything that was promised is read back by a client that knows nothing else.

use super::asked::{Asked, Poll};
use super::client::Client;
use super::model::{Place, Standing};
use super::reach::Reach;
use super::request::From;
use super::sizes::server;
use super::world::WholeWorld;
use crate::judges::Verdict;
use crate::node::MILLI;

/// Milliseconds that one answer may take.
const PATIENCE: u64 = 20_000;

/// Messages that are polled at a time.
const MESSAGES: u32 = 100;

/// Milliseconds after which what is over must be gone, beside the time that the settings give it.
const AGEING: u64 = 1_000;

/// Reads all of it.
pub(super) fn run(world: &mut WholeWorld) -> Result<(), Verdict> {
    as_auditor(world, read_all)
}

/// Waits until every message of the topics with an expiry is over, and sees that they hold nothing.
pub(super) fn age(world: &mut WholeWorld) -> Result<(), Verdict> {
    let expiring = |place: &Place| world.model.topic(place.topic).limits.expiry < u64::MAX;
    let places: Vec<Place> = world.model.places().into_iter().filter(expiring).collect();
    let expiries = places.iter().map(|place| world.model.topic(place.topic).limits.expiry);
    let Some(longest) = expiries.max() else { return Ok(()) };
    let engine = &world.sizes.settings.engine;
    let looks = 3 * engine.retention_period + 2 * world.sizes.settings.pace.flush_delay;
    // A segment is sealed when its oldest message is over, and goes when its newest one is.
    let micros = 2 * longest + world.model.wall_clock.was_ahead();
    let over = micros * 1_000 + u64::try_from(looks.as_nanos()).unwrap_or(0) + AGEING * MILLI;
    world.until(world.now + over, |_| false)?;
    as_auditor(world, |world, number| {
        log_in(world, number)?;
        places.iter().try_for_each(|place| see_emptied(world, number, *place))
    })
}

fn see_emptied(world: &mut WholeWorld, number: usize, place: Place) -> Result<(), Verdict> {
    let Some(readable_to) = world.model.partition(place).and_then(|partition| partition.readable_to) else {
        return Ok(());
    };
    world.model.read_to = 0;
    ask(world, number, &poll(world, place, From::First))?;
    if world.model.read_to > 0 {
        let (name, partition) = (&world.model.topic(place.topic).name, place.partition);
        return Err(Verdict(format!(
            "{name}/{partition} holds messages that are long over, up to {readable_to}"
        )));
    }
    world.model.reached.saw(Reach::Emptied);
    Ok(())
}

fn as_auditor(
    world: &mut WholeWorld,
    does: impl FnOnce(&mut WholeWorld, usize) -> Result<(), Verdict>,
) -> Result<(), Verdict> {
    let number = world.clients.len();
    let mut auditor = Client::new(number, 1);
    auditor.acts = u64::MAX;
    world.clients.push(auditor);
    let audited = does(world, number);
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
        world.model.read_to = next;
        ask(world, number, &poll(world, place, From::Offset(next)))?;
        if std::mem::take(&mut world.model.poll_is_refused) {
            let Some(known) = world.model.known_from(place, next + 1) else { break };
            next = known;
            continue;
        }
        let reached = world.model.read_to.max(begins_at(world, place));
        if reached == next {
            // Rewritten segments have left out all that followed.
            break;
        }
        next = reached;
    }
    for consumer in consumers {
        ask(world, number, &Asked::Get { place, consumer, absent: false })?;
    }
    Ok(())
}

fn poll(world: &WholeWorld, place: Place, from: From) -> Asked {
    let readable_to = world.model.partition(place).and_then(|partition| partition.readable_to);
    let (consumer, begins_at, asked) = (u32::MAX, begins_at(world, place), world.now);
    let (count, auto_commit) = (MESSAGES, false);
    Asked::Poll(Poll { place, consumer, from, count, auto_commit, readable_to, begins_at, asked })
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
        if world.model.done > done || world.model.poll_is_refused {
            return Ok(());
        }
        if world.now >= bound || !world.clients[number].has_session() {
            return Err(Verdict(format!("{asked:?} is not done, though nothing is wrong any more")));
        }
        let soon = world.now + 5 * MILLI;
        world.until(soon, |_| false)?;
    }
}
