//! The `engine_*` exports: one node, from open to close.

use std::time::Duration;

use ng_control::record::Drained;
use ng_shard::node::Stage;
use ng_shard::port::SubmitError;

use crate::bytes;
use crate::guard;
use crate::handle;
use crate::open::Engine;
use crate::status::{Failure, Status, last_error, set_last_error};

/// Opens an engine with settings in lines of `key=value`: binds its listener, starts no thread. Writes its handle.
///
/// # Safety
/// `settings` points to `length` readable bytes; `handle` to a writable number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn engine_open(settings: *const u8, length: usize, handle: *mut u64) -> i64 {
    guard::engine_call(|| {
        if handle.is_null() {
            return Err(Failure::new(Status::Invalid, "a null pointer"));
        }
        // SAFETY: passed on as the caller gave it.
        let settings = unsafe { bytes::copy_in(settings, length) }?;
        let filed = handle::file(Engine::open(&settings)?)?;
        // SAFETY: not null, and the caller vouches for the rest.
        unsafe { bytes::put(handle, filed) };
        Ok(0)
    })
}

/// Fills `buffer` with lines of `key=value`: bound addresses, the chosen backend.
///
/// # Safety
/// `buffer` points to `capacity` writable bytes; `needed` is null or points to a writable number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn engine_describe(
    handle: u64,
    buffer: *mut u8,
    capacity: usize,
    needed: *mut u64,
) -> i64 {
    guard::engine_call(|| {
        let text = handle::find(handle)?.describe();
        // SAFETY: passed on as the caller gave it.
        unsafe { bytes::copy_out(text.as_bytes(), buffer, capacity, needed) }
    })
}

/// The descriptor to watch: readable when there is something to drain. Reading it is the caller's part.
#[unsafe(no_mangle)]
pub extern "C" fn engine_notify_fd(handle: u64) -> i64 {
    guard::engine_call(|| Ok(i64::from(handle::find(handle)?.shared.python_bell.receiver().raw())))
}

/// Starts the engine's threads and returns at once; a record says how it went.
#[unsafe(no_mangle)]
pub extern "C" fn engine_start(handle: u64) -> i64 {
    guard::engine_call(|| handle::find(handle)?.start().map(|()| 0))
}

/// Takes whole records for the first shard. Writes how many bytes were taken, which is all of them unless the ring was
/// full (`BUSY`).
///
/// # Safety
/// `records` points to `length` readable bytes; `taken` is null or points to a writable number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn engine_submit(
    handle: u64,
    records: *const u8,
    length: usize,
    taken: *mut u64,
) -> i64 {
    guard::engine_call(|| {
        let engine = handle::find(handle)?;
        // SAFETY: passed on as the caller gave it.
        let records = unsafe { bytes::copy_in(records, length) }?;
        let outcome = engine.port().submit(&records);
        let count = match outcome {
            Ok(()) => records.len(),
            Err(SubmitError::Busy { taken }) => taken,
            Err(SubmitError::Malformed) => 0,
        };
        // SAFETY: passed on as the caller gave it.
        unsafe { bytes::put(taken, count as u64) };
        match outcome {
            Ok(()) => Ok(0),
            Err(SubmitError::Busy { .. }) => {
                Err(Failure::new(Status::Busy, "the ring to the first shard is full"))
            }
            Err(SubmitError::Malformed) => Err(Failure::new(Status::Invalid, "not records the engine knows")),
        }
    })
}

