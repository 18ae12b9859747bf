//! The same on the real disk, with both backends.

use std::fs;
use std::path::PathBuf;

use ng_io::{Environment, PosixEnvironment, UringEnvironment};
use ng_storage::data_directory::DataDirectory;
use ng_storage::home::Home;

use crate::rig::{Manifests, SETTINGS, entry, found, open};

#[test]
fn a_directory_is_founded_and_opened_on_posix() {
    found_and_open(&PosixEnvironment);
}

#[test]
fn a_directory_is_founded_and_opened_on_uring() {
    found_and_open(&UringEnvironment);
}

fn found_and_open<E: Environment>(environment: &E) {
    let name = format!("directory-{}-{}", environment.name(), std::process::id());
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let directory = DataDirectory::new(environment.clone(), Home::new(&root), SETTINGS);
    found(&directory, 2).expect("a healthy disk");
    for incarnation in 2..4 {
        for shard in 0..2 {
            let (driver, opened) = open(environment, &directory, shard).expect("a whole directory");
            assert_eq!(opened.superblock.incarnation, incarnation);
            assert_eq!(opened.entries.len(), if incarnation == 2 { 0 } else { 1 });
            Manifests::<E>::new(driver, opened).write(vec![entry(7, incarnation)]);
        }
    }
    fs::remove_dir_all(&root).expect("the directory is ours");
}
