"""Both shapes of Iggy's configuration: with its [system] table, and without it as since 0.9.0."""

import tomllib
from pathlib import Path

import pytest

from server_ng.config import ConfigErrors, Settings, load
from server_ng.config.iggy_keys import IGGY_KEYS, fate_of_key
from server_ng.config.iggy_moved import canonical, moved_keys
from server_ng.config.iggy_page import iggy_page
from server_ng.config.model import leaves
from server_ng.config.names import iggy_variable
from tests.unit.config.test_iggy_keys import IGGY_DEFAULTS, flat

_FILE = Path(__file__).with_name("iggy_released_defaults.toml")
RELEASED = dict(flat(tomllib.loads(_FILE.read_text())))
MOVED = {key: RELEASED[key] for key in RELEASED if canonical(key) != key}


def test_the_released_file_boots_with_one_warning_about_what_has_no_effect() -> None:
    loaded = load(_FILE, {}, [])
    assert [notice.code for notice in loaded.warnings] == ["inert_keys", *["not_built"] * 3]
    assert set(loaded.warnings[0].keys) == {key for key in RELEASED if canonical(key) not in leaves()}
    assert loaded.settings.system.sharding.inbox_capacity == 65_536
    assert loaded.settings.partition.consumer_offsets_max == 4_096


@pytest.mark.parametrize("key", RELEASED)
def test_every_released_key_is_honoured_or_has_a_fate(key: str) -> None:
    known = canonical(key)
    assert (known in leaves() and leaves()[known].iggy) != (fate_of_key(known) is not None)


def test_every_known_key_is_of_one_shape_at_least() -> None:
    older, released = set(IGGY_DEFAULTS), {canonical(key) for key in RELEASED}
    honoured = {key for key, leaf in leaves().items() if leaf.iggy}
    plain = {key for key, entry in IGGY_KEYS.items() if not entry.advice}
    # Given in a comment of the file alone.
    assert honoured | plain <= older | released | {"system.sharding.partition_io_bytes_max"}


@pytest.mark.parametrize(("key", "value"), RELEASED.items(), ids=RELEASED)
def test_every_released_key_is_known_as_a_variable(key: str, value: object) -> None:
    text = str(value).lower() if isinstance(value, bool) else str(value) or "x"
    name = iggy_variable(key)
    loaded = load(None, {name: text}, [])
    assert not [notice for notice in loaded.warnings if notice.code == "unknown_variable"]
    if canonical(key) in leaves():
        assert loaded.origins[canonical(key)] == f"env {name}"
    else:
        assert loaded.warnings[0].keys == (name,)


def test_both_shapes_mean_the_same(tmp_path: Path) -> None:
    values = {
        "path": '"elsewhere"',
        "runtime.path": '"run"',
        "logging.level": '"warn"',
        "sharding.inbox_capacity": "128",
        "sharding.cpu_allocation": '"2"',
        "sharding.shutdown_drain_timeout": '"3s"',
    }

    def of_file(prefix: str) -> Settings:
        file = tmp_path / "iggy.toml"
        file.write_text("".join(f"{prefix}{key} = {value}\n" for key, value in values.items()))
        return load(file, {}, []).settings

    def of_environment(prefix: str) -> Settings:
        named = {iggy_variable(f"{prefix}{key}"): value.strip('"') for key, value in values.items()}
        return load(None, named, []).settings

    found = [of_file(""), of_file("system."), of_environment(""), of_environment("system.")]
    assert found[0].system.path == Path("elsewhere")
    assert found[0].system.logging.level == "warn"
    assert all(settings == found[0] for settings in found)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("encryption.enabled", "true"),
        ("partition.enforce_fsync", "true"),
        ("partition.messages_required_to_save", "1"),
        ("partition.size_of_messages_required_to_save", "1"),
    ],
)
def test_what_must_not_be_ignored_is_refused_in_the_released_shape(key: str, value: str) -> None:
    for environment, overrides in ({iggy_variable(key): value}, []), ({}, [f"{key}={value}"]):
        with pytest.raises(ConfigErrors) as caught:
            load(None, environment, overrides)
        (fault,) = caught.value.faults
        assert fault.hint


def test_two_shapes_of_one_setting_must_agree(tmp_path: Path) -> None:
    file = tmp_path / "iggy.toml"
    file.write_text('path = "a"\n[system]\npath = "b"\n')
    with pytest.raises(ConfigErrors, match=r"system\.path .* path sets another value .* Keep one of them"):
        load(file, {}, [])
    with pytest.raises(ConfigErrors, match="IGGY_SYSTEM_PATH sets another value for the same setting"):
        load(None, {"IGGY_PATH": "a", "IGGY_SYSTEM_PATH": "b"}, [])
    file.write_text('path = "a"\n[system]\npath = "a"\n')
    assert load(file, {"IGGY_PATH": "c", "IGGY_SYSTEM_PATH": "c"}, []).settings.system.path == Path("c")


def test_only_keys_of_iggy_move(tmp_path: Path) -> None:
    file = tmp_path / "iggy.toml"
    for text in ('[io]\nbackend = "posix"\n', '[stream]\npath = "streams"\n'):
        file.write_text(text)
        with pytest.raises(ConfigErrors, match="there is no such key"):
            load(file, {}, [])


def test_a_mistyped_moved_key_gets_the_nearest_name(tmp_path: Path) -> None:
    file = tmp_path / "iggy.toml"
    file.write_text('[logging]\nlevle = "info"\n')
    with pytest.raises(ConfigErrors, match=r"Did you mean system\.logging\.level\?"):
        load(file, {}, [])


def test_the_page_tells_of_both_shapes() -> None:
    page = iggy_page()
    assert "IGGY_PATH" in page
    for new, key in moved_keys().items():
        assert key.removeprefix("system.") == new
