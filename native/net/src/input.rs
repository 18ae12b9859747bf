//! The receiving half of a connection: bytes in, whole frames out, in bounded memory.

use std::time::Duration;

use ng_io::{Buffer, Instant, PAGE};
use ng_wire::frame::{self, FrameFault, HEADER_BYTES, RequestHeader};
use ng_wire::table::close_reason::CloseReason;

use crate::frame_body::{FrameBody, Kept};
use crate::frame_memory::FrameMemory;
use crate::limits::{
    ACKNOWLEDGEMENT_DELAY, INPUT_BYTES, INPUT_BYTES_HABITUAL_MAX, SMALL_FRAME_BYTES, STALLED_FRAME_BYTES_MAX,
};

/// What the buffered bytes allow.
#[derive(Debug)]
pub(crate) enum Look {
    /// More bytes are needed.
    Starved,
    /// The header of the next frame; its body may still be on its way.
    Header(RequestHeader),
    /// The peer does not speak the protocol.
    Broken(CloseReason),
}

/// Bytes of one connection that are not yet a served request.
#[derive(Debug)]
pub(crate) struct Input {
    /// Absent while a receive operation owns it.
    buffer: Option<Buffer>,
    /// Bytes of the buffer in front of the frame in progress.
    lead: usize,
    /// How many there should be, so that what is kept of the frame lies where it is wanted; none if nothing
    /// is kept.
    lead_wanted: Option<usize>,
    /// Where in its frame that began which was kept last.
    kept_from: Option<usize>,
    /// Bytes still to come of a frame that was answered from its header.
    discard: usize,
    /// How long that frame is in all.
    discarded_frame: usize,
    /// The peer sends no more.
    ended: bool,
    /// Whether a whole header was ever seen: only the first frame is examined for foreign protocols.
    first_frame_seen: bool,
    /// The frame in progress: when its first byte was seen, and when it must be complete.
    clock: Option<(Instant, Instant)>,
    /// How long the last frame was that came whole. Who sends frames tends to send more of that size.
    habit: usize,
    /// The rest of a frame once arrived so late that the peer must have waited for our delayed
    /// acknowledgement.
    stalls: bool,
}

/// A receive operation to come.
#[derive(Debug)]
pub(crate) struct Arming {
    pub(crate) buffer: Buffer,
    /// Bytes to wait for; zero takes what is there.
    pub(crate) wanted: usize,
}

impl Input {
    pub(crate) fn new() -> Self {
        let buffer = Some(Buffer::with_capacity(INPUT_BYTES));
        Self {
            buffer,
            lead: 0,
            lead_wanted: None,
            kept_from: None,
            discard: 0,
            discarded_frame: 0,
            ended: false,
            first_frame_seen: false,
            clock: None,
            habit: 0,
            stalls: false,
        }
    }

    /// What is here of the frame in progress, and behind it.
    pub(crate) fn received(&self) -> &[u8] {
        self.buffer.as_deref().map_or(&[], |bytes| &bytes[self.lead..])
    }

    /// Looks at the next frame without consuming it.
    pub(crate) fn look(&mut self, frame_bytes_max: u32) -> Look {
        if self.discard > 0 {
            return Look::Starved;
        }
        let bytes = self.received();
        if !self.first_frame_seen && frame::begins_legacy(bytes) {
            return Look::Broken(CloseReason::LegacyFraming);
        }
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else { return Look::Starved };
        match RequestHeader::decode(header, frame_bytes_max) {
            Ok(header) => {
                self.first_frame_seen = true;
                Look::Header(header)
            }
            Err(FrameFault::Size(_)) => Look::Broken(CloseReason::BadSize),
            Err(FrameFault::Command(_)) => Look::Broken(CloseReason::BadCommand),
        }
    }

