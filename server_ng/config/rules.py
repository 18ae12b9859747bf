"""Rules that involve several settings, and warnings about a valid configuration."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from server_ng.config.duration import format_duration
from server_ng.config.model import Settings
from server_ng.config.size import format_size

__all__ = ["Breach", "Notice", "breaches", "notices"]


_BUDGET_MIN = 16 << 20


@dataclass(frozen=True, slots=True)
class Breach:
    """A broken rule: `keys[0]` is the setting to change."""

    keys: tuple[str, ...]
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning about a valid configuration."""

    code: str
    """A stable name for the kind of warning."""
    message: str
    keys: tuple[str, ...] = ()


def breaches(settings: Settings) -> Iterator[Breach]:
    """Every rule the settings break."""
    for rule in _RULES:
        breach = rule(settings)
        if breach is not None:
            yield breach


def notices(settings: Settings) -> Iterator[Notice]:
    """Warnings about enabled interfaces that are not built yet, or open to other machines."""
    for name in ("http", "quic", "websocket"):
        if getattr(settings, name).enabled:
            key = f"{name}.enabled"
            yield Notice(
                "not_built", f"{key}: this interface is not built yet. The server runs without it.", (key,)
            )
    if settings.tcp.enabled and not settings.tcp.address.is_loopback:
        yield Notice(
            "plain_text_listener",
            f"tcp.address = {settings.tcp.address} accepts other machines, and passwords and messages travel "
            "unencrypted. Use it in a private network, or behind a proxy that ends TLS.",
            ("tcp.address",),
        )


def _one_node(settings: Settings) -> Breach | None:
    if not settings.cluster.enabled:
        return None
    return Breach(
        ("cluster.enabled",), "clustering is not built yet; this node can only run alone.", "Set it to false."
    )


def _someone_can_connect(settings: Settings) -> Breach | None:
    if settings.tcp.enabled:
        return None
    return Breach(
        ("tcp.enabled",), "no client could connect, because TCP is the only transport.", "Set it to true."
    )


def _join_covers_drain(settings: Settings) -> Breach | None:
    sharding = settings.system.sharding
    if sharding.shutdown_join_timeout >= sharding.shutdown_drain_timeout:
        return None
    drain = "system.sharding.shutdown_drain_timeout"
    message = (
        f"a stop would end before its drain, {drain} = {format_duration(sharding.shutdown_drain_timeout)}."
    )
    return Breach(("system.sharding.shutdown_join_timeout", drain), message, "Make it at least as long.")


def _dump_before_giving_up(settings: Settings) -> Breach | None:
    control = settings.control_plane
    if control.stall_dump <= control.stall_max:
        return None
    message = f"it is longer than control_plane.stall_max = {format_duration(control.stall_max)}."
    return Breach(("control_plane.stall_dump", "control_plane.stall_max"), message)


def _budget_is_automatic_or_enough(settings: Settings) -> Breach | None:
    budget = settings.memory.budget
    if budget == 0 or budget >= _BUDGET_MIN:
        return None
    message = f"{format_size(budget)} is too little to serve clients."
    return Breach(("memory.budget",), message, f"Set it to 0, or to {format_size(_BUDGET_MIN)} at least.")


def _strangers_are_connections(settings: Settings) -> Breach | None:
    connections = settings.connections
    if connections.unauthenticated_max <= connections.max:
        return None
    message = f"it is above connections.max = {connections.max}."
    return Breach(("connections.unauthenticated_max", "connections.max"), message)


def _observed_from_here_only(settings: Settings) -> Breach | None:
    observe = settings.observe
    if not observe.enabled or observe.address.is_loopback:
        return None
    message = f"{observe.address} can be reached from other machines, and metrics cannot be protected yet."
    return Breach(("observe.address",), message, "Use a loopback address such as 127.0.0.1:9464.")


def _one_listener_per_address(settings: Settings) -> Breach | None:
    tcp, observe = settings.tcp, settings.observe
    if (
        not (tcp.enabled and observe.enabled)
        or tcp.address.port != observe.address.port
        or tcp.address.port == 0
    ):
        return None
    same = tcp.address.ip == observe.address.ip
    covers = tcp.address.ip.is_unspecified and tcp.address.ip.version == observe.address.ip.version
    if not same and not covers:
        return None
    return Breach(("observe.address", "tcp.address"), f"tcp.address = {tcp.address} takes the same port.")


_RULES: tuple[Callable[[Settings], Breach | None], ...] = (
    _one_node,
    _someone_can_connect,
    _join_covers_drain,
    _dump_before_giving_up,
    _budget_is_automatic_or_enough,
    _strangers_are_connections,
    _observed_from_here_only,
    _one_listener_per_address,
)
