"""The daemon: started, served and stopped on one event loop."""

import asyncio
import faulthandler
import gc
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, NoReturn, TextIO, TypeAlias

import structlog
import uvloop

from server_ng import binding
from server_ng.auth import Authenticator, Enricher, Hasher
from server_ng.auth.accounts import Accounts
from server_ng.auth.failed_logins import FailedLogins
from server_ng.bootstrap.auditing import Audit
from server_ng.bootstrap.control_plane import ControlPlane
from server_ng.bootstrap.crashes import LastCrash, record_crash, tell_last_crash
from server_ng.bootstrap.damage import MESSAGES_DAMAGED, MESSAGES_FENCED, DamagedMessages
from server_ng.bootstrap.data_directory import DataDirectory
from server_ng.bootstrap.descriptors import require_descriptors
from server_ng.bootstrap.endpoints import forget_endpoints, write_endpoints
from server_ng.bootstrap.engine_settings import LAST_CRASH_NAME
from server_ng.bootstrap.enriching import Enriching
from server_ng.bootstrap.errors import StartError
from server_ng.bootstrap.figures import host_record, host_samples, native_samples
from server_ng.bootstrap.leasing import Leasing
from server_ng.bootstrap.logins import Logins
from server_ng.bootstrap.opening import Opened, open_everything
from server_ng.bootstrap.reloading import apply_reload
from server_ng.bootstrap.root_user import RootFounding
from server_ng.bootstrap.signals import handle_signals
from server_ng.bootstrap.space import space_complaints
from server_ng.bootstrap.tasks import Tasks
from server_ng.config import Loaded
from server_ng.config.iggy_shape import iggy_shape
from server_ng.engine import Pump, StartFailedError
from server_ng.engine.records import (
    Adopted,
    Cut,
    Enrich,
    Login,
    NativeEvent,
    Progress,
    Record,
    Session,
    Started,
    StartFailed,
    Stopped,
    encode_open_doors,
)
from server_ng.observe.catalogue import NATIVE_SERIES_MAX, sample
from server_ng.observe.health import Health, ObserveServer
from server_ng.observe.host import HostSampler
from server_ng.observe.logs import configure_logging
from server_ng.observe.metrics import MetricsPage, Sample
from server_ng.observe.native_events import NativeEvents
from server_ng.observe.notify import ServiceNotifier
from server_ng.process_signals import PROCESS_SIGNALS
from server_ng.wire.tables import ExitStatus

__all__ = ["Job", "serve", "serve_job"]

_log = structlog.get_logger()

# Only the loop's thread runs bytecode; should another ever do, it gets the interpreter soon.
_SWITCH_SECONDS: Final = 0.001
_HOST_SAMPLE_SECONDS: Final = 5.0
# Beyond the engine's own deadlines, for its last record to arrive.
_STOP_GRACE_SECONDS: Final = 5.0
_JOIN_MILLIS: Final = 2_000
# What a step of the start may take, beyond which systemd gives up: reading the journal of a shard, at most.
_START_STEP_MAX: Final = timedelta(seconds=90)


Job: TypeAlias = Callable[[Leasing], Awaitable[None]]
"""What is done with the leases of a server that nobody else can reach."""


def serve(loaded: Loaded, *, fresh: bool = False) -> int:
    """Runs the server until it is told to stop, on deleted data if `fresh`; returns the exit status."""
    return _serve(loaded, None, sys.stdout, fresh=fresh)


def serve_job(loaded: Loaded, job: Job) -> int:
    """Starts a server with its doors shut, lets it do one thing, and stops it; its log goes to stderr."""
    with PROCESS_SIGNALS.held():
        return _serve(loaded, job, sys.stderr, fresh=False)


def _serve(loaded: Loaded, job: Job | None, log: TextIO, *, fresh: bool) -> int:
    logging = loaded.settings.system.logging
    # Of a job its answer is wanted, and what went wrong.
    configure_logging(logging.level if job is None else "warn", logging.format, log)
    _log_start(loaded)
    for notice in loaded.warnings:
        _log.warning(notice.code, message=notice.message, keys=list(notice.keys))
    # Raised by the native supervisor when the loop was silent for long; the handler needs no interpreter.
    faulthandler.register(signal.SIGUSR2, file=sys.stderr, all_threads=True)
    sys.setswitchinterval(_SWITCH_SECONDS)
    if PROCESS_SIGNALS.stop:
        return _stop_early()
    try:
        require_descriptors()
        directory = DataDirectory.take(loaded.settings.system.path, loaded.settings.runtime_path)
    except StartError as error:
        return _refuse(error)
    try:
        if fresh:
            directory.delete_data()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_run(loaded, directory, job))
    except StartError as error:
        return _refuse(error)
    except Exception as error:
        # Not even the stop went as it should: native threads may still run.
        _log.exception("internal_fault", reason=repr(error))
        record_crash(directory.runtime_path / LAST_CRASH_NAME, ExitStatus.INTERNAL_FAULT, repr(error))
        _end_process(ExitStatus.INTERNAL_FAULT)
    finally:
        directory.release()


