//! Engines by number: generation-tagged, so that a closed handle finds nothing ever again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::open::Engine;
use crate::status::{Failure, Status};

/// Engines one process may have open. A daemon has one; tests have a few.
const ENGINES_MAX: usize = 16;

struct Slot {
    generation: u32,
    engine: Option<Arc<Engine>>,
}

static SLOTS: Mutex<Vec<Slot>> = Mutex::new(Vec::new());

fn slots() -> MutexGuard<'static, Vec<Slot>> {
    SLOTS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn closed() -> Failure {
    Failure::new(Status::Closed, "no engine has this handle")
}

/// Files an engine under a new handle.
pub(crate) fn file(engine: Engine) -> Result<u64, Failure> {
    let mut slots = slots();
    let index = match slots.iter().position(|slot| slot.engine.is_none()) {
        Some(index) => index,
        None if slots.len() < ENGINES_MAX => {
            slots.push(Slot { generation: 0, engine: None });
            slots.len() - 1
        }
        None => return Err(Failure::new(Status::Busy, format!("{ENGINES_MAX} engines are open already"))),
    };
    let slot = &mut slots[index];
    slot.generation += 1;
    slot.engine = Some(Arc::new(engine));
    Ok(u64::from(slot.generation) << 32 | index as u64)
}

fn index(handle: u64) -> usize {
    usize::try_from(handle & u64::from(u32::MAX)).expect("32 bits fit")
}

/// The engine of a handle.
pub(crate) fn find(handle: u64) -> Result<Arc<Engine>, Failure> {
    let slots = slots();
    let slot = slots.get(index(handle)).filter(|slot| u64::from(slot.generation) == handle >> 32);
    slot.and_then(|slot| slot.engine.clone()).ok_or_else(closed)
}

/// Takes the engine of a handle out of the table.
pub(crate) fn take(handle: u64) -> Result<Arc<Engine>, Failure> {
    let mut slots = slots();
    let slot = slots.get_mut(index(handle)).filter(|slot| u64::from(slot.generation) == handle >> 32);
    slot.and_then(|slot| slot.engine.take()).ok_or_else(closed)
}
