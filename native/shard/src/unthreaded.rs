//! The shards of a node without threads, for a scheduler that calls each one when it is due.
//!
//! A shard is prepared, turned and put to rest by the same functions as on a thread ([`crate::thread`]). The
//! scheduler chooses the next shard and the duration of its turn. Like a thread, it must turn a sleeping
//! shard when its time is due, when an operation has completed, or when its doorbell was rung.

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

/// A started node without threads.
pub struct Unthreaded<E: Environment> {
    shared: Arc<NodeShared>,
    /// `None` for stopped shards.
    shards: Vec<Option<Shard<E>>>,
    cleaner: Cleaner<E>,
}

impl<E: Environment> std::fmt::Debug for Unthreaded<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unthreaded").field("shards", &self.shards.len()).finish_non_exhaustive()
    }
}

impl<E: Environment> Unthreaded<E> {
    /// Recovers all shards, or none.
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

    /// Number of shards, including stopped ones.
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// A shard that has not stopped.
    pub fn shard(&self, shard: usize) -> Option<&Shard<E>> {
        self.shards.get(shard)?.as_ref()
    }

    /// Wakes a shard after a sleep of at most `slept`, turns it, and prepares its next sleep. Returns how
    /// long it may sleep; `None` once it has stopped.
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

    /// Every shard has stopped.
    pub fn is_stopped(&self) -> bool {
        self.shards.iter().all(Option::is_none)
    }

    /// Deletes from the trash, if a step is due.
    pub fn tend_trash(&mut self, environment: &E) {
        self.cleaner.tend(environment.now(), &self.shared.trash);
    }
}