def _log_start(loaded: Loaded) -> None:
    build = binding.describe()
    _log.info(
        "starting",
        version=build["package"],
        build=build["profile"],
        data_directory=str(loaded.settings.system.path.absolute()),
        configuration=None if loaded.file is None else str(loaded.file.absolute()),
    )


def _end_process(status: ExitStatus) -> NoReturn:
    """Ends the process whatever still runs in it: waiting longer would not help."""
    sys.stdout.flush()
    os._exit(status)


def _stop_early() -> int:
    """Ends a start that was asked to stop before it had anything to take down."""
    _log.info("stopping", signal=PROCESS_SIGNALS.stop)
    _log.info("stopped", status=int(ExitStatus.CLEAN))
    return ExitStatus.CLEAN


def _refuse(error: StartError) -> int:
    _log.error("start_refused", reason=error.sentence, status=int(error.status))
    # Who started it by hand reads stderr; the log may go elsewhere.
    sys.stderr.write(f"server-ng: {error.sentence}\n")
    return error.status


async def _run(loaded: Loaded, directory: DataDirectory, job: Job | None) -> int:
    last_crash = tell_last_crash(directory.runtime_path / LAST_CRASH_NAME)
    try:
        forget_endpoints(directory.runtime_path)
        opened = open_everything(loaded, directory)
    except StartError as error:
        return _refuse(error)
    if PROCESS_SIGNALS.stop:
        opened.close()
        return _stop_early()
    return await _Daemon(loaded, directory, opened, job, last_crash).run()


