//! Clients that ask one thing at a time and ask again until they are answered.

use std::collections::BTreeSet;

use ng_wire::replica::{BodyCheck, Level, LogOperation};

use super::seed::mix;
use crate::{Answer, Request, Ticks};

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) id: u128,
    /// Zero before it is registered.
    session: u64,
    request: u64,
    /// How many registrations were begun.
    registrations: u64,
    metadata: bool,
    pub(crate) target: u8,
    pub(crate) retry_at: Ticks,
    /// Every request it ever was done with or gave up, by body.
    past: BTreeSet<u128>,
}

impl Client {
    pub(crate) fn new(id: u128, metadata: bool) -> Self {
        let session = u64::from(!metadata);
        let (request, registrations) = (session, 1);
        Self { id, session, request, registrations, metadata, target: 0, retry_at: 0, past: BTreeSet::new() }
    }

    /// What it asks now; the same until it is answered.
    pub(crate) fn request(&self) -> Request {
        let operation = match (self.metadata, self.session) {
            (false, _) => LogOperation::Batch,
            (true, 0) => LogOperation::Register,
            (true, _) => LogOperation::Metadata,
        };
        Request {
            client: self.id,
            session: self.session,
            request: self.request,
            operation: operation.code(),
            level: Level::Persisted,
            timestamp: 0,
            body_checksum: self.body(),
            body_bytes: 8,
            body_check: BodyCheck::Whole,
        }
    }

    /// A number of its own for each request that it ever makes.
    fn body(&self) -> u128 {
        let request = mix(self.request ^ self.registrations << 40 ^ self.session << 20);
        self.id << 64 | u128::from(request)
    }

    /// Whether an answer about this body comes late: request numbers begin anew with each session.
    pub(crate) fn is_past(&self, body: u128) -> bool {
        self.past.contains(&body)
    }

    /// Takes an answer; what it was told, if it was told that the request was executed.
    pub(crate) fn answered(&mut self, request: u64, answer: &Answer, now: Ticks, nodes: u8) -> Option<u128> {
        if request != self.request {
            return None;
        }
        match answer {
            Answer::Done { op, .. } => {
                let body = self.body();
                if self.session == 0 {
                    self.session = op.0;
                }
                self.past.insert(body);
                self.request += 1;
                self.retry_at = now;
                Some(body)
            }
            Answer::NoSession | Answer::Superseded => {
                self.past.insert(self.body());
                self.session = 0;
                self.request = 0;
                self.registrations += 1;
                None
            }
            Answer::NotPrimary => {
                self.target = (self.target + 1) % nodes;
                self.retry_at = now + 20;
                None
            }
            Answer::Busy | Answer::Pending | Answer::Unsupported => None,
        }
    }
}
