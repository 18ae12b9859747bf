"""Every key of Iggy has a fate, in its file and as a variable."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server_ng.config import ConfigErrors, load
from server_ng.config.iggy_keys import fate_of_key
from server_ng.config.model import leaves
from server_ng.config.names import iggy_variable

_FILE = Path(__file__).with_name("iggy_defaults.toml")


def flat(tree: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


IGGY_DEFAULTS = dict(flat(tomllib.loads(_FILE.read_text())))


def test_iggys_own_file_boots_with_one_warning_about_what_has_no_effect() -> None:
    loaded = load(_FILE, {}, [])
    assert [notice.code for notice in loaded.warnings] == [
        "inert_keys",
        "not_built",
        "not_built",
        "not_built",
    ]
    inert = set(loaded.warnings[0].keys)
    assert inert == {key for key in IGGY_DEFAULTS if key not in leaves()}
    assert loaded.settings.metadata.clients_table_max == 8192
    assert str(loaded.settings.system.sharding.cpu_allocation) == "numa:auto"


@pytest.mark.parametrize("key", IGGY_DEFAULTS)
def test_every_key_of_iggy_is_honoured_or_has_a_fate(key: str) -> None:
    honoured = key in leaves() and leaves()[key].iggy
    assert honoured != (fate_of_key(key) is not None)


@pytest.mark.parametrize(("key", "value"), IGGY_DEFAULTS.items(), ids=IGGY_DEFAULTS)
def test_every_key_of_iggy_is_known_as_a_variable(key: str, value: object) -> None:
    text = str(value).lower() if isinstance(value, bool) else str(value) or "x"
    loaded = load(None, {iggy_variable(key): text}, [])
    assert not [notice for notice in loaded.warnings if notice.code == "unknown_variable"]
    if key in leaves():
        assert loaded.origins[key] == f"env {iggy_variable(key)}"
    else:
        assert loaded.warnings[0].keys == (iggy_variable(key),)


@pytest.mark.parametrize(
    "name",
    [
        "IGGY_CLUSTER_NODES_0_PORTS_TCP",
        "IGGY_HTTP_JWT_TRUSTED_ISSUERS_0_ISSUER",
        "IGGY_DISPLAY_CONFIG",
        "IGGY_SHARD_EVENT_INTERVAL",
        "IGGY_SHARD_RUNTIME_CAPACITY",
        "RUST_LOG",
    ],
)
def test_variables_beside_the_plain_keys_have_no_effect_and_are_named(name: str) -> None:
    (notice,) = load(None, {name: "1"}, []).warnings
    assert (notice.code, notice.keys) == ("inert_keys", (name,))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("system.topic.max_size", "1 GB"),
        ("system.topic.message_expiry", "1h"),
        ("system.partition.enforce_fsync", "true"),
        ("system.partition.messages_required_to_save", "1"),
        ("system.partition.size_of_messages_required_to_save", "1"),
        ("system.segment.size", "1"),
        ("system.segment.preallocate", "false"),
        ("system.message_deduplication.enabled", "false"),
        ("extra.anything", "1"),
        ("system.recovery.recreate_missing_state", "true"),
        ("tcp.tls.enabled", "true"),
        ("system.encryption.enabled", "true"),
        ("cluster.enabled", "true"),
    ],
)
def test_what_must_not_be_ignored_is_refused_with_what_to_do(key: str, value: str) -> None:
    for environment, overrides in ({iggy_variable(key): value}, []), ({}, [f"{key}={value}"]):
        with pytest.raises(ConfigErrors) as caught:
            load(None, environment, overrides)
        (fault,) = caught.value.faults
        assert fault.hint


def test_an_env_file_is_refused_because_it_may_hold_the_root_password() -> None:
    with pytest.raises(ConfigErrors, match="EnvironmentFile"):
        load(None, {"IGGY_ENV_PATH": ".env"}, [])