    /// The body of the frame `header` begins, once all of it is here.
    pub(crate) fn body<'a>(
        &'a mut self,
        header: &RequestHeader,
        memory: &'a FrameMemory,
    ) -> Option<FrameBody<'a>> {
        let frame = self.lead..self.lead + header.size as usize;
        let buffer = self.buffer.as_mut().filter(|buffer| buffer.len() >= frame.end)?;
        Some(FrameBody { buffer, frame, kept_from: &mut self.kept_from, home: memory.home() })
    }

    /// Chooses where in a page the frame in progress is received to, so that what is kept of it has `front`
    /// bytes in front of it there. While it cannot be told where that begins, it is taken to be as in the
    /// frame before.
    pub(crate) fn place(&mut self, kept: Kept, front: usize) {
        let from = match kept {
            Kept::Nothing => None,
            Kept::From(start) => Some(start),
            Kept::Unknown => self.kept_from,
        };
        self.lead_wanted = from.map(|from| (front + PAGE - from % PAGE) % PAGE);
    }

    /// Drops the frame `header` begins: it was served.
    pub(crate) fn consume(&mut self, header: &RequestHeader, memory: &mut FrameMemory) {
        self.habit = header.size as usize;
        self.drop_bytes(self.habit, memory);
        self.clock = None;
    }

    /// Drops the frame `header` begins, whose body was not read and may still be arriving. Its clock goes on.
    pub(crate) fn consume_unread(&mut self, header: &RequestHeader, memory: &mut FrameMemory) {
        self.discard = header.size as usize;
        self.discarded_frame = self.discard;
        self.throw_away(memory);
    }

    /// Goes on dropping the bytes of a frame that was answered from its header.
    pub(crate) fn throw_away(&mut self, memory: &mut FrameMemory) {
        let dropped = self.received().len().min(self.discard);
        self.drop_bytes(dropped, memory);
        self.discard -= dropped;
        if dropped > 0 && self.discard == 0 {
            self.clock = None;
        }
    }

    /// Drops whatever arrived: the connection is only drained now.
    pub(crate) fn clear(&mut self) {
        if let Some(buffer) = &mut self.buffer {
            buffer.clear();
            self.lead = 0;
        }
    }

    fn drop_bytes(&mut self, count: usize, memory: &mut FrameMemory) {
        let Some(buffer) = &mut self.buffer else { return };
        if count > 0 {
            let lead = std::mem::take(&mut self.lead);
            // What was kept has gone with its memory.
            if !buffer.is_empty() {
                buffer.consume(lead + count);
            }
        }
        let waiting = match self.habit {
            habit if habit <= INPUT_BYTES_HABITUAL_MAX => habit.next_power_of_two().max(INPUT_BYTES),
            _ => INPUT_BYTES,
        };
        if buffer.is_empty() && buffer.capacity() != waiting {
            let exact = memory.exact_room(waiting);
            memory.give(std::mem::replace(buffer, exact));
        }
    }

    /// How long the frame in progress is, as far as is known.
    pub(crate) fn frame_bytes(&self, header: Option<&RequestHeader>) -> usize {
        if self.discard > 0 {
            return self.discarded_frame;
        }
        header.map_or(HEADER_BYTES, |header| header.size as usize)
    }

    /// When the frame in progress must be complete.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.clock.map(|(_, deadline)| deadline)
    }

    /// Starts the clock of a frame that has begun, or sets its deadline anew once its length is known.
    /// Without a frame in progress nothing is timed: nobody is cut for being quiet. Returns whether the clock
    /// began to run now.
    pub(crate) fn run_clock(&mut self, now: Instant, allowance: Duration) -> bool {
        if self.is_armed() {
            return false;
        }
        let frame_started = self.discard > 0 || !self.received().is_empty();
        let was_running = self.clock.is_some();
        self.clock = frame_started.then(|| {
            let started = self.clock.map_or(now, |(started, _)| started);
            (started, started + allowance)
        });
        frame_started && !was_running
    }

    /// Notices a peer with Nagle's algorithm: it sends the last, short segment of a frame only when
    /// everything before it is acknowledged, and the kernel delays acknowledgements of a lone header by 40
    /// ms. Of longer frames whole segments follow the header, which the kernel acknowledges at once.
    pub(crate) fn note_arrival(&mut self, now: Instant) {
        let late = self.clock.is_some_and(|(started, _)| now - started >= ACKNOWLEDGEMENT_DELAY);
        self.stalls |= late && self.received().len() <= STALLED_FRAME_BYTES_MAX;
    }

    /// Whether the peer of a frame that has just begun waits until its first bytes are acknowledged.
    pub(crate) fn awaits_acknowledgement(&self, frame_bytes: usize) -> bool {
        self.stalls && frame_bytes <= STALLED_FRAME_BYTES_MAX
    }

    /// Stops the clock: it is us who keep the peer waiting.
    pub(crate) fn stop_clock(&mut self) {
        self.clock = None;
    }

    /// Whether a receive operation owns the buffer.
    pub(crate) fn is_armed(&self) -> bool {
        self.buffer.is_none()
    }

    /// Nothing more will arrive.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    /// Whether nothing more will arrive.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Hands the buffer to a receive operation, unless nothing more will arrive. It has room for at least one
    /// more byte and grows with what has arrived, now or as the frame before, never with what a header
    /// promised: to twice that, and no further than `frame_bytes`. What is missing of a frame that has begun
    /// comes in one piece, as far as there is room.
    pub(crate) fn arm(&mut self, frame_bytes: usize, memory: &mut FrameMemory) -> Option<Arming> {
        if self.ended {
            return None;
        }
        let mut buffer = self.buffer.take()?;
        // What is thrown away as it comes needs no room.
        let frame_bytes = if self.discard > 0 { 0 } else { frame_bytes };
        let received = buffer.len() - self.lead;
        let earned = self.earned(received, frame_bytes);
        if buffer.capacity() - self.lead < earned {
            let lead = self.lead_wanted.filter(|_| earned == frame_bytes);
            let mut larger = match lead {
                Some(lead) => memory.room_behind(lead, earned),
                None => memory.room(earned),
            };
            larger.extend_from_slice(&buffer[self.lead..]);
            memory.give(std::mem::replace(&mut buffer, larger));
            self.lead = lead.unwrap_or(0);
        }
        let missing = frame_bytes.saturating_sub(received).min(buffer.spare());
        let wanted = if received < HEADER_BYTES { 0 } else { missing };
        Some(Arming { buffer, wanted })
    }

    /// How much room a frame of so many bytes has earned: twice what has arrived of it, or came with the
    /// frame before.
    fn earned(&self, received: usize, frame_bytes: usize) -> usize {
        (2 * received.max(self.habit)).min(frame_bytes).max(received + 1)
    }

    /// Bytes of memory that go beyond what every connection may have, once the next part of a frame of
    /// `frame_bytes` arrives.
    pub(crate) fn memory_for(&self, frame_bytes: usize) -> usize {
        let earned = self.lead + self.earned(self.received().len(), frame_bytes);
        let held = self.buffer.as_ref().map_or(0, Buffer::capacity);
        Some(earned.max(held)).filter(|bytes| *bytes > SMALL_FRAME_BYTES).unwrap_or(0)
    }

    /// Takes the buffer back from a receive operation.
    pub(crate) fn disarm(&mut self, buffer: Buffer) {
        self.buffer = Some(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of a frame of so many bytes.
    fn header(size: u32) -> RequestHeader {
        RequestHeader {
            size,
            client: 0,
            request_checksum: 0,
            timestamp: 0,
            request: 0,
            operation: 0,
            session: 0,
            code: 0,
        }
    }

    #[test]
    fn a_waiting_connection_holds_what_its_habit_asks_for_and_no_more() {
        for (size, waiting) in [(300, 1024), (1_500, 2048), (3_000, 4096), (100_000, INPUT_BYTES)] {
            let mut memory = FrameMemory::new(1 << 20);
            [1_500, 3_000, 6_000, 12_000, 16_384]
                .into_iter()
                .for_each(|bytes| memory.give(Buffer::with_capacity(bytes)));
            let mut input = Input::new();
            input.disarm(Buffer::from(vec![1; size]));
            input.consume(&header(u32::try_from(size).expect("a small frame")), &mut memory);
            assert_eq!(input.buffer.map(|buffer| buffer.capacity()), Some(waiting), "{size}");
        }
    }

    /// Receives a frame of so many bytes in two parts, the second of them so much after the first. Says
    /// whether the peer counts as one that waits for acknowledgements when its next frame begins.
    fn stalls_after(size: u32, delay: Duration) -> bool {
        let mut memory = FrameMemory::new(1 << 20);
        let mut input = Input::new();
        let began = Instant::FAR_FUTURE - Duration::from_hours(1);
        input.disarm(Buffer::from(vec![1; HEADER_BYTES]));
        assert!(input.run_clock(began, Duration::from_secs(10)));
        assert!(!input.awaits_acknowledgement(size as usize), "nothing is known of the peer yet");
        let _ = input.arm(size as usize, &mut memory);
        input.disarm(Buffer::from(vec![1; size as usize]));
        input.note_arrival(began + delay);
        input.consume(&header(size), &mut memory);
        input.awaits_acknowledgement(20_000)
    }

    #[test]
    fn a_peer_stalls_if_the_rest_of_a_short_frame_came_after_the_delayed_acknowledgement() {
        let delayed = Duration::from_millis(40);
        assert!(stalls_after(20_000, delayed));
        assert!(stalls_after(60_000, delayed));
        assert!(!stalls_after(20_000, Duration::from_millis(29)), "it came by itself");
        assert!(!stalls_after(1 << 20, delayed), "whole segments are acknowledged at once: the peer is slow");
    }

    #[test]
    fn of_a_peer_that_stalls_long_frames_are_not_acknowledged_early() {
        let mut input = Input::new();
        input.stalls = true;
        assert!(input.awaits_acknowledgement(STALLED_FRAME_BYTES_MAX));
        assert!(!input.awaits_acknowledgement(STALLED_FRAME_BYTES_MAX + 1));
    }
}
