"""The settings as a model: the generated table, and values derived from it."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from server_ng.config.leaf import Leaf, walk
from server_ng.config.table import SettingsTable

__all__ = ["NO_GROUP", "NO_PATH", "Settings", "leaves", "section_sentence", "value_of"]

NO_GROUP = "none"
"""The word for no group in `leases.group`."""

NO_PATH = "none"
"""The word for no file in `audit.path`."""


class Settings(SettingsTable):
    """Everything an operator can set."""

    @property
    def runtime_path(self) -> Path:
        """The runtime folder with `system.path` before it."""
        return self.system.path / self.system.runtime.path

    @property
    def audit_path(self) -> Path | None:
        """The audit file, if there is to be one."""
        return None if self.audit.path == NO_PATH else Path(self.audit.path)


@cache
def leaves() -> Mapping[str, Leaf]:
    """Every leaf by its dotted key, in the order of the model."""
    return MappingProxyType(dict(walk(Settings)))


def section_sentence(section: str) -> str:
    """The sentence that describes the table with the dotted name `section`."""
    model: type[BaseModel] = Settings
    for name in section.split("."):
        annotation = model.model_fields[name].annotation
        if not isinstance(annotation, type) or not issubclass(annotation, BaseModel):
            raise KeyError(section)
        model = annotation
    return (model.__doc__ or "").strip()


def value_of(settings: Settings, key: str) -> Any:
    """The value of the leaf with the dotted name `key`."""
    value: Any = settings
    for name in key.split("."):
        value = getattr(value, name)
    return value
