//! Every file of a shard cut at many lengths and flipped in many places: a typed refusal or everything, never a panic.

use std::path::{Path, PathBuf};

use ng_io::{
    Buffer, Driver, DriverLimits, Environment, FileOptions, Instant, Operation, SimulatedEnvironment, Token,
    Wait,
};
use ng_storage::boot::BootError;

use crate::mortal::Mortal;
use crate::rig::{Manifests, directory, entry, found, open};

/// The files of a directory with one shard and a manifest.
fn files() -> Vec<(PathBuf, Vec<u8>)> {
    let environment = Mortal::new(1);
    let directory = directory(&environment);
    found(&directory, 1).expect("a healthy disk");
    let (driver, opened) = open(&environment, &directory, 0).expect("a whole directory");
    let mut shard = Manifests::<Mortal>::new(driver, opened);
    shard.write((0..3).map(|group| entry(group, 1)).collect());
    drop(shard);
    environment.restart();
    let names = environment.machine.file_names();
    let bytes = |path: &PathBuf| environment.machine.file_bytes(path).map(|bytes| (path.clone(), bytes));
    names.iter().filter_map(bytes).collect()
}

/// A machine with these files, one of them changed.
fn machine(files: &[(PathBuf, Vec<u8>)], changed: &Path, bytes: &[u8]) -> Mortal {
    let environment = Mortal::new(1);
    let limits = DriverLimits { operations_max: 1, handles_max: files.len() };
    let mut driver = environment.machine.driver(limits).expect("a driver");
    for (path, content) in files {
        let content = if path == changed { bytes } else { content };
        put(&environment.machine, &mut driver, path, content);
    }
    environment.machine.kill();
    environment
}

fn put(
    environment: &SimulatedEnvironment,
    driver: &mut <SimulatedEnvironment as Environment>::Driver,
    path: &Path,
    content: &[u8],
) {
    environment.make_directories(path.parent().expect("a file lies somewhere")).expect("a healthy disk");
    let file = environment.open_file(path, FileOptions::WRITE).expect("a healthy disk");
    let file = driver.adopt_file(file).expect("room");
    if content.is_empty() {
        return;
    }
    driver.submit(
        Token(0),
        Operation::WriteAt { file, buffer: Buffer::from(content.to_vec()).into(), offset: 0, sync: true },
    );
    let mut completions = Vec::new();
    while completions.is_empty() {
        driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut completions).expect("it lives");
    }
}

fn outcome(environment: &Mortal) -> Result<(), BootError> {
    let directory = directory(environment);
    match directory.layout()? {
        ng_storage::founding::LayoutState::Nothing => panic!("nothing is there, although files are"),
        ng_storage::founding::LayoutState::Complete(_) => (),
    }
    let (_, opened) = open(environment, &directory, 0)?;
    assert_eq!(opened.entries.len(), 3, "an opened shard has all its groups");
    Ok(())
}

/// Every length of a small structure, and fewer of what is large.
fn lengths(bytes: usize) -> impl Iterator<Item = usize> {
    (0..bytes.min(1024)).chain((1024..bytes).step_by(509))
}

#[test]
fn a_file_cut_at_any_length_is_refused_by_name_or_does_not_matter() {
    let files = files();
    assert!(files.len() >= 4, "{files:?}");
    for (path, content) in &files {
        for length in lengths(content.len()) {
            let environment = machine(&files, path, &content[..length]);
            if let Err(refused) = outcome(&environment) {
                assert!([65, 78].contains(&refused.status()), "{} at {length}: {refused}", path.display());
            }
        }
    }
}

#[test]
fn a_flipped_bit_anywhere_is_refused_by_name_or_does_not_matter() {
    let files = files();
    for (path, content) in &files {
        for position in (0..content.len().min(600)).chain((600..content.len()).step_by(997)) {
            let mut bytes = content.clone();
            bytes[position] ^= 1 << (position % 8);
            let environment = machine(&files, path, &bytes);
            if let Err(refused) = outcome(&environment) {
                let name = path.file_name().expect("a name").to_string_lossy();
                let is_named = refused.to_string().contains(name.as_ref());
                let is_typed = [65, 78].contains(&refused.status());
                assert!(is_typed && is_named, "{} at {position}: {refused}", path.display());
            }
        }
    }
}

#[test]
fn a_missing_file_is_named() {
    let files = files();
    for (path, _) in &files {
        let left: Vec<_> = files.iter().filter(|(other, _)| other != path).cloned().collect();
        let environment = machine(&left, Path::new(""), &[]);
        match outcome(&environment) {
            Ok(()) => {
                assert!(path.to_string_lossy().contains("journal-"), "{} did not matter", path.display())
            }
            Err(refused) => {
                assert_eq!(refused.status(), 65, "{refused}");
                let name = path.file_name().expect("a name").to_string_lossy();
                assert!(refused.to_string().contains(name.as_ref()), "{refused} does not name {name}");
            }
        }
    }
}
