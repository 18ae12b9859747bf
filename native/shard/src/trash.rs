//! The thread that empties the trash: slowly while the disk has room, otherwise as fast as possible.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ng_io::{Environment, Instant, IoError};
use ng_storage::trash::{Emptied, Trash};

/// Pause between two deletions while there is room, because deletions of large files compete with writes of
/// messages.
const PAUSE: Duration = Duration::from_millis(50);

/// Time to the next attempt after the trash could not be listed, or all its entries failed.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Space is short if less than one part in this many of the disk is free.
const SHORT_PART: u64 = 10;

/// Shared state of the shards and the thread.
#[derive(Debug, Default)]
pub struct TrashLink {
    orders: Mutex<Orders>,
    rung: Condvar,
    short_shards: AtomicUsize,
    bytes: AtomicU64,
    failing: AtomicU64,
    /// Errno of the last failure.
    errno: AtomicU64,
}

/// Requests that the thread has not seen yet.
#[derive(Debug, Default)]
struct Orders {
    /// Entries may have been added.
    news: bool,
    /// The whole disk is nearly full.
    low: bool,
    ends: bool,
}

/// Figures of the trash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrashFigures {
    /// Bytes that await deletion.
    pub bytes: u64,
    /// Entries whose last deletion failed.
    pub failing: u64,
    /// Errno of the last failure.
    pub errno: u64,
}

/// Next action of the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// List the trash.
    Survey,
    /// Continue with the known entries.
    GoOn,
    End,
}

impl TrashLink {
    /// Reports that an entry was moved into the trash.
    pub fn entry_came(&self) {
        self.change(|orders| orders.news = true);
    }

    /// Reports that a shard begins or stops to wait for space.
    pub fn shard_is_short(&self, is_short: bool) {
        if is_short {
            self.short_shards.fetch_add(1, Ordering::Relaxed);
        } else {
            self.short_shards.fetch_sub(1, Ordering::Relaxed);
        }
        self.change(|_| ());
    }

    /// Reports the free bytes of the disk.
    pub fn space_sampled(&self, free: u64, total: u64) {
        let low = free < total / SHORT_PART;
        self.change(|orders| orders.low = low);
    }

    /// Ends the thread.
    pub fn end(&self) {
        self.change(|orders| orders.ends = true);
    }

    /// Figures of the trash.
    pub fn figures(&self) -> TrashFigures {
        TrashFigures {
            bytes: self.bytes.load(Ordering::Relaxed),
            failing: self.failing.load(Ordering::Relaxed),
            errno: self.errno.load(Ordering::Relaxed),
        }
    }

    /// Reports that the thread cannot work.
    pub fn gave_up(&self, error: IoError) {
        self.failed(error);
        self.publish(0, 1);
    }

    fn publish(&self, bytes: u64, failing: usize) {
        self.bytes.store(bytes, Ordering::Relaxed);
        self.failing.store(failing as u64, Ordering::Relaxed);
    }

    fn failed(&self, error: IoError) {
        self.errno.store(error.errno().unsigned_abs().into(), Ordering::Relaxed);
    }

    fn change(&self, change: impl FnOnce(&mut Orders)) {
        change(&mut self.orders());
        self.rung.notify_one();
    }

