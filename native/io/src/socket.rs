//! Stream sockets and listeners before a driver adopts them.

use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::sockopt::{
    set_socket_keepalive, set_socket_reuseaddr, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl,
    set_tcp_nodelay, set_tcp_quickack,
};
use rustix::net::{
    AddressFamily, Shutdown, SocketAddrAny, SocketFlags, SocketType, bind, getsockname, listen, shutdown,
    socket_with,
};

use crate::error::IoError;
use crate::simulated::{SimulatedListener, SimulatedSocket};

/// A connected stream socket that belongs to no driver yet, for instance one on its way to its shard.
/// Dropping it closes it.
#[derive(Debug)]
pub struct Socket(SocketKind);

#[derive(Debug)]
enum SocketKind {
    Kernel(KernelSocket),
    /// Boxed, for sockets travel in mailboxes.
    Simulated(Box<SimulatedSocket>),
}

impl Socket {
    pub(crate) const fn new(descriptor: OwnedFd) -> Self {
        Self(SocketKind::Kernel(KernelSocket { descriptor }))
    }

    pub(crate) fn of_simulation(socket: SimulatedSocket) -> Self {
        Self(SocketKind::Simulated(Box::new(socket)))
    }

    /// For a driver of the kernel, which cannot take one of a simulation.
    pub(crate) fn into_kernel(self) -> Result<KernelSocket, IoError> {
        match self.0 {
            SocketKind::Kernel(socket) => Ok(socket),
            SocketKind::Simulated(_) => Err(IoError::stale("adopt a socket")),
        }
    }

    /// For a driver of a simulation, which cannot take one of the kernel.
    pub(crate) fn into_simulated(self) -> Result<SimulatedSocket, IoError> {
        match self.0 {
            SocketKind::Kernel(_) => Err(IoError::stale("adopt a socket")),
            SocketKind::Simulated(socket) => Ok(*socket),
        }
    }

    /// The address this end is bound to.
    pub fn local_address(&self) -> Result<SocketAddr, IoError> {
        match &self.0 {
            SocketKind::Kernel(socket) => socket.local_address(),
            SocketKind::Simulated(socket) => Ok(socket.local_address()),
        }
    }
}

/// A connected stream socket of the kernel.
#[derive(Debug)]
pub(crate) struct KernelSocket {
    descriptor: OwnedFd,
}

impl KernelSocket {
    /// Sets the blocking mode the backend wants, and no Nagle delay where the protocol knows one.
    pub(crate) fn prepare(&self, nonblocking: bool) -> Result<(), IoError> {
        ioctl_fionbio(self, nonblocking)
            .map_err(|errno| IoError::from_errno("set the blocking mode", errno))?;
        match set_tcp_nodelay(self, true) {
            Ok(()) | Err(Errno::OPNOTSUPP) => Ok(()),
            Err(errno) => Err(IoError::from_errno("set no delay", errno)),
        }
    }

    /// Ends both directions. A peer that is gone already is no error.
    pub(crate) fn shut_down(&self) {
        let _ = shutdown(self, Shutdown::Both);
    }

    /// Ends the sending direction. A peer that is gone already is no error.
    pub(crate) fn finish_sending(&self) {
        let _ = shutdown(self, Shutdown::Write);
    }

    /// Ends the delay of a TCP acknowledgement. Other protocols and broken connections have none to send.
    pub(crate) fn acknowledge_now(&self) {
        let _ = set_tcp_quickack(self, true);
    }

    pub(crate) fn local_address(&self) -> Result<SocketAddr, IoError> {
        local_address(self.as_fd())
    }

    /// Bytes that the peer has acknowledged since it connected; `None` where the protocol does not count them.
    pub(crate) fn acknowledged(&self) -> Option<u64> {
        let mut info = [0_u8; TCP_INFO_BYTES];
        let mut length = libc::socklen_t::try_from(info.len()).ok()?;
        // SAFETY: the kernel writes at most `length` bytes into `info`, which both outlive the call, and says how many.
        let outcome = unsafe {
            libc::getsockopt(
                self.descriptor.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                info.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        let written = info.get(..usize::try_from(length).ok()?).filter(|_| outcome == 0)?;
        written.get(BYTES_ACKED_AT..)?.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))
    }
}

/// `tcpi_bytes_acked` of the kernel's `struct tcp_info`: behind 8 bytes, 24 words and two pacing rates. The fields of that
/// struct keep their places; newer kernels add fields behind it.
const BYTES_ACKED_AT: usize = 8 + 24 * 4 + 2 * 8;
const TCP_INFO_BYTES: usize = BYTES_ACKED_AT + 8;

