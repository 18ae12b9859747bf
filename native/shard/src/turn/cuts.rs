//! Cuts of partitions: from the control plane to the shard that owns the log, and back.

use ng_control::cut_order::{CutOrder, CutReport};
use ng_control::record::Record;
use ng_control::shard_id::ShardId;
use ng_io::Environment;
use ng_mesh::frame::{PlaneFrame, ShardFrame};
use ng_replication::CutEnd;
use ng_wire::table::record::ToPython;

use super::Shard;
use crate::ending::Ending;

impl<E: Environment> Shard<E> {
    /// Takes an order of the control plane for a shard.
    pub(super) fn take_cut(&mut self, shard: ShardId, token: u64, order: CutOrder) -> Result<(), Ending> {
        self.check_shard(shard)?;
        if shard == self.handler.id {
            self.cut(token, order);
        } else {
            let frame = ShardFrame::Plane(PlaneFrame::Cut { token, order: Box::new(order) });
            self.handler.mailboxes.send(shard, frame);
        }
        Ok(())
    }

    pub(super) fn cut(&mut self, token: u64, CutOrder { group, directory }: CutOrder) {
        self.log.cut(token, group, directory);
    }

    pub(super) fn cut_ended(&mut self, token: u64, end: CutEnd) {
        let told = CutReport { shard: self.handler.id, token, end };
        if self.first.is_some() {
            self.tell_cut(&told);
        } else {
            let frame = ShardFrame::Plane(PlaneFrame::CutEnded(Box::new(told)));
            self.handler.mailboxes.send(ShardId::FIRST, frame);
        }
    }

    pub(super) fn tell_cut(&mut self, told: &CutReport) {
        let (shard, token) = (told.shard.0, told.token);
        for body in told.bodies() {
            self.tell_python(&Record { kind: ToPython::Cut.code(), shard, token, body: &body });
        }
    }
}
