//! Polls that wait for memory for their replies.

use ng_io::Environment;
use ng_session::request_handler::Resumed;

use super::Shard;

impl<E: Environment> Shard<E> {
    /// Begins the polls whose replies have room now, and answers those that waited too long. Returns true if
    /// one is for a partition of this shard.
    pub(super) fn resume_polls(&mut self) -> bool {
        if self.handler.waiting_polls.count() == 0 {
            return false;
        }
        self.handler.replies.unsent = self.connections.unsent();
        for is_proven in [true, false] {
            loop {
                match self.handler.resume_poll(is_proven, &mut self.connections) {
                    Some(Resumed::Begun) => {}
                    Some(Resumed::Answered(answer)) => self.answer(answer),
                    None => break,
                }
            }
        }
        if self.handler.waiting_polls.reports_shortage(self.handler.now) {
            self.connections.hurry_replies(self.handler.now, &self.driver);
        }
        let stopping = self.stopping.began();
        while let Some(answer) = self.handler.give_up_poll(stopping) {
            self.answer(answer);
        }
        !self.handler.own_partitions.is_empty()
    }
}
