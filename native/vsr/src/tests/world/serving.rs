//! The clients of a world, and what reaches them.

use super::{Happening, World};
use crate::Answer;

impl World {
    pub(super) fn ask(&mut self, client: usize) {
        if self.silent {
            return;
        }
        let asks = &mut self.clients[client];
        if asks.retry_at <= self.now {
            asks.retry_at = self.now + 250;
            let to = asks.target;
            if self.seed.chance(30) {
                self.clients[client].target = self.seed.replica(self.nodes.len().try_into().expect("few"));
            }
            let time = self.now + self.seed.between(1, self.weather.delay);
            self.at(time, Happening::Request { client, to });
        }
        let time = self.now + self.seed.between(5, 40);
        self.at(time, Happening::Ask { client });
    }

    pub(super) fn answer(&mut self, client: u128, request: u64, answer: Answer) {
        let Some(client) = self.clients.iter().position(|known| known.id == client) else { return };
        if !self.seed.chance(self.weather.loss) {
            let time = self.now + self.seed.between(1, self.weather.delay);
            self.at(time, Happening::Answer { client, request, answer });
        }
    }

    pub(super) fn answered(&mut self, client: usize, request: u64, answer: &Answer) {
        let nodes = self.nodes.len().try_into().expect("few nodes");
        if let Answer::Done { op, .. } = answer
            && self.judge.body_at(*op).is_some_and(|body| self.clients[client].is_past(body))
        {
            return;
        }
        if let Some(body) = self.clients[client].answered(request, answer, self.now, nodes)
            && let Answer::Done { op, reply } = answer
        {
            self.judge.tells(body, *op, reply);
        }
    }
}
