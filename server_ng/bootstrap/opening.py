"""Everything that is opened before a thread starts: a start that fails here has touched nothing."""

import errno
import os
import socket
from dataclasses import dataclass
from pathlib import Path

import structlog

from server_ng import binding
from server_ng.audit.file import AuditFile
from server_ng.bootstrap.auditing import open_audit
from server_ng.bootstrap.bind_advice import bind_advice
from server_ng.bootstrap.cpus import is_kept, node_cpus, plan_shards
from server_ng.bootstrap.data_directory import DataDirectory
from server_ng.bootstrap.descriptors import connections_within
from server_ng.bootstrap.engine_settings import engine_settings
from server_ng.bootstrap.errors import StartError
from server_ng.bootstrap.founding_room import check_founding_room
from server_ng.bootstrap.leasing import access_of
from server_ng.bootstrap.memory import memory_limit, send_buffer_max
from server_ng.bootstrap.memory_budget import plan_memory
from server_ng.bootstrap.runtime_files import RuntimeFiles
from server_ng.config import DEFAULT_ORIGIN, Address, Loaded, Settings
from server_ng.config.cpu_allocation import AutoCpus
from server_ng.config.model import NO_GROUP
from server_ng.engine import Engine
from server_ng.engine.errors import UnprintableSettingError
from server_ng.engine.settings import EngineSettings
from server_ng.leases.control_socket import BoundSocket, bind
from server_ng.observe.health import listen
from server_ng.wire.tables import ExitStatus

__all__ = ["Opened", "open_everything"]

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Opened:
    """What a start has in hand before it starts threads."""

    engine: Engine
    shards: int
    observe: socket.socket | None
    """The bound socket of the loopback listener, if there is one."""
    control: BoundSocket | None
    """The bound control socket, if there is one."""
    audit: AuditFile | None
    """The audit file, if there is one."""
    files: RuntimeFiles
    """The files of the runtime directory, of which some may still wait for room."""

    def close(self) -> None:
        """Gives everything back, before a thread was started."""
        self.engine.close()
        if self.observe is not None:
            self.observe.close()
        if self.control is not None:
            self.control.close()


def open_everything(loaded: Loaded, directory: DataDirectory) -> Opened:
    """Probes the machine and binds every listener; raises `StartError`."""
    settings = loaded.settings
    probe = _probe(directory.path)
    cpus = _plan(settings, probe, directory)
    check_founding_room(directory.path, len(cpus), settings.message_bus.max_message_size)
    connections = connections_within(
        probe["descriptors"], settings.connections.max, len(cpus), settings.storage.journal.files_max
    )
    memory = plan_memory(settings, memory_limit(), len(cpus), send_buffer_max())
    memory.tell(loaded)
    observe = _listen(loaded)
    control = _bind_control(settings, directory)
    audit = open_audit(settings.audit_path)
    direct_io = probe["direct_io"] == "possible"
    engine = _open_engine(
        engine_settings(
            settings, cpus, connections, directory, memory, direct_io=direct_io, environment=os.environ
        )
    )
    _log.info("opened", tcp=engine.tcp_address, backend=engine.backend, shard_cpus=list(cpus))
    if engine.ring_refusal:
        _log.warning("io_uring_unavailable", reason=engine.ring_refusal, backend=engine.backend)
    return Opened(engine, len(cpus), observe, control, audit, RuntimeFiles())


def _probe(path: Path) -> dict[str, str]:
    found = binding.probe(path)
    _log.info("probe", **found)
    if found["direct_io"] not in ("possible", "refused"):
        raise StartError(
            f"The data directory {path} cannot be written and read back: {found['direct_io']}. "
            "Check its disk, and that this user may write there."
        )
    return found


def _plan(settings: Settings, probe: dict[str, str], directory: DataDirectory) -> tuple[int | None, ...]:
    sharding = settings.system.sharding
    usable = [int(cpu) for cpu in probe["usable_cpus"].split(",") if cpu.isdigit()]
    cpus = plan_shards(sharding.cpu_allocation, usable, sharding.pin_cores, node_cpus)
    recorded = directory.recorded_shards()
    if not isinstance(sharding.cpu_allocation, AutoCpus) or not is_kept(recorded, len(cpus)):
        return cpus
    _log.warning("shards_as_recorded", shards=recorded, auto=len(cpus))
    return (None,) * recorded


def _listen(loaded: Loaded) -> socket.socket | None:
    observe = loaded.settings.observe
    if not observe.enabled:
        return None
    address = observe.address
    try:
        return listen(address.host, address.port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE and loaded.origins["observe.address"] == DEFAULT_ORIGIN:
            return _listen_elsewhere(address)
        number = error.errno or 0
        raise StartError(
            f"{address} (observe.address) cannot be bound: {os.strerror(number)}. "
            f"{bind_advice(errno.errorcode.get(number, ''), 'observe.address')}".rstrip()
        ) from error


def _listen_elsewhere(taken: Address) -> socket.socket:
    """A free port in the place of the default one, so that two servers need not differ in it."""
    listener = listen(taken.host, 0)
    bound = Address(taken.ip, listener.getsockname()[1])
    _log.warning("observe_address_taken", default=str(taken), observe=str(bound))
    return listener


def _bind_control(settings: Settings, directory: DataDirectory) -> BoundSocket | None:
    if not settings.leases.enabled:
        return None
    group = None if settings.leases.group == NO_GROUP else settings.leases.group
    try:
        access = access_of(settings.leases.group)
        for passed in (directory.path, directory.runtime_path):
            access.pass_through(passed)
        return bind(directory.runtime_path.absolute(), group)
    except KeyError as error:
        raise StartError(
            f"There is no system group {group!r} (leases.group). Make it, or set it to none."
        ) from error
    except OSError as error:
        raise StartError(
            f"The control socket in {directory.runtime_path} cannot be made: {error.strerror}. "
            "Give it a folder with system.runtime.path, a group of this user with leases.group, "
            "or do without it: leases.enabled=false."
        ) from error


def _open_engine(settings: EngineSettings) -> Engine:
    try:
        return Engine(settings)
    except (
        binding.AddressInUseError,
        binding.ConfigurationError,
        binding.PermissionDeniedError,
        UnprintableSettingError,
    ) as error:
        raise StartError(f"{error}. {bind_advice(str(error), 'tcp.address')}".rstrip()) from error
    except binding.NativeError as error:
        raise StartError(f"The engine cannot be opened: {error}.", ExitStatus.INTERNAL_FAULT) from error
