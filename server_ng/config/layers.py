"""Loading: defaults, then the file, then the environment, then the command line; all faults at once."""

import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from server_ng.config.assignment import (
    CONFIG_PATH_VARIABLE,
    Assignment,
    Findings,
    from_environment,
    from_overrides,
    from_tree,
)
from server_ng.config.errors import BadValueError, ConfigErrors, Fault
from server_ng.config.model import Settings, leaves
from server_ng.config.root_credential import RootCredential, read_root_credential
from server_ng.config.rules import Notice, breaches, notices

__all__ = ["DEFAULT_ORIGIN", "Inputs", "Loaded", "load", "reload"]

DEFAULT_ORIGIN = "default"
# Iggy's own file has 58 KiB with its comments; a larger one than this is not a configuration.
_FILE_BYTES_MAX = 256 * 1024


@dataclass(frozen=True, slots=True)
class Inputs:
    """What `load` was called with, kept so that SIGHUP reads the same places again."""

    file: Path | None
    environment: Mapping[str, str] = field(repr=False)
    overrides: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration that can be used."""

    settings: Settings
    origins: Mapping[str, str]
    """For every key: ``default``, ``file PATH``, ``env NAME`` or ``--set``."""
    warnings: tuple[Notice, ...]
    root: RootCredential | None
    """The root user's credential, if the environment gives one."""
    inputs: Inputs
    file: Path | None
    """The configuration file that was read, if there is one."""


def load(file: Path | None, environment: Mapping[str, str], overrides: Sequence[str]) -> Loaded:
    """The configuration from all layers; raises `ConfigErrors` with every fault there is.

    Without `file`, ``IGGY_CONFIG_PATH`` may name one. A file that is named must exist.
    """
    inputs = Inputs(file, MappingProxyType(dict(environment)), tuple(overrides))
    named = file or (Path(path) if (path := environment.get(CONFIG_PATH_VARIABLE)) else None)
    found = Findings()
    if named is not None:
        _read_file(named, found)
    from_environment(environment, found)
    from_overrides(overrides, found)
    winners = {assignment.key: assignment for assignment in found.assignments}
    settings = _settings(winners, found)
    root, root_faults = read_root_credential(environment)
    found.faults.extend(root_faults)
    if found.faults:
        raise ConfigErrors(found.faults)
    origins = {key: winners[key].origin if key in winners else DEFAULT_ORIGIN for key in leaves()}
    warnings = (*_inert_notice(found.inert), *found.notices, *notices(settings))
    return Loaded(settings, MappingProxyType(origins), warnings, root, inputs, named)


def reload(loaded: Loaded) -> Loaded:
    """The configuration from the places that `loaded` came from, as they are now."""
    return load(loaded.inputs.file, loaded.inputs.environment, loaded.inputs.overrides)


def _read_file(path: Path, found: Findings) -> None:
    origin = f"file {path}"
    try:
        # Not blocking, because reading a pipe would wait for a writer, and a reload must not.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            content = stream.read(_FILE_BYTES_MAX + 1)
        tree = _parse(content)
    except OSError as error:
        found.faults.append(Fault(str(path), origin, f"the file cannot be read: {error.strerror or error}."))
    except UnicodeDecodeError:
        found.faults.append(Fault(str(path), origin, "the file is not UTF-8 text."))
    except RecursionError:
        found.faults.append(Fault(str(path), origin, "the file is nested too deeply."))
    except BadValueError as error:
        found.faults.append(Fault(str(path), origin, error.message))
    except ValueError as error:
        # Not only TOMLDecodeError: a number of thousands of digits fails in the conversion itself.
        found.faults.append(Fault(str(path), origin, f"the file is not TOML: {error}."))
    else:
        from_tree(tree, origin, found)


def _parse(content: bytes) -> dict[str, Any]:
    if len(content) > _FILE_BYTES_MAX:
        raise BadValueError(f"the file is larger than {_FILE_BYTES_MAX // 1024} KiB.")
    return tomllib.loads(content.decode())


def _settings(winners: Mapping[str, Assignment], found: Findings) -> Settings:
    """The settings, with the default for a value that cannot be used, so that the rules are judged too."""
    usable = dict(winners)
    try:
        settings = Settings.model_validate(_tree(usable.values()))
    except ValidationError as errors:
        for error in errors.errors(include_url=False, include_input=False):
            key = ".".join(str(part) for part in error["loc"])
            found.faults.append(_fault(usable.pop(key), error.get("ctx", {}).get("error"), error["msg"]))
        settings = Settings.model_validate(_tree(usable.values()))
    for breach in breaches(settings):
        involved = [key for key in breach.keys if key in winners]
        if all(key in usable for key in involved):
            origin = winners[involved[0]].origin if involved else DEFAULT_ORIGIN
            found.faults.append(Fault(breach.keys[0], origin, breach.message, breach.hint))
    return settings


def _fault(assignment: Assignment, cause: object, message: str) -> Fault:
    if isinstance(cause, BadValueError):
        return Fault(assignment.key, assignment.origin, cause.message, cause.hint)
    return Fault(assignment.key, assignment.origin, message)


def _tree(assignments: Iterable[Assignment]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for assignment in assignments:
        *sections, name = assignment.key.split(".")
        table = tree
        for section in sections:
            table = table.setdefault(section, {})
        table[name] = assignment.raw
    return tree


def _inert_notice(inert: Sequence[str]) -> tuple[Notice, ...]:
    if not inert:
        return ()
    keys = tuple(dict.fromkeys(inert))
    return (Notice("inert_keys", f"these settings of Iggy have no effect here: {', '.join(keys)}.", keys),)
