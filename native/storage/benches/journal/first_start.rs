//! What a first start waits for: a directory with the default frames is founded, then its shard is opened.

use std::path::Path;
use std::time::Instant;

use ng_io::{DriverLimits, Environment};
use ng_storage::data_directory::{DataDirectory, Identity, Settings};
use ng_storage::home::Home;
use ng_storage::journal::Limits;
use ng_storage::layout::Member;
use ng_storage::superblock::Genesis;

use crate::bed::LIMITS;

const TURNS: u32 = 5;
const FRAME_BYTES_MAX: u32 = 64 << 20;

const SETTINGS: Settings = Settings {
    genesis: Genesis {
        frame_bytes_max: FRAME_BYTES_MAX,
        pipeline_depth: 64,
        client_table_slots: 1024,
        consumer_offsets_max: 4096,
    },
    journal: Limits { file_bytes: 2 * FRAME_BYTES_MAX as u64 + 65_536, ..LIMITS },
    direct: true,
    first_token: 0,
};

pub(crate) fn measure<E: Environment>(environment: &E, directory: &Path) {
    let (mut founding, mut opening) = (f64::INFINITY, f64::INFINITY);
    for turn in 0..TURNS {
        let home = directory.join(format!("first-start-{turn}"));
        let node = DataDirectory::new(environment.clone(), Home::new(&home), SETTINGS);
        let start = Instant::now();
        let layout = node
            .found(Identity { cluster: 1, node: 2, member: Member::STANDALONE }, 1, &mut || 3)
            .expect("a healthy disk");
        founding = founding.min(start.elapsed().as_secs_f64());
        let limits = DriverLimits { operations_max: 64, handles_max: 64 };
        let mut driver = environment.driver(limits).expect("a driver");
        let start = Instant::now();
        node.open_shard(&mut driver, &layout, 0).expect("it was founded just now");
        opening = opening.min(start.elapsed().as_secs_f64());
        drop(driver);
        std::fs::remove_dir_all(&home).expect("the directory is ours");
    }
    println!(
        "{}, first start with frames of 64 MiB: {:.0} ms to found, {:.0} ms to open",
        environment.name(),
        founding * 1e3,
        opening * 1e3
    );
}
