//! Superblocks of which pages cannot be read, or hold something else.

use std::path::PathBuf;

use ng_io::simulated::SimulatedEnvironment;
use ng_storage::PAGE;
use ng_storage::boot::BootError;
use ng_storage::home::Home;
use ng_storage::layout::Layout;

use crate::rig::{directory, found, open};

fn founded() -> (SimulatedEnvironment, PathBuf) {
    let environment = SimulatedEnvironment::new(1);
    let Layout { journals, .. } = found(&directory(&environment), 1).expect("an empty disk");
    let shard = Home::new("data").shard(journals[0]);
    (environment, shard.superblock())
}

fn refusal(environment: &SimulatedEnvironment) -> Option<BootError> {
    open(environment, &directory(environment), 0).err()
}

#[test]
fn pages_that_cannot_be_read_are_no_reason_to_begin_anew() {
    let (environment, superblock) = founded();
    for page in 0..2 {
        assert!(environment.spoil(&superblock, page * PAGE));
    }
    assert!(refusal(&environment).is_none(), "two copies are left");

    let (environment, superblock) = founded();
    for page in 0..3 {
        assert!(environment.spoil(&superblock, page * PAGE));
    }
    let error = refusal(&environment).expect("one copy is left");
    assert_eq!(error.status(), 74, "the disk is to blame: {error}");
    assert!(error.to_string().ends_with("superblock: read: Input/output error (EIO)"), "{error}");
}

#[test]
fn copies_that_were_read_and_do_not_agree_are_damage() {
    let (environment, superblock) = founded();
    for page in 0..3 {
        assert!(environment.rot(&superblock, page * PAGE + 99, 1));
    }
    let error = refusal(&environment).expect("one copy is left");
    assert_eq!(error.status(), 65, "the data is to blame: {error}");
}
