//! Encodes all frames for other nodes.

use ng_io::Environment;
use ng_wire::replica::{Content, Frame, Message, encode_frame};

use crate::group::Body;
use crate::host::ShardLog;
use crate::machine::MetadataMachine;
use crate::outbox::Outgoing;

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Sends a message of a replica. `body` is the body of a prepare.
    pub(crate) fn send(&mut self, id: u64, to: u8, message: Message, body: Option<Body>) {
        if let Some(group) = self.groups.get(&id) {
            self.send_content(to, id, group.epoch, message.into(), body);
        }
    }

    /// Sends content about a group; `body` follows the sealed head.
    pub(crate) fn send_content(
        &mut self,
        to: u8,
        group: u64,
        epoch: u32,
        content: Content,
        body: Option<Body>,
    ) {
        let head = self.sealed(group, epoch, content);
        self.outbox.push(Outgoing::Frame { to, head, body });
    }

    /// Sends content that concerns no group to every other node.
    pub(crate) fn broadcast(&mut self, content: Content) {
        let head = self.sealed(0, 0, content);
        for to in (0..self.life.identity.nodes).filter(|to| *to != self.life.identity.node) {
            self.outbox.push(Outgoing::Frame { to, head: head.clone(), body: None });
        }
    }

    fn sealed(&self, group: u64, epoch: u32, content: Content) -> Vec<u8> {
        let (cluster, replica) = (self.life.identity.cluster, self.life.identity.node);
        let mut head = Vec::new();
        encode_frame(&Frame { cluster, group, epoch, replica, content }, &mut head);
        head
    }
}
