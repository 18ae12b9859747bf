//! The connections of one machine: who listens, who is connected, and what becomes of them when the process ends.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use super::pipe::{Pipe, StreamWeather};
use super::random::Random;
use crate::driver::Handle;
use crate::error::IoError;
use crate::table::Table;

/// The first port that is given to a listener that asks for any.
const FREE_PORTS: u16 = 40_000;

#[derive(Debug)]
pub(super) struct Streams {
    pub(super) weather: StreamWeather,
    random: Random,
    wires: Table<Wire>,
    listeners: BTreeMap<SocketAddr, Backlog>,
    next_port: u16,
}

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The process of the machine.
    Near,
    /// A client elsewhere.
    Far,
}

/// A connection, as long as either end is open.
#[derive(Debug)]
struct Wire {
    far_address: SocketAddr,
    to_near: Pipe,
    to_far: Pipe,
    near_open: bool,
    far_open: bool,
    /// When either end hears that the connection is broken.
    reset: Option<u64>,
}

/// Connections that nobody has accepted yet, by when they have arrived.
#[derive(Debug)]
struct Backlog {
    waiting: VecDeque<(u64, Handle)>,
    places: usize,
}

/// What a receive came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// Nothing is there yet.
    Nothing,
    /// So many bytes.
    Bytes(usize),
    /// The peer finished, and everything was read.
    End,
}

impl Wire {
    fn incoming(&mut self, end: End) -> &mut Pipe {
        match end {
            End::Near => &mut self.to_near,
            End::Far => &mut self.to_far,
        }
    }

    fn outgoing(&mut self, end: End) -> &mut Pipe {
        match end {
            End::Near => &mut self.to_far,
            End::Far => &mut self.to_near,
        }
    }

    fn is_reset(&self, now: u64) -> bool {
        self.reset.is_some_and(|reset| reset <= now)
    }
}

