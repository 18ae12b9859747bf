"""What the engine is told at its start, as the lines it reads."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from server_ng.config import ConsumerIdle, Settings
from server_ng.config.model import value_of
from server_ng.engine.errors import UnprintableSettingError
from server_ng.engine.table import SETTING_OF, EngineTable

__all__ = ["EngineSettings"]


@dataclass(frozen=True, slots=True)
class EngineSettings(EngineTable):
    """Everything that the engine is told."""

    @classmethod
    def of(cls, settings: Settings, **given: Any) -> "EngineSettings":
        """The settings that reach the engine as they are, and what the control plane has worked out."""
        return cls(**{name: value_of(settings, key) for name, key in SETTING_OF.items()}, **given)

    def lines(self) -> str:
        """The values as the engine reads them."""
        values = {field.name: _line(getattr(self, field.name)) for field in fields(self)}
        for key, value in values.items():
            if not value.isprintable():
                raise UnprintableSettingError(key, value)
        return "\n".join(f"{key}={value}" for key, value in values.items())


def _line(value: object) -> str:
    """A value on its line: durations in milliseconds, a shard on any processor as ``-``."""
    match value:
        case bool():
            return "true" if value else "false"
        case timedelta():
            return str(_millis(value))
        case ConsumerIdle():
            return value.word or str(_millis(value.after or timedelta()))
        case str():
            return value
        case Sequence():
            return ",".join("-" if cpu is None else str(cpu) for cpu in value)
        case _:
            return str(value)


def _millis(duration: timedelta) -> int:
    """Only no time at all is none."""
    return max(1, int(duration.total_seconds() * 1000)) if duration else 0
