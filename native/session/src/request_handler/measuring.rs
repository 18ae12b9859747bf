//! What is measured of a request: what it asked for, how long it took, and the messages it brought or got.

use ng_io::Instant;
use ng_mesh::frame::Answer;
use ng_net::Peer;
use ng_net::connection::Asked;
use ng_wire::table::command::Command;
use ng_wire::table::metric::{Cell, Metric};
use ng_wire::table::outcome::ReplyOutcome;
use ng_wire::table::request_class::RequestClass;

use super::RequestHandler;

/// Requests answered in one turn; their replies leave together, and so one look at the clock is enough for
/// all of them.
#[derive(Debug, Default)]
pub struct Answered(Vec<(RequestClass, Instant)>);

impl RequestHandler {
    /// A request was understood.
    pub(super) fn begin(&self, peer: &mut Peer, command: Command) {
        peer.asked = Some(Asked { class: RequestClass::of(command), at: self.now, messages: 0, bytes: 0 });
    }

    /// What an answer holds is counted before it is written.
    pub(super) fn count_polled(&self, answer: &Answer) {
        if let Answer::Polled { polled, .. } = answer {
            let bytes: usize = polled.parts.iter().map(|part| part.bytes().len()).sum();
            self.metrics.add(const { Cell::of(Metric::MessagesPolled) }, polled.messages.into());
            self.metrics.add(const { Cell::of(Metric::MessageBytesPolled) }, bytes as u64);
        }
    }

    /// A reply was written.
    pub(super) fn end(&mut self, peer: &mut Peer, outcome: ReplyOutcome) {
        self.metrics.add(Cell::reply(outcome), 1);
        let Some(Asked { class, at, messages, bytes }) = peer.asked.take() else { return };
        self.answered.0.push((class, at));
        if outcome == ReplyOutcome::Ok && messages > 0 {
            self.metrics.add(const { Cell::of(Metric::MessagesAppended) }, messages.into());
            self.metrics.add(const { Cell::of(Metric::MessageBytesAppended) }, bytes);
        }
    }

    /// Counts how long the answers of this turn took. `clock` is read if there are any.
    pub fn measure_answered(&mut self, clock: impl FnOnce() -> Instant) {
        if self.answered.0.is_empty() {
            return;
        }
        let now = clock();
        for (class, at) in self.answered.0.drain(..) {
            let micros = u64::try_from((now - at).as_micros()).unwrap_or(u64::MAX);
            self.metrics.observe(Cell::request_seconds(class), micros);
        }
    }
}
