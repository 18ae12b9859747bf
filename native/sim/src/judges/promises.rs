//! What clients were told: it stands in the history, and a retry is told the same.

use std::collections::BTreeMap;

use ng_wire::replica::Op;

use super::{History, Verdict};

/// Everything that clients were told, by group and by the number of the request.
#[derive(Debug, Default)]
pub struct Promises {
    told: BTreeMap<(u64, u128), (Op, Vec<u8>)>,
}

impl Promises {
    /// A client is told that its request was executed at `op`; `once`: a retry must be told the same.
    pub fn tells(
        &mut self,
        history: &History,
        (group, request): (u64, u128),
        (op, reply): (Op, &[u8]),
        once: bool,
    ) -> Result<(), Verdict> {
        let stands = history.at(group, op);
        if stands != Some((request, reply)) {
            return Err(Verdict(format!(
                "op {op} of group {group} was acknowledged to {request:032x} with {reply:02x?}, and there stands {stands:02x?}"
            )));
        }
        let told = self.told.entry((group, request)).or_insert_with(|| (op, reply.to_vec()));
        if once && (told.0 != op || told.1 != reply) {
            return Err(Verdict(format!("a retry in group {group} was told op {op}, before op {}", told.0)));
        }
        Ok(())
    }

    /// How many requests were acknowledged.
    #[must_use]
    pub fn count(&self) -> usize {
        self.told.len()
    }
}
