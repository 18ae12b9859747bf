//! The receiving half of a connection: splits received bytes into frames, in bounded memory.

use std::time::Duration;

use ng_io::{Buffer, Instant, PAGE};
use ng_wire::frame::{self, FrameFault, HEADER_BYTES, RequestHeader};
use ng_wire::table::close_reason::CloseReason;

use crate::frame_body::{FrameBody, Kept};
use crate::frame_memory::FrameMemory;
use crate::limits::{
    ACKNOWLEDGEMENT_DELAY, INPUT_BYTES, INPUT_BYTES_HABITUAL_MAX, SMALL_FRAME_BYTES, STALLED_FRAME_BYTES_MAX,
};

/// State of the buffered bytes.
#[derive(Debug)]
pub(crate) enum Look {
    /// More bytes are needed.
    Starved,
    /// The header of the next frame; its body may still be arriving.
    Header(RequestHeader),
    /// The bytes violate the protocol.
    Broken(CloseReason),
}

/// Received bytes of one connection that belong to no served request yet.
#[derive(Debug)]
pub(crate) struct Input {
    /// `None` while a receive operation owns the buffer.
    buffer: Option<Buffer>,
    /// Bytes in the buffer before the current frame.
    lead: usize,
    /// Wanted number of those bytes, so that the kept part of the frame has its final position; `None` if no
    /// part is kept.
    lead_wanted: Option<usize>,
    /// Start of the kept part in the last frame that had one.
    kept_from: Option<usize>,
    /// Bytes that are still to be dropped of a frame that was answered from its header.
    discard: usize,
    /// Total length of that frame.
    discarded_frame: usize,
    /// The peer has ended its stream.
    ended: bool,
    /// A whole header was received. Only the first frame is checked for foreign protocols.
    first_frame_seen: bool,
    /// Time of the first byte of the current frame, and its deadline.
    clock: Option<(Instant, Instant)>,
    /// Length of the last complete frame, because the next one often has the same.
    habit: usize,
    /// A frame was once delayed so long that the peer must have waited for a delayed acknowledgement.
    stalls: bool,
}

/// A receive operation to submit.
#[derive(Debug)]
pub(crate) struct Arming {
    pub(crate) buffer: Buffer,
    /// Bytes to wait for; zero returns with any.
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

    /// Bytes of the current frame and after it.
    pub(crate) fn received(&self) -> &[u8] {
        self.buffer.as_deref().map_or(&[], |bytes| &bytes[self.lead..])
    }

    /// Examines the next frame without consuming it.
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

