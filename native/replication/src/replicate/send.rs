//! Frames for other nodes: every one is made here.

use ng_io::Environment;
use ng_wire::replica::{Content, Frame, Message, encode_frame};

use crate::group::Body;
use crate::host::ShardLog;
use crate::machine::MetadataMachine;
use crate::outbox::Outgoing;

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// A message of a replica; with a prepare goes its body.
    pub(crate) fn send(&mut self, id: u64, to: u8, message: Message, body: Option<Body>) {
        if let Some(group) = self.groups.get(&id) {
            self.send_content(to, id, group.epoch, message.into(), body);
        }
    }

    /// Says something about a group; `body` is what follows the sealed part, if anything does.
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

    /// Says the same to every other node; it is about no group.
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
