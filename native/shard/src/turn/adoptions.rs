//! Adoptions of segments: from the control plane to the shard that owns the log, and back.

use ng_io::Environment;
use ng_wire::table::record::ToPython;

use super::Shard;
use crate::adoption::{AdoptOrder, ToldAdoption};
use crate::ending::Ending;
use crate::frame::{PlaneFrame, ShardFrame};
use crate::identity::ShardId;
use crate::record::Record;
use ng_replication::AdoptionEnd;

impl<E: Environment> Shard<E> {
    /// An order of the control plane for a shard.
    pub(super) fn take_adoption(
        &mut self,
        shard: ShardId,
        token: u64,
        order: AdoptOrder,
    ) -> Result<(), Ending> {
        self.check_shard(shard)?;
        if shard == self.desk.id {
            self.adopt(token, order);
        } else {
            let frame = ShardFrame::Plane(PlaneFrame::Adopt { token, order: Box::new(order) });
            self.desk.mailboxes.send(shard, frame);
        }
        Ok(())
    }

    pub(super) fn adopt(&mut self, token: u64, AdoptOrder { group, adoption }: AdoptOrder) {
        self.log.adopt(token, group, adoption);
    }

    pub(super) fn adoption_ended(&mut self, token: u64, end: AdoptionEnd) {
        let told = ToldAdoption { shard: self.desk.id, token, end };
        if self.first.is_some() {
            self.tell_adoption(&told);
        } else {
            let frame = ShardFrame::Plane(PlaneFrame::AdoptionEnded(Box::new(told)));
            self.desk.mailboxes.send(ShardId::FIRST, frame);
        }
    }

    pub(super) fn tell_adoption(&mut self, told: &ToldAdoption) {
        let (shard, token) = (told.shard.0, told.token);
        self.tell_python(&Record { kind: ToPython::Adopted.code(), shard, token, body: &told.body() });
    }
}
