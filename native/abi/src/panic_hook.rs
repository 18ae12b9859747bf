//! What a panic does once an engine has started: the process ends.
//!
//! A shard that died would leave its connections and, later, its partitions unserved while the rest of the process looks
//! alive. Recovery after a crash is the tested path, so that is the path taken.

use std::panic::PanicHookInfo;
use std::sync::{Mutex, Once, PoisonError};
use std::thread;

use ng_shard::crash::CrashSite;
use ng_wire::table::exit_status::ExitStatus;

/// Where a panic is recorded: a site for each engine that runs.
static SITES: Mutex<Vec<CrashSite>> = Mutex::new(Vec::new());

/// From now on a panic on any thread ends the process.
pub(crate) fn arm(site: CrashSite) {
    static INSTALLED: Once = Once::new();
    SITES.lock().unwrap_or_else(PoisonError::into_inner).push(site);
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| match current_site() {
            Some(site) => end(&site, panic),
            None => previous(panic),
        }));
    });
}

/// The engine of this site runs no more. With the last one a panic is a failed call again.
pub(crate) fn disarm(site: &CrashSite) {
    let mut sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(index) = sites.iter().position(|armed| armed == site) {
        sites.swap_remove(index);
    }
}

/// The site of some running engine, unless the panicking thread is the one that holds the lock.
fn current_site() -> Option<CrashSite> {
    SITES.try_lock().ok()?.first().cloned()
}

fn end(site: &CrashSite, panic: &PanicHookInfo<'_>) -> ! {
    let message = panic.payload_as_str().unwrap_or("a panic without a message");
    let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
    let current = thread::current();
    site.end_process(
        ExitStatus::InternalFault,
        current.name().unwrap_or("main"),
        &format!("panic: {message}{place}"),
    )
}
