//! Names of files and directories on the machine itself, each change made by one blocking call.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::fsync;
use rustix::io::Errno;

use crate::error::IoError;
use crate::file::{File, FileOptions};

/// As [`crate::file::FILE_MODE`]: the group may look, nobody else.
pub(crate) const DIRECTORY_MODE: u32 = 0o750;

pub(crate) fn make_directory(path: &Path) -> Result<(), IoError> {
    made(fs::DirBuilder::new().mode(DIRECTORY_MODE).create(path))
}

pub(crate) fn make_directories(path: &Path) -> Result<(), IoError> {
    made(fs::DirBuilder::new().mode(DIRECTORY_MODE).recursive(true).create(path))
}

/// One that exists already is as good, whatever it turns out to be when it is used.
fn made(result: io::Result<()>) -> Result<(), IoError> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(IoError::from_io("make a directory", &error))
        }
        _ => Ok(()),
    }
}

pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), IoError> {
    fs::rename(from, to).map_err(|error| IoError::from_io("rename", &error))
}

pub(crate) fn link(from: &Path, to: &Path) -> Result<(), IoError> {
    fs::hard_link(from, to).map_err(|error| IoError::from_io("link", &error))
}

/// Removes a file or an empty directory.
pub(crate) fn remove(path: &Path) -> Result<(), IoError> {
    match fs::remove_file(path) {
        Err(error) if error.raw_os_error() == Some(Errno::ISDIR.raw_os_error()) => {
            removed(fs::remove_dir(path))
        }
        result => removed(result),
    }
}

pub(crate) fn remove_file(path: &Path) -> Result<(), IoError> {
    removed(fs::remove_file(path))
}

fn removed(result: io::Result<()>) -> Result<(), IoError> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(IoError::from_io("remove", &error)),
        _ => Ok(()),
    }
}

pub(crate) fn sync_directory(path: &Path) -> Result<(), IoError> {
    let directory = File::open(path, FileOptions::DIRECTORY)?;
    fsync(&directory).map_err(|errno| IoError::from_errno("sync", errno))
}

pub(crate) fn list_directory(path: &Path) -> Result<Vec<String>, IoError> {
    let list = |error: io::Error| IoError::from_io("list a directory", &error);
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(list)? {
        names.push(entry.map_err(list)?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}

pub(crate) fn file_length(path: &Path) -> Result<u64, IoError> {
    let metadata = fs::metadata(path).map_err(|error| IoError::from_io("look at a file", &error))?;
    Ok(metadata.len())
}
