//! Going on over a loss: for `server-ng recover`, on a data directory that no engine has open.

use std::fmt::Write as _;

use ng_io::PosixEnvironment;
use ng_storage::accepted_loss::{accept, losses};
use ng_storage::boot::BootError;
use ng_storage::home::Home;

use crate::bytes;
use crate::guard;
use crate::status::{Failure, Status};

/// Fills `buffer` with what the journals of the data directory at `path` have lost, three lines for each loss: its name,
/// `acceptable` or `final`, what it means. With `names`, one in each line, which must be all of these, they are accepted.
/// After them come three lines for each partition that a loss without a group may have hit: the group in hexadecimal, `from`,
/// the first offset that may be lost.
///
/// Where that is refused there are three lines as well: nothing, the status that the process ends with, why.
///
/// # Safety
/// `path` points to `path_length` readable bytes, `names` to `names_length`; `buffer` points to `capacity` writable bytes;
/// `needed` is null or points to a writable number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recover_directory(
    path: *const u8,
    path_length: usize,
    names: *const u8,
    names_length: usize,
    buffer: *mut u8,
    capacity: usize,
    needed: *mut u64,
) -> i64 {
    guard::call(|| {
        // SAFETY: passed on as the caller gave it.
        let path = unsafe { bytes::copy_in(path, path_length) }?;
        // SAFETY: passed on as the caller gave it.
        let names = unsafe { bytes::copy_in(names, names_length) }?;
        let text = |bytes| String::from_utf8(bytes).map_err(|_| Failure::new(Status::Invalid, "not UTF-8"));
        let (path, names) = (text(path)?, text(names)?);
        if path.is_empty() {
            return Err(Failure::new(Status::Invalid, "no path"));
        }
        let names: Vec<String> = names.lines().map(str::to_owned).collect();
        let said = recover(&Home::new(path), &names).unwrap_or_else(|error| {
            format!("\n{}\n{}\n", error.status(), error.to_string().replace('\n', " "))
        });
        // SAFETY: passed on as the caller gave it.
        unsafe { bytes::copy_out(said.as_bytes(), buffer, capacity, needed) }
    })
}

fn recover(home: &Home, names: &[String]) -> Result<String, BootError> {
    let found = losses(&PosixEnvironment, home)?;
    if !names.is_empty() {
        accept(&PosixEnvironment, home, names)?;
    }
    let mut text = String::new();
    for loss in found.losses {
        let word = if loss.acceptable { "acceptable" } else { "final" };
        writeln!(text, "{}\n{word}\n{}", loss.name, loss.meaning).expect("a String takes everything");
    }
    for end in found.ends {
        writeln!(text, "{:016x}\nfrom\n{}", end.group, end.offset).expect("a String takes everything");
    }
    Ok(text)
}