/// Fills `buffer` with whole records and returns how many bytes. When a record is left, `needed` is written with its size:
/// with nothing returned the buffer is too small for it, else another call gets it. Doubles as Python's sign of life.
///
/// # Safety
/// `buffer` points to `capacity` writable bytes; `needed` is null or points to a writable number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn engine_drain(
    handle: u64,
    buffer: *mut u8,
    capacity: usize,
    needed: *mut u64,
) -> i64 {
    guard::engine_call(|| {
        let engine = handle::find(handle)?;
        engine.shared.python_beats(engine.now());
        if buffer.is_null() && capacity > 0 {
            // Before anything leaves the rings: what is drained and not copied would be lost.
            return Err(Failure::new(Status::Invalid, "a null pointer"));
        }
        let mut records = Vec::new();
        let left = match engine.port().drain(&mut records, capacity) {
            Drained::Empty => 0,
            Drained::Needs(bytes) => bytes as u64,
        };
        // SAFETY: passed on as the caller gave it.
        unsafe { bytes::put(needed, left) };
        // SAFETY: passed on as the caller gave it; what was drained fits by construction.
        unsafe { bytes::copy_out(&records, buffer, capacity, std::ptr::null_mut()) }
    })
}

/// Fills `cells` with every shard's figures, shard by shard, and returns how many there are in all.
///
/// # Safety
/// `cells` points to `capacity` writable numbers; `needed` is null or points to a writable number, written with how many
/// cells there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn engine_metrics(
    handle: u64,
    cells: *mut u64,
    capacity: usize,
    needed: *mut u64,
) -> i64 {
    guard::engine_call(|| {
        let engine = handle::find(handle)?;
        let mut values = Vec::new();
        for row in &engine.shared.rows {
            row.read(&mut values);
        }
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        // SAFETY: passed on as the caller gave it.
        unsafe { bytes::put(needed, values.len() as u64) };
        // SAFETY: the caller's numbers are eight bytes each.
        unsafe { bytes::copy_out(&bytes, cells.cast(), capacity.saturating_mul(8), std::ptr::null_mut()) }?;
        i64::try_from(values.len()).map_err(|_| Failure::new(Status::Invalid, "an absurd length"))
    })
}

/// Begins an orderly stop and returns at once; a record says when it is done.
#[unsafe(no_mangle)]
pub extern "C" fn engine_stop(handle: u64) -> i64 {
    guard::engine_call(|| {
        let engine = handle::find(handle)?;
        engine.shared.stop(engine.now());
        Ok(0)
    })
}

/// Waits until every thread has ended, at most `timeout_ms`. Returns 1 if they ended in order, 0 if something was cut off.
/// The one call that may take long: not for an event loop's thread.
#[unsafe(no_mangle)]
pub extern "C" fn engine_join(handle: u64, timeout_ms: u64) -> i64 {
    guard::engine_call(|| match handle::find(handle)?.shared.join(Duration::from_millis(timeout_ms)) {
        Some(Stage::Stopped { in_order }) => Ok(i64::from(in_order)),
        Some(Stage::Opened) => Ok(1),
        Some(Stage::Running) | None => Err(Failure::new(Status::Timeout, "threads are still running")),
    })
}

/// Closes an engine whose threads have ended, or never began.
#[unsafe(no_mangle)]
pub extern "C" fn engine_close(handle: u64) -> i64 {
    guard::engine_call(|| {
        let engine = handle::find(handle)?;
        if engine.is_started() && engine.shared.join(Duration::ZERO).is_none() {
            return Err(Failure::new(
                Status::WrongStage,
                "an engine is stopped and joined before it is closed",
            ));
        }
        handle::take(handle)?.disarm();
        Ok(0)
    })
}

/// Fills `buffer` with the sentence of the calling thread's last failure.
///
/// # Safety
/// `buffer` points to `capacity` writable bytes; `needed` is null or points to a writable number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn engine_last_error(buffer: *mut u8, capacity: usize, needed: *mut u64) -> i64 {
    let sentence = last_error();
    // SAFETY: passed on as the caller gave it.
    let copied = guard::call(|| unsafe { bytes::copy_out(sentence.as_bytes(), buffer, capacity, needed) });
    // A buffer that was too small must not cost the sentence it is to be called with again.
    set_last_error(sentence);
    copied
}