    fn orders(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_short(&self, orders: &Orders) -> bool {
        orders.low || self.short_shards.load(Ordering::Relaxed) > 0
    }

    /// Returns the next action, or the maximum time to wait for it. While space is short, there is no pause
    /// between deletions.
    fn look(&self, orders: &mut Orders, rest: Rest) -> Result<Call, Option<Duration>> {
        if orders.ends {
            return Ok(Call::End);
        }
        if std::mem::take(&mut orders.news) {
            return Ok(Call::Survey);
        }
        match rest {
            Rest::Pause if self.is_short(orders) => Ok(Call::GoOn),
            Rest::Pause => Err(Some(PAUSE)),
            Rest::For(time) => Err(Some(time)),
            Rest::ForNews => Err(None),
        }
    }

    /// Waits for the next action.
    fn wait(&self, rest: Rest) -> Call {
        let mut orders = self.orders();
        loop {
            let time = match self.look(&mut orders, rest) {
                Ok(call) => return call,
                Err(time) => time,
            };
            let Some(time) = time else {
                orders = self.rung.wait(orders).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let (woken, waited) =
                self.rung.wait_timeout(orders, time).unwrap_or_else(PoisonError::into_inner);
            orders = woken;
            if waited.timed_out() && !orders.news && !orders.ends {
                return Call::GoOn;
            }
        }
    }
}

/// Reason and time of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// Pause until the next deletion.
    Pause,
    For(Duration),
    ForNews,
}

/// Body of the thread: empties the trash until the node stops.
pub fn run<E: Environment>(environment: &E, trash: Trash<E>, link: &TrashLink) {
    let mut cleaner = Cleaner::new(trash, environment.now());
    loop {
        match link.wait(cleaner.rest) {
            Call::End => return,
            call => cleaner.work(call, environment.now(), link),
        }
    }
}

/// Empties the trash step by step.
#[derive(Debug)]
pub struct Cleaner<E: Environment> {
    trash: Trash<E>,
    /// Entries may have been added.
    looks: bool,
    rest: Rest,
    rests_since: Instant,
}

impl<E: Environment> Cleaner<E> {
    /// Begins with a list of the entries that earlier runs left.
    pub fn new(trash: Trash<E>, now: Instant) -> Self {
        Self { trash, looks: true, rest: Rest::For(Duration::ZERO), rests_since: now }
    }

    /// Does the next step if it is due. For a scheduler without threads, which does not let it wait.
    pub fn tend(&mut self, now: Instant, link: &TrashLink) {
        let call = link.look(&mut link.orders(), self.rest);
        match call {
            Ok(Call::End) => {}
            Ok(call) => self.work(call, now, link),
            Err(Some(time)) if now >= self.rests_since + time => self.work(Call::GoOn, now, link),
            Err(_) => {}
        }
    }

    fn work(&mut self, call: Call, now: Instant, link: &TrashLink) {
        self.looks |= call == Call::Survey;
        self.rests_since = now;
        self.rest = self.step(now, link);
    }

    fn step(&mut self, now: Instant, link: &TrashLink) -> Rest {
        let trash = &mut self.trash;
        if self.looks {
            match trash.survey() {
                Ok(more) => self.looks = more,
                Err(error) => {
                    link.failed(error);
                    link.publish(trash.bytes(), trash.failing().max(1));
                    return Rest::For(LOOK_AGAIN);
                }
            }
        }
        let rest = match trash.empty_some(now) {
            Emptied::One => Rest::Pause,
            Emptied::Failed(error) => {
                link.failed(error);
                Rest::Pause
            }
            Emptied::Nothing(_) if self.looks => Rest::For(LOOK_AGAIN),
            Emptied::Nothing(due) => due.map_or(Rest::ForNews, |due| Rest::For(until(now, due))),
        };
        link.publish(trash.bytes(), trash.failing());
        rest
    }
}

fn until(now: Instant, due: Instant) -> Duration {
    if due > now { due - now } else { Duration::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_precedes_a_survey_and_a_survey_a_pause() {
        let link = TrashLink::default();
        link.entry_came();
        assert_eq!(link.wait(Rest::ForNews), Call::Survey);
        assert_eq!(link.wait(Rest::For(Duration::ZERO)), Call::GoOn, "each report causes one survey");
        link.entry_came();
        link.end();
        assert_eq!(link.wait(Rest::Pause), Call::End);
    }

    #[test]
    fn space_is_short_on_a_disk_that_is_nearly_full_and_while_a_shard_waits() {
        let link = TrashLink::default();
        let is_short = |link: &TrashLink| link.is_short(&link.orders());
        link.space_sampled(10, 100);
        assert!(!is_short(&link));
        link.space_sampled(9, 100);
        assert!(is_short(&link));
        link.space_sampled(50, 100);
        link.shard_is_short(true);
        link.shard_is_short(true);
        link.shard_is_short(false);
        assert!(is_short(&link), "another shard waits");
        link.shard_is_short(false);
        assert!(!is_short(&link));
    }
}
