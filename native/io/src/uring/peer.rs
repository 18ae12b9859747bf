//! Where the kernel writes the address of who was accepted.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use crate::buffer::Buffer;

/// The length word the kernel reads and rewrites, then room for the largest internet address
/// (`sockaddr_in6`).
const LENGTH_BYTES: usize = 4;
const ADDRESS_BYTES: u32 = 28;

/// A place for one address. It moves without moving its bytes, so the kernel may hold them during an accept.
#[derive(Debug)]
pub(super) struct PeerAddress {
    bytes: Buffer,
}

impl PeerAddress {
    pub(super) fn new() -> Self {
        let mut bytes = Buffer::from(vec![0; LENGTH_BYTES + ADDRESS_BYTES as usize]);
        bytes[..LENGTH_BYTES].copy_from_slice(&ADDRESS_BYTES.to_ne_bytes());
        Self { bytes }
    }

    /// Pointers to the length word and to the address.
    pub(super) fn pointers(&mut self) -> (*mut libc::socklen_t, *mut libc::sockaddr) {
        let (length, address) = self.bytes.split_at_mut(LENGTH_BYTES);
        (length.as_mut_ptr().cast(), address.as_mut_ptr().cast())
    }

    /// What the kernel wrote; `None` if it is neither IPv4 nor IPv6.
    pub(super) fn decode(&self) -> Option<SocketAddr> {
        let address = &self.bytes[LENGTH_BYTES..];
        let family = u16::from_ne_bytes(field(address, 0)?);
        let port = u16::from_be_bytes(field(address, 2)?);
        match i32::from(family) {
            libc::AF_INET => {
                let ip = Ipv4Addr::from(field::<4>(address, 4)?);
                Some(SocketAddrV4::new(ip, port).into())
            }
            libc::AF_INET6 => {
                let flow = u32::from_ne_bytes(field(address, 4)?);
                let ip = Ipv6Addr::from(field::<16>(address, 8)?);
                let scope = u32::from_ne_bytes(field(address, 24)?);
                Some(SocketAddrV6::new(ip, port, flow, scope).into())
            }
            _ => None,
        }
    }
}

fn field<const N: usize>(address: &[u8], at: usize) -> Option<[u8; N]> {
    address.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(family: i32, rest: &[u8]) -> PeerAddress {
        let mut peer = PeerAddress::new();
        let family = u16::try_from(family).expect("families are small");
        peer.bytes[4..6].copy_from_slice(&family.to_ne_bytes());
        peer.bytes[6..6 + rest.len()].copy_from_slice(rest);
        peer
    }

    #[test]
    fn both_internet_families_are_read() {
        let four = written(libc::AF_INET, &[0x1f, 0x9b, 192, 0, 2, 7]);
        assert_eq!(four.decode(), Some("192.0.2.7:8091".parse().expect("an address")));
        let mut rest = vec![0x1f, 0x9b, 0, 0, 0, 0];
        rest.extend_from_slice(&"2001:db8::1".parse::<Ipv6Addr>().expect("an address").octets());
        let six = written(libc::AF_INET6, &rest);
        assert_eq!(six.decode(), Some("[2001:db8::1]:8091".parse().expect("an address")));
    }

    #[test]
    fn any_other_family_is_nobody() {
        assert_eq!(written(libc::AF_UNIX, &[]).decode(), None);
    }
}
