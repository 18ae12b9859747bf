//! Adoptions of segments: from the control plane to the shard that owns the log, and back.

use ng_control::adopt_order::{AdoptOrder, AdoptionReport};
use ng_control::record::Record;
use ng_control::shard_id::ShardId;
use ng_io::Environment;
use ng_mesh::frame::{PlaneFrame, ShardFrame};
use ng_replication::AdoptionEnd;
use ng_wire::table::record::ToPython;

use super::Shard;
use crate::ending::Ending;

impl<E: Environment> Shard<E> {
    /// Takes an order of the control plane for a shard.
    pub(super) fn take_adoption(
        &mut self,
        shard: ShardId,
        token: u64,
        order: AdoptOrder,
    ) -> Result<(), Ending> {
        self.check_shard(shard)?;
        if shard == self.handler.id {
            self.adopt(token, order);
        } else {
            let frame = ShardFrame::Plane(PlaneFrame::Adopt { token, order: Box::new(order) });
            self.handler.mailboxes.send(shard, frame);
        }
        Ok(())
    }

    pub(super) fn adopt(&mut self, token: u64, AdoptOrder { group, adoption }: AdoptOrder) {
        self.log.adopt(token, group, adoption);
    }

    pub(super) fn adoption_ended(&mut self, token: u64, end: AdoptionEnd) {
        let told = AdoptionReport { shard: self.handler.id, token, end };
        if self.first.is_some() {
            self.tell_adoption(&told);
        } else {
            let frame = ShardFrame::Plane(PlaneFrame::AdoptionEnded(Box::new(told)));
            self.handler.mailboxes.send(ShardId::FIRST, frame);
        }
    }

    pub(super) fn tell_adoption(&mut self, told: &AdoptionReport) {
        let (shard, token) = (told.shard.0, told.token);
        self.tell_python(&Record { kind: ToPython::Adopted.code(), shard, token, body: &told.body() });
    }
}
