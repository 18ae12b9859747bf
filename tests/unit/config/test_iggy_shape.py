"""What is in force, in the shape of Iggy's own file."""

import tomllib
from pathlib import Path

from server_ng.config import load
from server_ng.config.iggy_keys import IGGY_SECRETS
from server_ng.config.iggy_moved import moved_keys
from server_ng.config.iggy_page import iggy_page
from server_ng.config.iggy_shape import iggy_shape
from server_ng.config.names import iggy_variable
from tests.unit.config.test_iggy_keys import IGGY_DEFAULTS, flat

_OPTIONAL = {
    f"websocket.{name}"
    for name in (
        "read_buffer_size",
        "write_buffer_size",
        "max_write_buffer_size",
        "max_message_size",
        "max_frame_size",
    )
}
# A key of ours that Iggy has since 0.9.0.
_SINCE_RELEASE = {"partition.consumer_offsets_max": 4096}
_BOUND = {"tcp": "127.0.0.1:4711"}


def shape_of(file: Path | None = None, **environment: str) -> dict[str, object]:
    settings = load(file, environment, []).settings
    return dict(flat(tomllib.loads(iggy_shape(settings, _BOUND, 3))))


def test_it_has_every_key_of_iggy_but_the_secrets_and_what_has_no_default() -> None:
    older = (set(IGGY_DEFAULTS) | set(_SINCE_RELEASE)) - IGGY_SECRETS - _OPTIONAL
    assert set(shape_of()) == older | {new for new, key in moved_keys().items() if key in older}


def test_a_value_is_what_iggy_would_say_except_where_it_would_be_untrue(tmp_path: Path) -> None:
    file = tmp_path / "iggy.toml"
    file.write_text(Path(__file__).with_name("iggy_defaults.toml").read_text())
    expected = {
        key: value.replace(" ", "") if isinstance(value, str) else value
        for key, value in IGGY_DEFAULTS.items()
        if key not in IGGY_SECRETS | _OPTIONAL
    }
    expected |= _SINCE_RELEASE
    # Lists of tables are examples in that file, and empty by default.
    expected |= {"cluster.nodes": [], "http.jwt.trusted_issuers": []}
    # The interface that is served says where; the others are not.
    expected |= {"tcp.address": "127.0.0.1:4711"}
    expected |= {f"{name}.enabled": False for name in ("http", "quic", "websocket")}
    expected |= {new: expected[key] for new, key in moved_keys().items() if key in expected}
    found = {
        key: value.replace(" ", "") if isinstance(value, str) else value
        for key, value in shape_of(file).items()
    }
    assert found == expected


def test_readers_of_the_release_find_its_keys() -> None:
    shape = shape_of(IGGY_PATH="elsewhere")
    assert shape["path"] == shape["system.path"] == "elsewhere"
    assert shape["sharding.cpu_allocation"] == 3
    assert "encryption.key" not in shape


def test_our_word_for_the_processors_becomes_their_number() -> None:
    assert shape_of()["system.sharding.cpu_allocation"] == 3
    named = shape_of(IGGY_SYSTEM_SHARDING_CPU_ALLOCATION="0..4")
    assert named["system.sharding.cpu_allocation"] == "0..4"


def test_no_secret_gets_into_it_however_it_was_given(tmp_path: Path) -> None:
    file = tmp_path / "iggy.toml"
    file.write_text('[cluster.auth]\nshared_secret = "hush"\n')
    environment = {iggy_variable(key): "hush" for key in IGGY_SECRETS} | {
        "IGGY_ROOT_USERNAME": "root",
        "IGGY_ROOT_PASSWORD": "hush-hush",
    }
    settings = load(file, environment, []).settings
    assert "hush" not in iggy_shape(settings, _BOUND, 1)


def test_a_text_with_quotes_and_points_is_read_back() -> None:
    assert shape_of(IGGY_SYSTEM_PATH='a "quoted" \\ path.d')["system.path"] == 'a "quoted" \\ path.d'


def test_the_page_names_every_key_once() -> None:
    page = iggy_page()
    for key in IGGY_DEFAULTS:
        assert page.count(f"| `{key}` |") == 1, key
