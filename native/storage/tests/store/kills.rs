//! What a killed process has written and not synced is seen by the next one, and gone when the power goes.

use std::time::Duration;

use ng_io::SimulatedEnvironment;
use ng_storage::home::Home;
use ng_storage::store::Vouched;

use crate::rig::{Rig, batch};

const GROUP: u64 = 7;
const BATCHES: u64 = 6;

fn start(
    environment: &SimulatedEnvironment,
    life: u64,
    vouched: Option<Vouched>,
) -> Rig<SimulatedEnvironment> {
    let mut rig = Rig::new(environment, Home::new("data"), life);
    rig.open(GROUP, vouched);
    rig
}

fn apply(rig: &mut Rig<SimulatedEnvironment>, offsets: std::ops::Range<u64>) {
    offsets.for_each(|offset| rig.append(GROUP, batch(offset + 1, 0, offset, &[3; 500])));
    rig.flush(GROUP);
}

/// Once a manifest vouched for what a killed process had left in the page cache: every batch was there, so none was written
/// again, and none was synced. The power went, and with it messages that were acknowledged.
#[test]
fn what_a_killed_process_left_is_safe_once_it_is_synced() {
    for step in 0..400 {
        let environment = SimulatedEnvironment::new(step);
        let mut rig = start(&environment, 1, None);
        apply(&mut rig, 0..2);
        assert!(rig.settle(GROUP));
        apply(&mut rig, 2..BATCHES);
        for _ in 0..step % 40 {
            rig.work(Duration::from_micros(50));
        }
        environment.kill();

        let mut rig = start(&environment, 2, None);
        apply(&mut rig, 0..BATCHES);
        assert!(rig.settle(GROUP));
        environment.cut_power();

        let vouched = Vouched::new(BATCHES, BATCHES - 1, 0);
        let mut rig = start(&environment, 3, Some(vouched));
        assert!(rig.settle(GROUP));
        while !rig.opened.contains_key(&GROUP) && rig.damaged.is_empty() {
            rig.work(Duration::from_millis(5));
        }
        assert!(rig.damaged.is_empty(), "seed {step}: {:?}", rig.damaged);
    }
}
