"""Addresses to listen on: ``127.0.0.1:8090``, ``[::1]:0``."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from typing_extensions import override

from server_ng.config.errors import BadValueError, shown

__all__ = ["Address", "parse_address"]

_EXAMPLE = 'Write an IP address and a port, for example "127.0.0.1:8090" or "[::1]:8090".'


@dataclass(frozen=True, slots=True)
class Address:
    """An IP address and a port; port 0 lets the kernel choose."""

    ip: IPv4Address | IPv6Address
    port: int

    @property
    def host(self) -> str:
        """The IP address as text, without brackets."""
        return str(self.ip)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        return self.ip.is_loopback

    @override
    def __str__(self) -> str:
        return f"[{self.ip}]:{self.port}" if self.ip.version == 6 else f"{self.ip}:{self.port}"


def parse_address(raw: object) -> Address:
    """The address in `raw`; ``localhost`` is read as 127.0.0.1 and no other name is looked up."""
    if isinstance(raw, Address):
        return raw
    if not isinstance(raw, str):
        raise BadValueError("this is not an address.", _EXAMPLE)
    host, colon, port = raw.strip().rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not (port.isascii() and port.isdigit() and len(port) <= 5) or int(port) > 65_535:
        raise BadValueError(f"{shown(raw)} has no port between 0 and 65535.", _EXAMPLE)
    try:
        ip = ip_address("127.0.0.1" if host == "localhost" else host.strip("[]") if bracketed else host)
    except ValueError:
        raise BadValueError(f"{shown(raw)} has no IP address before its port.", _EXAMPLE) from None
    if bracketed != (ip.version == 6) or (isinstance(ip, IPv6Address) and ip.scope_id is not None):
        raise BadValueError(f"{shown(raw)} is not written as an address.", _EXAMPLE)
    return Address(ip, int(port))