impl Streams {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            weather: StreamWeather::default(),
            random: Random::new(seed),
            wires: Table::new(u32::MAX as usize),
            listeners: BTreeMap::new(),
            next_port: FREE_PORTS,
        }
    }

    pub(super) fn bind(&mut self, mut address: SocketAddr, backlog: u32) -> Result<SocketAddr, IoError> {
        if address.port() == 0 {
            address.set_port(self.next_port);
            self.next_port += 1;
        }
        if self.listeners.contains_key(&address) {
            return Err(IoError::new("bind", libc::EADDRINUSE));
        }
        let places = usize::try_from(backlog).unwrap_or(usize::MAX);
        self.listeners.insert(address, Backlog { waiting: VecDeque::new(), places });
        Ok(address)
    }

    /// Nobody listens any more: who waits to be accepted is turned away.
    pub(super) fn unbind(&mut self, address: SocketAddr, now: u64) {
        let backlog = self.listeners.remove(&address).map(|backlog| backlog.waiting).unwrap_or_default();
        for (_, wire) in backlog {
            self.break_off(wire, End::Near, now);
        }
    }

    pub(super) fn connect(&mut self, from: SocketAddr, to: SocketAddr, now: u64) -> Result<Handle, IoError> {
        let refused = Err(IoError::new("connect", libc::ECONNREFUSED));
        let Some(backlog) = self.listeners.get_mut(&to) else { return refused };
        if backlog.waiting.len() >= backlog.places {
            return refused;
        }
        let wire = self.wires.insert(Wire {
            far_address: from,
            to_near: Pipe::default(),
            to_far: Pipe::default(),
            near_open: true,
            far_open: true,
            reset: None,
        })?;
        let spread = self.weather.delay_max.saturating_sub(self.weather.delay_min);
        let arrives = now + self.weather.delay_min + self.random.below(spread + 1);
        let arrives = backlog.waiting.back().map_or(arrives, |(last, _)| arrives.max(*last));
        backlog.waiting.push_back((arrives, wire));
        Ok(wire)
    }

    /// The connection that has waited longest, and its peer's address.
    pub(super) fn accept(&mut self, address: SocketAddr, now: u64) -> Option<(Handle, SocketAddr)> {
        let backlog = self.listeners.get_mut(&address)?;
        backlog.waiting.front().filter(|(arrives, _)| *arrives <= now)?;
        let (_, wire) = backlog.waiting.pop_front()?;
        let far = self.wires.get(wire).map(|wire| wire.far_address)?;
        Some((wire, far))
    }

    pub(super) fn next_arrival(&self, address: SocketAddr) -> Option<u64> {
        self.listeners.get(&address)?.waiting.front().map(|(arrives, _)| *arrives)
    }

    /// Sends as much as there is room for.
    pub(super) fn send(&mut self, wire: Handle, end: End, bytes: &[u8], now: u64) -> Result<usize, IoError> {
        let Some(wire) = self.wires.get_mut(wire) else { return Err(IoError::stale("send")) };
        if wire.is_reset(now) {
            return Err(IoError::new("send", libc::ECONNRESET));
        }
        let pipe = wire.outgoing(end);
        if pipe.is_finished() {
            return Err(IoError::new("send", libc::EPIPE));
        }
        Ok(pipe.send(now, bytes, &self.weather, &mut self.random))
    }

    pub(super) fn receive(
        &mut self,
        wire: Handle,
        end: End,
        now: u64,
        most: usize,
        take: impl FnMut(&[u8]),
    ) -> Result<Arrived, IoError> {
        let Some(wire) = self.wires.get_mut(wire) else { return Err(IoError::stale("receive")) };
        if wire.is_reset(now) {
            return Err(IoError::new("receive", libc::ECONNRESET));
        }
        let pipe = wire.incoming(end);
        Ok(match pipe.receive(now, most, take) {
            0 if pipe.is_at_end(now) => Arrived::End,
            0 => Arrived::Nothing,
            count => Arrived::Bytes(count),
        })
    }

    /// When a receive of so many bytes has its outcome.
    pub(super) fn next_receive(&self, wire: Handle, end: End, bytes: usize) -> Option<u64> {
        let wire = self.wires.get(wire)?;
        let pipe = if end == End::Near { &wire.to_near } else { &wire.to_far };
        [pipe.arrives(bytes), wire.reset].into_iter().flatten().min()
    }

    /// When a send goes on: at once, or when the connection breaks.
    pub(super) fn next_send(&self, wire: Handle, end: End) -> Option<u64> {
        let wire = self.wires.get(wire)?;
        let pipe = if end == End::Near { &wire.to_far } else { &wire.to_near };
        if pipe.has_room(&self.weather) { Some(0) } else { wire.reset }
    }

    /// Bytes of the process that have arrived at its peer.
    pub(super) fn acknowledged(&self, wire: Handle, now: u64) -> Option<u64> {
        self.wires.get(wire).map(|wire| wire.to_far.arrived(now))
    }

    pub(super) fn finish_sending(&mut self, wire: Handle, end: End, now: u64) {
        let (weather, random) = (&self.weather, &mut self.random);
        if let Some(wire) = self.wires.get_mut(wire) {
            wire.outgoing(end).finish(now, weather, random);
        }
    }

    /// Closes an end. The peer gets what was sent, then the end; one whose words were not read is cut off instead.
    pub(super) fn close(&mut self, wire: Handle, end: End, now: u64) {
        let Some(open) = self.wires.get_mut(wire) else { return };
        if open.incoming(end).has_unread() {
            return self.break_off(wire, end, now);
        }
        self.finish_sending(wire, end, now);
        self.leave(wire, end);
    }

    /// Closes an end, and the other one meets an error.
    pub(super) fn break_off(&mut self, wire: Handle, end: End, now: u64) {
        let Some(open) = self.wires.get_mut(wire) else { return };
        let spread = self.weather.delay_max.saturating_sub(self.weather.delay_min);
        let reset = now + self.weather.delay_min + self.random.below(spread + 1);
        open.reset = Some(open.reset.map_or(reset, |before| before.min(reset)));
        self.leave(wire, end);
    }

    fn leave(&mut self, handle: Handle, end: End) {
        let Some(wire) = self.wires.get_mut(handle) else { return };
        match end {
            End::Near => wire.near_open = false,
            End::Far => wire.far_open = false,
        }
        if !wire.near_open && !wire.far_open {
            self.wires.remove(handle);
        }
    }

    /// The process is gone: nobody listens, and whoever is connected hears of it.
    pub(super) fn process_ends(&mut self, now: u64) {
        self.listeners.clear();
        let open: Vec<Handle> = self.wires.handles().collect();
        for wire in open {
            if self.wires.get(wire).is_some_and(|wire| wire.near_open) {
                self.break_off(wire, End::Near, now);
            }
        }
    }
}
