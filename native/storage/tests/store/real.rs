//! The same on the real disk, with both backends.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use ng_io::{Environment, PosixEnvironment, UringEnvironment};
use ng_storage::home::Home;
use ng_storage::store::Vouched;

use crate::rig::{Rig, batch};

#[test]
fn segments_are_written_and_opened_again_on_posix() {
    write_and_open(&PosixEnvironment);
}

#[test]
fn segments_are_written_and_opened_again_on_uring() {
    write_and_open(&UringEnvironment);
}

fn write_and_open<E: Environment>(environment: &E) {
    let name = format!("store-{}-{}", environment.name(), std::process::id());
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut vouched = None;
    for life in 0..3_u64 {
        let mut rig = Rig::new(environment, Home::new(&root), life);
        rig.open(7, vouched);
        while !rig.opened.contains_key(&7) {
            assert!(rig.damaged.is_empty(), "{:?}", rig.damaged);
            rig.work(Duration::from_millis(5));
        }
        assert_eq!(rig.opened[&7].last_offset, (life * 20).checked_sub(1));
        for offset in life * 20..(life + 1) * 20 {
            rig.append(7, batch(offset + 1, 0, offset, &vec![3; 1_500]));
        }
        assert!(rig.settle_all([7].into_iter()));
        assert_eq!(rig.fault, None);
        let last_offset = (life + 1) * 20 - 1;
        vouched = Some(Vouched::new(last_offset + 1, last_offset, 0));
        let held = rig.store.held(7).expect("it is open");
        assert!(held.segments > usize::try_from(life).expect("small"), "{held:?}");
    }
    fs::remove_dir_all(&root).expect("the directory is ours");
}