    /// The body of the frame with `header`, once it is complete.
    pub(crate) fn body<'a>(
        &'a mut self,
        header: &RequestHeader,
        memory: &'a FrameMemory,
    ) -> Option<FrameBody<'a>> {
        let frame = self.lead..self.lead + header.size as usize;
        let buffer = self.buffer.as_mut().filter(|buffer| buffer.len() >= frame.end)?;
        Some(FrameBody { buffer, frame, kept_from: &mut self.kept_from, home: memory.home() })
    }

    /// Chooses the position of the current frame in a page, so that its kept part has `front` bytes before
    /// it. Until the start of that part is known, the start in the previous frame is assumed.
    pub(crate) fn place(&mut self, kept: Kept, front: usize) {
        let from = match kept {
            Kept::Nothing => None,
            Kept::From(start) => Some(start),
            Kept::Unknown => self.kept_from,
        };
        self.lead_wanted = from.map(|from| (front + PAGE - from % PAGE) % PAGE);
    }

    /// Drops a served frame.
    pub(crate) fn consume(&mut self, header: &RequestHeader, memory: &mut FrameMemory) {
        self.habit = header.size as usize;
        self.drop_bytes(self.habit, memory);
        self.clock = None;
    }

    /// Drops a frame without its body, which may still be arriving. Its deadline stays in force.
    pub(crate) fn consume_unread(&mut self, header: &RequestHeader, memory: &mut FrameMemory) {
        self.discard = header.size as usize;
        self.discarded_frame = self.discard;
        self.throw_away(memory);
    }

    /// Drops further bytes of a frame that was answered from its header.
    pub(crate) fn throw_away(&mut self, memory: &mut FrameMemory) {
        let dropped = self.received().len().min(self.discard);
        self.drop_bytes(dropped, memory);
        self.discard -= dropped;
        if dropped > 0 && self.discard == 0 {
            self.clock = None;
        }
    }

    /// Drops all received bytes, because the connection is only drained now.
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
            // The kept part was removed together with its memory.
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

    /// Length of the current frame, as far as it is known.
    pub(crate) fn frame_bytes(&self, header: Option<&RequestHeader>) -> usize {
        if self.discard > 0 {
            return self.discarded_frame;
        }
        header.map_or(HEADER_BYTES, |header| header.size as usize)
    }

    /// Deadline of the current frame.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.clock.map(|(_, deadline)| deadline)
    }

    /// Starts the clock of a frame, or updates its deadline once the length is known. Without a frame there
    /// is no deadline, so that idle connections stay open. Returns true if the clock has just started.
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

    /// Detects a peer with Nagle's algorithm. Such a peer sends the last, short segment of a frame only after
    /// all earlier ones are acknowledged, and the kernel delays the acknowledgement of a lone header by 40
    /// ms. Longer frames have whole segments after the header, which the kernel acknowledges at once.
    pub(crate) fn note_arrival(&mut self, now: Instant) {
        let late = self.clock.is_some_and(|(started, _)| now - started >= ACKNOWLEDGEMENT_DELAY);
        self.stalls |= late && self.received().len() <= STALLED_FRAME_BYTES_MAX;
    }

    /// The peer of a new frame waits until its first bytes are acknowledged.
    pub(crate) fn awaits_acknowledgement(&self, frame_bytes: usize) -> bool {
        self.stalls && frame_bytes <= STALLED_FRAME_BYTES_MAX
    }

    /// Stops the clock, because the peer waits for this server.
    pub(crate) fn stop_clock(&mut self) {
        self.clock = None;
    }

    /// A receive operation owns the buffer.
    pub(crate) fn is_armed(&self) -> bool {
        self.buffer.is_none()
    }

    /// Marks the end of the stream.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    /// The stream has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Hands the buffer to a receive operation, unless the stream has ended. The buffer has room for at least
    /// one more byte. It grows with the bytes that have arrived of this or the previous frame, to at most
    /// twice their number and at most `frame_bytes`; a header's promise alone never makes it grow. The
    /// operation waits for the missing bytes of the frame, as far as there is room.
    pub(crate) fn arm(&mut self, frame_bytes: usize, memory: &mut FrameMemory) -> Option<Arming> {
        if self.ended {
            return None;
        }
        let mut buffer = self.buffer.take()?;
        // Bytes to be dropped need no extra room.
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

    /// Room that a frame of this size gets: twice the bytes that have arrived of it, or of the previous
    /// frame.
    fn earned(&self, received: usize, frame_bytes: usize) -> usize {
        (2 * received.max(self.habit)).min(frame_bytes).max(received + 1)
    }

    /// Bytes of memory beyond the share of every connection that the next part of a frame of `frame_bytes`
    /// needs.
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

    /// A header of a frame of `size` bytes.
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
    fn an_idle_connection_holds_a_buffer_for_its_usual_frame_size() {
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

    /// Receives a frame in two parts, the second one `delay` after the first. Returns true if the next
    /// frame's peer counts as one that waits for acknowledgements.
    fn stalls_after(size: u32, delay: Duration) -> bool {
        let mut memory = FrameMemory::new(1 << 20);
        let mut input = Input::new();
        let began = Instant::FAR_FUTURE - Duration::from_hours(1);
        input.disarm(Buffer::from(vec![1; HEADER_BYTES]));
        assert!(input.run_clock(began, Duration::from_secs(10)));
        assert!(!input.awaits_acknowledgement(size as usize), "the first frame cannot show it");
        let _ = input.arm(size as usize, &mut memory);
        input.disarm(Buffer::from(vec![1; size as usize]));
        input.note_arrival(began + delay);
        input.consume(&header(size), &mut memory);
        input.awaits_acknowledgement(20_000)
    }

    #[test]
    fn a_peer_stalls_if_the_rest_of_a_short_frame_follows_the_delayed_acknowledgement() {
        let delayed = Duration::from_millis(40);
        assert!(stalls_after(20_000, delayed));
        assert!(stalls_after(60_000, delayed));
        assert!(!stalls_after(20_000, Duration::from_millis(29)), "it arrived without an acknowledgement");
        assert!(!stalls_after(1 << 20, delayed), "whole segments are acknowledged at once: the peer is slow");
    }

    #[test]
    fn long_frames_of_a_stalling_peer_are_not_acknowledged_early() {
        let mut input = Input::new();
        input.stalls = true;
        assert!(input.awaits_acknowledgement(STALLED_FRAME_BYTES_MAX));
        assert!(!input.awaits_acknowledgement(STALLED_FRAME_BYTES_MAX + 1));
    }
}
