//! Faults that tests inject into a shard.

use std::time::Duration;

use ng_control::record::Record;
use ng_control::shard_id::ShardId;
use ng_io::Environment;
use ng_mesh::fault::Fault;
use ng_mesh::frame::{ClientFrame, Envelope, PlaneFrame, ShardFrame};

use super::Shard;
use crate::ending::Ending;

const LOOK_AGAIN: Duration = Duration::from_millis(1);

impl<E: Environment> Shard<E> {
    pub(super) fn take_fault(&mut self, record: &Record<'_>) -> Result<(), Ending> {
        let shard = ShardId(record.shard);
        self.check_shard(shard)?;
        let fault = Fault::of(record).expect("checked at the boundary");
        if shard == self.handler.id {
            self.suffer(fault);
        } else {
            self.handler.mailboxes.send(shard, ShardFrame::Plane(PlaneFrame::Fault(fault)));
        }
        Ok(())
    }

    pub(super) fn suffer(&mut self, fault: Fault) {
        match fault {
            Fault::Panic => unreachable!("a fault that a test asked for"),
            Fault::Stall(time) => std::thread::sleep(time),
            Fault::Misroute => self.misroute_a_partition_request(),
        }
    }

    fn misroute_a_partition_request(&mut self) {
        while !self.stopping.began() {
            match self.handler.mailboxes.receive() {
                Some(Envelope { frame: frame @ ShardFrame::Client(ClientFrame::Partition(_)), .. }) => {
                    let to = ShardId(self.handler.id.0 + 1);
                    return self.deliver(Envelope { to, frame });
                }
                Some(envelope) => self.deliver(envelope),
                None => std::thread::sleep(LOOK_AGAIN),
            }
        }
    }
}
