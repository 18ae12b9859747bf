//! Operations that the control plane itself adds to the metadata log.

use ng_wire::replica::{Level, LogOperation};
use ng_wire::table::operation::Operation;

use ng_replication::LogRequest;
use ng_replication::owner::METADATA;

/// Client id of the cluster. No session has it, and the log sends no answer for it.
const CLUSTER: u128 = 0;

/// The log request for the body of a `PROPOSE` record, in the name of the root user. `None` unless the body
/// has an operation that the cluster may propose.
pub fn proposal(body: &[u8]) -> Option<LogRequest> {
    let (code, rest) = body.split_first()?;
    let operation = Operation::from_code(*code).filter(|operation| operation.is_proposed_by_cluster())?;
    let mut content = Vec::with_capacity(body.len() + size_of::<u32>());
    content.push(operation.code());
    content.extend_from_slice(&ng_catalog::ROOT.to_le_bytes());
    content.extend_from_slice(rest);
    Some(LogRequest {
        group: METADATA,
        client: CLUSTER,
        session: 0,
        request: 0,
        operation: LogOperation::Metadata,
        level: Level::Persisted,
        body: content.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_operations_of_the_cluster_are_proposed() {
        let taken = proposal(&[Operation::CreateRoot.code(), 1, 2]).expect("an operation of the cluster");
        assert_eq!(
            (taken.client, &taken.body[..]),
            (0, &[Operation::CreateRoot.code(), 0, 0, 0, 0, 1, 2][..])
        );
        assert!(proposal(&[]).is_none());
        assert!(proposal(&[Operation::CreateStream.code(), 1]).is_none());
        assert!(proposal(&[0]).is_none());
    }
}
