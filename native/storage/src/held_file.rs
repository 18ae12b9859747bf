//! Opening a file that a process which has just been killed may still hold.
//!
//! Its last writes can outlive it: the kernel lets go of a ring, and of the files that the ring's operations use, some time
//! after the process is gone. Whoever starts in its place waits for them, for what they write would change under its eyes.

use std::path::Path;
use std::time::Duration;

use ng_io::{Driver, Environment, FileOptions, Handle, IoError, Wait};

/// How long a start waits for the last writes of the process before it, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(10);
const RETRY: Duration = Duration::from_millis(2);

/// Opens a file, with its lock if the options say so, as soon as nobody else has it. For a start, with nothing under way on the driver.
pub(crate) fn open_when_free<E: Environment>(
    environment: &E,
    driver: &mut E::Driver,
    path: &Path,
    options: FileOptions,
) -> Result<Handle, IoError> {
    let deadline = driver.now() + PATIENCE;
    loop {
        match environment.open_file(path, options) {
            Err(error) if error.is_held() && driver.now() < deadline => {
                let soon = driver.now() + RETRY;
                driver.complete(Wait::Until(soon), &mut Vec::new())?;
            }
            opened => return driver.adopt_file(opened?),
        }
    }
}
