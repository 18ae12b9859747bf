//! The shards of a node without threads, for a scheduler that turns each when it is due.
//!
//! Each shard is prepared, turned and put to rest by the same functions as on its thread ([`crate::thread`]).
//! The scheduler decides who is next and how long that takes, and keeps the promise of a thread: a shard that
//! sleeps is turned when its time has come, when an operation has ended, or when somebody has rung.

use std::sync::Arc;

use ng_control::shard_id::ShardId;
use ng_io::{Environment, Wait};
use ng_mesh::mailbox::ShardBell;
use ng_storage::trash::Trash;

use crate::directory::Directory;
use crate::ending::Ending;
use crate::node::{Node, NodeShared};
use crate::thread::{self, Prepared};
use crate::trash::Cleaner;
use crate::turn::{Pause, Shard};

/// A node that was started, all of it on this thread.
pub struct Unthreaded<E: Environment> {
    shared: Arc<NodeShared>,
    /// None where a shard has stopped.
    shards: Vec<Option<Shard<E>>>,
    cleaner: Cleaner<E>,
}

impl<E: Environment> std::fmt::Debug for Unthreaded<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unthreaded").field("shards", &self.shards.len()).finish_non_exhaustive()
    }
}

impl<E: Environment> Unthreaded<E> {
    /// Recovers every shard, or none.
    pub fn start(environment: &E, node: Node) -> Result<Self, Ending> {
        let (shared, settings, setups) = node.into_parts();
        let directory = Directory::find(environment, &settings, |phrase| shared.tell_progress(phrase))?;
        let prepared = setups
            .into_iter()
            .map(|setup| thread::prepare(environment, setup, &directory))
            .collect::<Result<Vec<Prepared<E>>, Ending>>()?;
        let bells: Vec<Arc<ShardBell>> =
            prepared.iter().map(|prepared| Arc::new(ShardBell::new(prepared.waker()))).collect();
        let cleaner = Cleaner::new(Trash::new(environment, directory.home())?, environment.now());
        let shards = prepared.into_iter().map(|prepared| Some(prepared.into_shard(bells.clone()))).collect();
        shared.tell_started(bells);
        Ok(Self { shared, shards, cleaner })
    }

    /// How many shards it has, those that have stopped included.
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// A shard that has not stopped.
    pub fn shard(&self, shard: usize) -> Option<&Shard<E>> {
        self.shards.get(shard)?.as_ref()
    }

    /// Wakes a shard up, after as much sleep as it was allowed, turns it, and lets it lie down. Says how long
    /// it may sleep; nothing once it has stopped.
    pub fn turn(&mut self, shard: usize, slept: Option<Wait>) -> Result<Option<Wait>, Ending> {
        let Some(row) = self.shards.get_mut(shard) else { return Ok(None) };
        let Some(turned) = row else { return Ok(None) };
        if let Some(slept) = slept {
            turned.get_up(slept)?;
        }
        let pause = turned.turn(turned.now())?;
        if pause != Pause::Finished {
            return Ok(Some(turned.lie_down(pause)));
        }
        *row = None;
        if shard != ShardId::FIRST.index() {
            self.shared.stopping.finish();
        }
        if self.shards.iter().all(Option::is_none) {
            self.shared.trash.end();
            self.shared.tell_stopped(self.shared.stopping.was_complete());
        }
        Ok(None)
    }

    /// Whether every shard has stopped.
    pub fn is_stopped(&self) -> bool {
        self.shards.iter().all(Option::is_none)
    }

    /// Empties some of the trash, if that is due.
    pub fn tend_trash(&mut self, environment: &E) {
        self.cleaner.tend(environment.now(), &self.shared.trash);
    }
}
