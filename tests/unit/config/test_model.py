"""The model: every leaf is complete, and its defaults, names and generated file agree with it."""

import tomllib
from pathlib import Path

import pytest
from pydantic import ValidationError

from server_ng.config.iggy_moved import moved_keys
from server_ng.config.layers import load
from server_ng.config.leaf import Leaf
from server_ng.config.model import Settings, leaves, section_sentence, value_of
from server_ng.config.names import iggy_variable, iggy_variables, keys_by_variable, own_variable
from server_ng.config.render import default_file, effective

_GENERATED = Path(__file__).parents[3] / "configs" / "server.toml"


@pytest.mark.parametrize(("key", "leaf"), leaves().items(), ids=leaves())
def test_every_leaf_is_described(key: str, leaf: Leaf) -> None:
    assert leaf.meaning.endswith(".")
    assert leaf.meaning[0].isupper()
    assert leaf.unit
    assert section_sentence(key.rpartition(".")[0]).endswith(".")


@pytest.mark.parametrize(("key", "leaf"), leaves().items(), ids=leaves())
def test_every_default_is_accepted_and_can_be_written_and_read(key: str, leaf: Leaf) -> None:
    default = value_of(Settings(), key)
    assert leaf.accept(default) == default
    literal = tomllib.loads(f"value = {leaf.kind.show(default)}")["value"]
    assert leaf.accept(literal) == default


@pytest.mark.parametrize(
    ("key", "leaf"), [(key, leaf) for key, leaf in leaves().items() if leaf.at_least is not None]
)
def test_bounds_are_inclusive(key: str, leaf: Leaf) -> None:
    for bound in (leaf.at_least, leaf.at_most):
        assert bound is not None, f"{key} has one bound only"
        assert leaf.accept(bound) == bound
        assert leaf.kind.show(bound).strip('"') in leaf.bounds


def test_settings_cannot_be_changed_or_extended() -> None:
    with pytest.raises(ValidationError):
        Settings().tcp.enabled = False  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Settings.model_validate({"tcp": {"enabledd": True}})


def test_variables_are_unique_and_made_from_the_key() -> None:
    assert own_variable("tcp.address") == "SERVER_NG__TCP__ADDRESS"
    assert iggy_variable("system.sharding.cpu_allocation") == "IGGY_SYSTEM_SHARDING_CPU_ALLOCATION"
    known = keys_by_variable()
    moved = [key for key in moved_keys().values() if key in leaves()]
    assert len(known) == len(leaves()) + sum(leaf.iggy for leaf in leaves().values()) + len(moved)
    assert iggy_variables("system.path") == ("IGGY_SYSTEM_PATH", "IGGY_PATH")
    assert {known[own_variable(key)] for key in leaves()} == set(leaves())


def test_the_committed_file_is_the_generated_one() -> None:
    assert _GENERATED.read_text() == default_file(), "run `make generate`"


def test_the_generated_file_changes_nothing() -> None:
    loaded = load(_GENERATED, {}, [])
    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.warnings == ()


def test_the_generated_file_uncommented_is_the_defaults(tmp_path: Path) -> None:
    lines = default_file().splitlines()
    assignments = [
        line.removeprefix("# ") if " = " in line and line[2:3].islower() else line for line in lines
    ]
    file = tmp_path / "server.toml"
    file.write_text("\n".join(assignments))
    loaded = load(file, {}, [])
    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {f"file {file}"}


def test_what_is_in_force_is_shown_with_its_origin() -> None:
    loaded = load(None, {}, ["tcp.address=127.0.0.1:1"])
    rows = {row.key: row for row in effective(loaded.settings, loaded.origins)}
    assert list(rows) == list(leaves())
    assert (rows["tcp.address"].value, rows["tcp.address"].origin) == ('"127.0.0.1:1"', "--set")
    assert (rows["tcp.enabled"].value, rows["tcp.enabled"].origin) == ("true", "default")


def test_the_runtime_folder_is_in_the_data_folder_unless_absolute() -> None:
    assert Settings().runtime_path == Path("local_data/runtime")
    moved = load(None, {}, ["system.runtime.path=/run/elsewhere"]).settings
    assert moved.runtime_path == Path("/run/elsewhere")