impl AsFd for KernelSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl From<TcpStream> for Socket {
    fn from(stream: TcpStream) -> Self {
        Self::new(stream.into())
    }
}

impl From<UnixStream> for Socket {
    fn from(stream: UnixStream) -> Self {
        Self::new(stream.into())
    }
}

/// A listening stream socket that belongs to no driver yet. Dropping it closes it.
#[derive(Debug)]
pub struct Listener(ListenerKind);

#[derive(Debug)]
enum ListenerKind {
    Kernel(KernelListener),
    Simulated(SimulatedListener),
}

/// A listening stream socket of the kernel.
#[derive(Debug)]
pub(crate) struct KernelListener {
    descriptor: OwnedFd,
}

/// Lets the kernel find peers that vanished without a word, after a minute and four unanswered probes. Nobody is cut for
/// being quiet: a peer that lives answers the probes. Accepted sockets inherit it, so it costs no call per connection.
fn watch_for_dead_peers(listener: &OwnedFd) -> Result<(), Errno> {
    set_socket_keepalive(listener, true)?;
    set_tcp_keepidle(listener, Duration::from_secs(60))?;
    set_tcp_keepintvl(listener, Duration::from_secs(15))?;
    set_tcp_keepcnt(listener, 4)
}

impl Listener {
    pub(crate) fn bind(address: SocketAddr, backlog: u32) -> Result<Self, IoError> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let descriptor = socket_with(family, SocketType::STREAM, flags, None)
            .map_err(|errno| IoError::from_errno("make a socket", errno))?;
        // A restart must not wait for the connections of the previous process to leave TIME_WAIT.
        set_socket_reuseaddr(&descriptor, true)
            .map_err(|errno| IoError::from_errno("reuse an address", errno))?;
        watch_for_dead_peers(&descriptor)
            .map_err(|errno| IoError::from_errno("keep connections alive", errno))?;
        bind(&descriptor, &address).map_err(|errno| IoError::from_errno("bind", errno))?;
        let backlog = i32::try_from(backlog).unwrap_or(i32::MAX);
        listen(&descriptor, backlog).map_err(|errno| IoError::from_errno("listen", errno))?;
        Ok(Self(ListenerKind::Kernel(KernelListener { descriptor })))
    }

    pub(crate) const fn of_simulation(listener: SimulatedListener) -> Self {
        Self(ListenerKind::Simulated(listener))
    }

    pub(crate) fn into_kernel(self) -> Result<KernelListener, IoError> {
        match self.0 {
            ListenerKind::Kernel(listener) => Ok(listener),
            ListenerKind::Simulated(_) => Err(IoError::stale("adopt a listener")),
        }
    }

    pub(crate) fn into_simulated(self) -> Result<SimulatedListener, IoError> {
        match self.0 {
            ListenerKind::Kernel(_) => Err(IoError::stale("adopt a listener")),
            ListenerKind::Simulated(listener) => Ok(listener),
        }
    }

    /// The address it listens on, with the real port if port 0 was asked for.
    pub fn local_address(&self) -> Result<SocketAddr, IoError> {
        match &self.0 {
            ListenerKind::Kernel(listener) => listener.local_address(),
            ListenerKind::Simulated(listener) => Ok(listener.local_address()),
        }
    }
}

impl KernelListener {
    pub(crate) fn local_address(&self) -> Result<SocketAddr, IoError> {
        local_address(self.as_fd())
    }

    /// Sets the blocking mode the backend wants.
    pub(crate) fn prepare(&self, nonblocking: bool) -> Result<(), IoError> {
        ioctl_fionbio(self, nonblocking).map_err(|errno| IoError::from_errno("set the blocking mode", errno))
    }

    /// Makes a waiting accept give up, and refuses who knocks from now on.
    pub(crate) fn shut_down(&self) {
        let _ = shutdown(self, Shutdown::Both);
    }
}

impl AsFd for KernelListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Translates a kernel address; anything but IPv4 and IPv6 is an error.
pub(crate) fn internet_address(address: SocketAddrAny) -> Result<SocketAddr, Errno> {
    SocketAddr::try_from(address)
}

fn local_address(descriptor: BorrowedFd<'_>) -> Result<SocketAddr, IoError> {
    getsockname(descriptor)
        .and_then(internet_address)
        .map_err(|errno| IoError::from_errno("get the local address", errno))
}
