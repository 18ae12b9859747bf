//! Signs of life for systemd. They are sent without Python, so that a stalled control plane does not look
//! like a dead process.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use ng_control::settings::Watchdog;
use ng_io::Instant;

/// Minimum time between signs, for any interval that systemd has.
const PERIOD_MIN: Duration = Duration::from_millis(10);

/// The notification socket and its last use.
#[derive(Debug)]
pub struct LifeSign {
    socket: UnixDatagram,
    address: SocketAddr,
    /// A third of the interval of systemd, so that one late sign does no harm.
    period: Duration,
    last: Option<Instant>,
}

impl LifeSign {
    /// Opens the socket of a watchdog. A name that begins with `@` is in the abstract namespace.
    pub fn new(watchdog: &Watchdog) -> std::io::Result<Self> {
        let address = match watchdog.socket.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(&watchdog.socket)?,
        };
        let socket = UnixDatagram::unbound()?;
        // A service manager that does not read must not block the thread that watches all others.
        socket.set_nonblocking(true)?;
        Ok(Self { socket, address, period: watchdog.interval / 3, last: None })
    }

    /// Sends a sign of life if one is due. A lost one does no harm, because the next follows in time.
    pub fn send(&mut self, now: Instant) {
        if self.last.is_none_or(|last| now - last >= self.period) {
            self.last = Some(now);
            self.socket.send_to_addr(b"WATCHDOG=1", &self.address).ok();
        }
    }

    /// Interval between signs.
    pub fn period(&self) -> Duration {
        self.period.max(PERIOD_MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_that_does_not_read_does_not_block() {
        let name = format!("server-ng-deaf-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a short name");
        let deaf = UnixDatagram::bind_addr(&address).expect("a free name");
        let watchdog = Watchdog { socket: format!("@{name}"), interval: Duration::from_secs(3) };
        let mut sign = LifeSign::new(&watchdog).expect("a socket");
        // Many more than the queue of a socket holds.
        for second in 0..10_000 {
            sign.send(Instant::from_nanos(0) + Duration::from_secs(second));
        }
        drop(deaf);
    }

    #[test]
    fn signs_are_sent_when_due_and_not_before() {
        let name = format!("server-ng-life-sign-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a short name");
        let receiver = UnixDatagram::bind_addr(&address).expect("a free name");
        receiver.set_nonblocking(true).expect("a socket");
        let watchdog = Watchdog { socket: format!("@{name}"), interval: Duration::from_secs(30) };
        let mut sign = LifeSign::new(&watchdog).expect("a socket");
        let mut received = |second: u64| {
            sign.send(Instant::from_nanos(0) + Duration::from_secs(second));
            let mut bytes = [0; 32];
            receiver.recv(&mut bytes).map(|length| bytes[..length].to_vec()).ok()
        };
        assert_eq!(received(0).as_deref(), Some(&b"WATCHDOG=1"[..]));
        assert_eq!(received(9), None);
        assert_eq!(received(10).as_deref(), Some(&b"WATCHDOG=1"[..]));
    }
}
