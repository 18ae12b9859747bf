"""SIGHUP: what can change without a restart does, and what cannot is named."""

import sys
from collections.abc import Sequence
from logging import INFO

import structlog

from server_ng.config import Change, ConfigErrors, Loaded, differences, reload
from server_ng.observe.logs import configure_logging

__all__ = ["apply_reload"]

_log = structlog.get_logger()


def apply_reload(loaded: Loaded) -> None:
    """Reads the configuration again from where `loaded` came from; a faulty one changes nothing."""
    try:
        fresh = reload(loaded)
    except ConfigErrors as errors:
        _log.error("reload_refused", faults=[str(fault) for fault in errors.faults])
        return
    changes = differences(loaded.settings, fresh.settings)
    # Said by the louder of the two levels: the change must not hide its own line.
    heard = _log.is_enabled_for(INFO)
    if heard:
        _tell(changes)
    logging = fresh.settings.system.logging
    configure_logging(logging.level, loaded.settings.system.logging.format, sys.stdout)
    if not heard:
        _tell(changes)


def _tell(changes: Sequence[Change]) -> None:
    _log.info(
        "reloaded",
        applied=[change.key for change in changes if change.reloadable],
        needs_restart=[change.key for change in changes if not change.reloadable],
    )