class _Daemon:
    """One run, from opened parts to the exit status."""

    def __init__(
        self,
        loaded: Loaded,
        directory: DataDirectory,
        opened: Opened,
        job: Job | None,
        last_crash: LastCrash | None,
    ) -> None:
        settings = loaded.settings
        self._job = job
        self._loaded = loaded
        self._directory = directory
        self._engine = opened.engine
        self._shards = opened.shards
        self._loop = asyncio.get_running_loop()
        self._ending: asyncio.Future[ExitStatus] = self._loop.create_future()
        self._started: asyncio.Future[None] = self._loop.create_future()
        self._stopped: asyncio.Future[bool] = self._loop.create_future()
        self._serving = False
        self._faulty = False
        self._host_timer: asyncio.TimerHandle | None = None
        self._notifier = ServiceNotifier(os.environ)
        self._events = NativeEvents()
        self._host = HostSampler(directory.path)
        self._host_samples: tuple[Sample, ...] = ()
        self._last_crash = last_crash
        self._runtime_files = opened.files
        self._tasks = Tasks(self._task_failed)
        self._pump = Pump(opened.engine, self._take)
        self._audit = Audit(opened.audit, directory.cluster)
        self._control_plane = ControlPlane(opened.shards, self._pump.send, self._loop, self._audit)
        self._unnamed: list[NativeEvent] = []
        """Losses that shards found before the rows with the names of their topics were here."""
        self._damage = DamagedMessages(directory.path, lambda: self._control_plane.state)
        self._hasher = Hasher(settings.auth.login_queue_max)
        authenticator = Authenticator(
            Accounts(lambda: self._control_plane.state),
            FailedLogins(),
            self._hasher,
            settings.auth.verified_cache_max,
        )
        self._logins = Logins(authenticator, self._audit, self._pump.send, self._tasks.spawn)
        enricher = Enricher(lambda: self._control_plane.state, self._hasher)
        self._enriching = Enriching(enricher, self._pump.send, self._tasks.spawn)
        self._root = RootFounding(loaded.root, directory, self._control_plane, self._hasher, self._pump.send)
        self._leasing = self._leasing_of(opened)
        self._observe = self._observe_server(opened)

    def _leasing_of(self, opened: Opened) -> Leasing | None:
        if opened.control is None:
            return None
        settings, send = self._loaded.settings, self._pump.send
        return Leasing(opened.control, settings, self._directory, self._control_plane, send)

    def _observe_server(self, opened: Opened) -> ObserveServer | None:
        if opened.observe is None:
            return None
        return ObserveServer(opened.observe, MetricsPage(self._samples), self._live, self._readiness)

    def _samples(self) -> list[Sample]:
        crash = self._last_crash
        crashed = (
            [sample("last_crash_timestamp_seconds", crash.at_seconds, status=str(crash.status))]
            if crash
            else []
        )
        leases = [] if self._leasing is None else self._leasing.samples()
        plane = [*self._control_plane.samples(), *self._audit.samples()]
        control = [*plane, *leases, *self._host_samples, *crashed]
        return [*control, *native_samples(self._engine)]

    async def run(self) -> int:
        """Starts, serves and stops."""
        self._loop.set_exception_handler(self._callback_failed)
        handle_signals(self._loop, self._asked_to_stop, lambda: apply_reload(self._loaded), PROCESS_SIGNALS)
        began = time.monotonic()
        try:
            await self._start()
            if self._serving:
                elapsed = round((time.monotonic() - began) * 1000)
                _log.info("server_ready", start_ms=elapsed, shards=self._shards, **self._addresses())
        except StartError as error:
            self._end(ExitStatus(_refuse(error)))
        except Exception as error:
            self._fail("the start failed", error)
        return await self._stop(await self._ending)

    async def _start(self) -> None:
        self._notifier.status("opening the data directory")
        self._pump.start()
        self._engine.start()
        if not await self._happened(self._started):
            return
        try:
            self._started.result()
        except StartFailedError as error:
            raise StartError(f"The server cannot start: {error}.", ExitStatus(error.status)) from error
        await self._start_observing()
        self._audit.start(self._tasks.spawn)
        self._sample_host()
        self._notifier.status("bringing partitions to what the metadata says")
        self._notifier.extend_timeout(_START_STEP_MAX)
        if not await self._happened(self._control_plane.converged):
            return
        for event in self._unnamed:
            self._log_event(event)
        self._unnamed.clear()
        # What exists now lives as long as the process; the collector need not look at it again.
        gc.collect()
        gc.freeze()
        gc.enable()
        if self._leasing is not None:
            await self._leasing.start(self._tasks.spawn)
            if self._job is not None:
                await self._job(self._leasing)
                self._end(ExitStatus.CLEAN)
                return
        rooted = self._loop.create_task(self._root.found(), name="root user")
        if not await self._happened(rooted):
            rooted.cancel()
            return
        await rooted
        self._tasks.spawn("root credential", self._root.review())
        self._tasks.spawn("root password", self._root.forget_made_password())
        self._pump.send(encode_open_doors())
        shape = iggy_shape(self._loaded.settings, {"tcp": self._engine.tcp_address}, self._shards)
        write_endpoints(self._directory.runtime_path, self._addresses(), shape, self._runtime_files)
        self._serving = True
        self._notifier.ready(f"serving TCP clients on {self._engine.tcp_address}")

    async def _happened(self, what: asyncio.Future[None]) -> bool:
        """Waits for a step of the start; false if the end came before it."""
        futures: set[asyncio.Future[Any]] = {what, self._ending}
        await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
        return not self._ending.done()

    async def _start_observing(self) -> None:
        if self._observe is not None:
            await self._observe.start()
            self._tasks.watch(self._observe.task)

    def _addresses(self) -> dict[str, str]:
        observe = {} if self._observe is None else {"observe": self._observe.address}
        control = {} if self._leasing is None else {"control": self._leasing.address}
        return {"tcp": self._engine.tcp_address, **observe, **control}

    def _sample_host(self) -> None:
        self._runtime_files.retry()
        figures = self._host.sample()
        self._host_samples = tuple(host_samples(figures))
        self._pump.send(host_record(figures))
        self._host_timer = self._loop.call_later(_HOST_SAMPLE_SECONDS, self._sample_host)

    def _take(self, record: Record) -> None:
        match record:
            case Login():
                self._logins.take(record)
            case Enrich():
                self._enriching.take(record)
            case Session():
                self._audit.session(record)
            case NativeEvent():
                self._log_event(record)
            case Cut() | Adopted():
                self._tell_leasing(record)
            case Started():
                self._started.set_result(None)
            case StartFailed(shard, status, reason):
                self._started.set_exception(StartFailedError(shard, status, reason))
            case Progress(phrase):
                self._notifier.status(phrase)
                self._notifier.extend_timeout(_START_STEP_MAX)
            case Stopped(in_order):
                self._stopped.set_result(in_order)
            case _:
                self._control_plane.take(record)

    def _log_event(self, event: NativeEvent) -> None:
        shard, code, first, second, time_micros = (
            event.shard,
            event.code,
            event.first,
            event.second,
            event.time_micros,
        )
        if code == MESSAGES_FENCED and not self._control_plane.converged.done():
            self._unnamed.append(event)
            return
        known: Sequence[Mapping[str, str | int]] = ()
        if code == MESSAGES_DAMAGED:
            known = [self._damage.met(first)]
        elif code == MESSAGES_FENCED:
            known = self._damage.fenced(first)
        for fields in known or [{}]:
            self._events.write(code, first, second, shard=shard, time_micros=time_micros, **fields)

    def _tell_leasing(self, told: Cut | Adopted) -> None:
        if self._leasing is not None:
            self._leasing.take(told)

    def _live(self) -> Health:
        return Health(("the server is ending",)) if self._ending.done() else Health()

    def _readiness(self) -> Health:
        if self._ending.done():
            return Health(("the server is ending",))
        damage = self._damage.ranges()
        complaints = tuple(space_complaints(self._engine.figures(NATIVE_SERIES_MAX)))
        if not self._serving:
            return Health(("the shards are starting", *complaints), damage=damage)
        return Health(degraded=complaints, damage=damage)

    def _asked_to_stop(self, name: str) -> None:
        _log.info("stopping", signal=name)
        self._end(ExitStatus.CLEAN)

    def _end(self, status: ExitStatus) -> None:
        if not self._ending.done():
            self._ending.set_result(status)

    def _task_failed(self, name: str, error: BaseException) -> None:
        self._fail(f"task {name} failed", error)

    def _callback_failed(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, StartError):
            self._end(ExitStatus(_refuse(error)))
        else:
            self._fail(str(context.get("message")), error)

    def _fail(self, what: str, error: BaseException | None) -> None:
        reason = f"{what}: {error!r}"
        _log.error("internal_fault", reason=reason, exc_info=error)
        record_crash(self._directory.runtime_path / LAST_CRASH_NAME, ExitStatus.INTERNAL_FAULT, reason)
        self._faulty = True
        self._end(ExitStatus.INTERNAL_FAULT)

    def _forget_endpoints(self) -> None:
        self._runtime_files.forget()
        try:
            forget_endpoints(self._directory.runtime_path)
        except StartError as error:
            _log.warning("endpoints_left", reason=error.sentence)

    async def _recovered(self, within: timedelta) -> bool:
        """Waits for the shards to have read their journals, which they do not interrupt."""
        done, _ = await asyncio.wait({self._started}, timeout=within.total_seconds())
        return bool(done)

    def _cut_recovery(self, status: ExitStatus) -> NoReturn:
        """Ends the process while shards still recover: no client was served, and a kill loses no more."""
        self._forget_endpoints()
        _log.info("stopped", status=int(status), recovery="cut off")
        _end_process(status)

    async def _stop(self, status: ExitStatus) -> int:
        """Takes everything down. Clients first, so that what they were promised is answered; metrics last."""
        sharding = self._loaded.settings.system.sharding
        patience = sharding.shutdown_drain_timeout + sharding.shutdown_join_timeout
        self._notifier.stopping("answering what is in flight")
        self._notifier.extend_timeout(patience)
        # What waits for a hash is told to try again; the stop does not wait for its turn.
        self._hasher.close()
        if self._leasing is not None:
            await self._leasing.stop()
        self._engine.stop()
        if not self._started.done() and not await self._recovered(sharding.shutdown_drain_timeout):
            self._cut_recovery(status)
        try:
            in_order = await asyncio.wait_for(
                self._stopped, patience.total_seconds() + _STOP_GRACE_SECONDS
            ) and await asyncio.to_thread(self._engine.join, _JOIN_MILLIS)
        except (TimeoutError, binding.TimedOutError):
            in_order = False
        if self._host_timer is not None:
            self._host_timer.cancel()
        self._control_plane.close()
        self._pump.stop()
        await self._audit.stop()
        self._forget_endpoints()
        if self._observe is not None:
            await self._observe.stop()
        await self._tasks.cancel()
        if self._faulty:
            status = ExitStatus.INTERNAL_FAULT
        elif not in_order and status == ExitStatus.CLEAN:
            status = ExitStatus.UNCLEAN_STOP
        if not in_order:
            _log.error("stopped_unclean", status=int(status), reason="answers or threads were cut off")
            _end_process(status)
        self._engine.close()
        _log.info("stopped", status=int(status))
        return status
