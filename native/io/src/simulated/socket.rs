//! The ends of simulated connections: the process has sockets and listeners, clients elsewhere have peers.

use std::net::SocketAddr;

use super::SimulatedEnvironment;
use super::random::mix;
use super::streams::{Arrived, End};
use crate::driver::Handle;
use crate::error::IoError;

/// The process's end of a connection, or of nothing once that process is gone.
#[derive(Debug)]
pub struct SimulatedSocket {
    pub(super) environment: SimulatedEnvironment,
    pub(super) wire: Handle,
    local_address: SocketAddr,
}

impl SimulatedSocket {
    pub(super) const fn new(
        environment: SimulatedEnvironment,
        wire: Handle,
        local_address: SocketAddr,
    ) -> Self {
        Self { environment, wire, local_address }
    }

    pub(crate) const fn local_address(&self) -> SocketAddr {
        self.local_address
    }

    pub(super) fn acknowledged(&self) -> Option<u64> {
        let machine = self.environment.lock();
        machine.streams.acknowledged(self.wire, machine.clock.now())
    }

    pub(super) fn finish_sending(&self) {
        let machine = &mut *self.environment.lock();
        let now = machine.clock.now();
        machine.streams.finish_sending(self.wire, End::Near, now);
    }
}

impl Drop for SimulatedSocket {
    /// To be dropped while nobody has the machine locked. What a dead process had open is closed already.
    fn drop(&mut self) {
        if let Ok(mut machine) = self.environment.machine.lock() {
            let now = machine.clock.now();
            machine.streams.close(self.wire, End::Near, now);
        }
    }
}

/// Where a process waits for connections.
#[derive(Debug)]
pub struct SimulatedListener {
    environment: SimulatedEnvironment,
    process: u64,
    local_address: SocketAddr,
}

impl SimulatedListener {
    pub(super) const fn new(
        environment: SimulatedEnvironment,
        process: u64,
        local_address: SocketAddr,
    ) -> Self {
        Self { environment, process, local_address }
    }

    pub(crate) const fn local_address(&self) -> SocketAddr {
        self.local_address
    }

    pub(super) fn next_arrival(&self) -> Option<u64> {
        self.environment.lock().streams.next_arrival(self.local_address)
    }

    /// The connection that has waited longest, and where it comes from.
    pub(super) fn accept(&self) -> Option<(SimulatedSocket, SocketAddr)> {
        let machine = &mut *self.environment.lock();
        let now = machine.clock.now();
        let (wire, peer) = machine.streams.accept(self.local_address, now)?;
        machine.trace = mix(machine.trace ^ now);
        Some((SimulatedSocket::new(self.environment.clone(), wire, self.local_address), peer))
    }
}

impl Drop for SimulatedListener {
    fn drop(&mut self) {
        if let Ok(mut machine) = self.environment.machine.lock()
            && machine.process == self.process
        {
            let now = machine.clock.now();
            machine.streams.unbind(self.local_address, now);
        }
    }
}

/// A client's end of a connection. Dropping it closes it in order.
#[derive(Debug)]
pub struct SimulatedPeer {
    environment: SimulatedEnvironment,
    wire: Handle,
}

impl SimulatedEnvironment {
    /// Connects a client elsewhere to a listener of this machine.
    pub fn connect(&self, from: SocketAddr, to: SocketAddr) -> Result<SimulatedPeer, IoError> {
        let machine = &mut *self.lock();
        let now = machine.clock.world_now();
        let wire = machine.streams.connect(from, to, now)?;
        Ok(SimulatedPeer { environment: self.clone(), wire })
    }
}

impl SimulatedPeer {
    /// Sends as many bytes as there is room for, and says how many these are.
    pub fn send(&self, bytes: &[u8]) -> Result<usize, IoError> {
        let machine = &mut *self.environment.lock();
        let now = machine.clock.world_now();
        machine.streams.send(self.wire, End::Far, bytes, now)
    }

    /// Appends what has arrived, `most` bytes of it at most.
    pub fn receive(&self, into: &mut Vec<u8>, most: usize) -> Result<Arrived, IoError> {
        let machine = &mut *self.environment.lock();
        let now = machine.clock.world_now();
        machine.streams.receive(self.wire, End::Far, now, most, |bytes| into.extend_from_slice(bytes))
    }

    /// When there is something to receive, be it the end.
    #[must_use]
    pub fn next_arrival(&self) -> Option<u64> {
        self.environment.lock().streams.next_receive(self.wire, End::Far, 1)
    }

    /// Sends nothing more, and goes on receiving.
    pub fn finish_sending(&self) {
        let machine = &mut *self.environment.lock();
        let now = machine.clock.world_now();
        machine.streams.finish_sending(self.wire, End::Far, now);
    }

    /// Breaks the connection off: the process meets an error.
    pub fn reset(self) {
        let machine = &mut *self.environment.lock();
        let now = machine.clock.world_now();
        machine.streams.break_off(self.wire, End::Far, now);
    }
}

impl Drop for SimulatedPeer {
    fn drop(&mut self) {
        if let Ok(mut machine) = self.environment.machine.lock() {
            let now = machine.clock.world_now();
            machine.streams.close(self.wire, End::Far, now);
        }
    }
}
