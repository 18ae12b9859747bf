"""Loading: which layer wins, where each value came from, and everything that is wrong at once."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from server_ng.config import ConfigErrors, Fault, differences, load, reload

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_toml(text: str) -> Path:
        file = tmp_path / "server.toml"
        file.write_text(text)
        return file

    return write_toml


def faults_of(file: Path | None, environment: dict[str, str], *overrides: str) -> dict[str, Fault]:
    with pytest.raises(ConfigErrors) as caught:
        load(file, environment, overrides)
    faults = {fault.key: fault for fault in caught.value.faults}
    assert len(faults) == len(caught.value.faults), "one fault per key"
    return faults


def test_defaults_load_without_a_warning() -> None:
    loaded = load(None, {}, [])
    assert loaded.warnings == ()
    assert loaded.root is None
    assert set(loaded.origins.values()) == {"default"}


def test_each_layer_wins_over_the_ones_before(write: Write) -> None:
    file = write('[tcp]\naddress = "127.0.0.1:1"\n[connections]\nmax = 100\nunauthenticated_max = 100\n')
    environment = {"IGGY_TCP_ADDRESS": "127.0.0.1:2"}
    loaded = load(file, environment, [])
    assert (loaded.settings.tcp.address.port, loaded.origins["tcp.address"]) == (2, "env IGGY_TCP_ADDRESS")
    assert (loaded.settings.connections.max, loaded.origins["connections.max"]) == (100, f"file {file}")
    environment["SERVER_NG__TCP__ADDRESS"] = "127.0.0.1:3"
    loaded = load(file, environment, [])
    assert (loaded.settings.tcp.address.port, loaded.origins["tcp.address"]) == (
        3,
        "env SERVER_NG__TCP__ADDRESS",
    )
    assert [notice.code for notice in loaded.warnings] == ["variable_hidden"]
    loaded = load(file, environment, ["tcp.address=127.0.0.1:4", "tcp.address=127.0.0.1:5"])
    assert (loaded.settings.tcp.address.port, loaded.origins["tcp.address"]) == (5, "--set")


def test_a_variable_of_iggy_that_is_empty_is_passed_over() -> None:
    assert load(None, {"IGGY_TCP_ADDRESS": "", "IGGY_HEARTBEAT_INTERVAL": ""}, []).warnings == ()
    assert "tcp.address" in faults_of(None, {"SERVER_NG__TCP__ADDRESS": ""})


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    absent = tmp_path / "absent.toml"
    assert "No such file" in faults_of(absent, {})[str(absent)].message
    assert "No such file" in faults_of(None, {"IGGY_CONFIG_PATH": str(absent)})[str(absent)].message
    assert "directory" in faults_of(tmp_path, {})[str(tmp_path)].message


def test_a_file_may_be_named_by_iggys_variable(write: Write) -> None:
    file = write("[tcp]\nenabled = true\n")
    assert load(None, {"IGGY_CONFIG_PATH": str(file)}, []).origins["tcp.enabled"] == f"file {file}"


def test_a_file_with_as_many_comments_as_iggys_own_is_read(tmp_path: Path) -> None:
    file = tmp_path / "iggy.toml"
    file.write_text(
        "# A comment of the file that Iggy is shipped with.\n" * 2_000 + "[tcp]\nenabled = true\n"
    )
    assert load(file, {}, []).origins["tcp.enabled"] == f"file {file}"


@pytest.mark.parametrize(
    "content",
    [
        b"[tcp\n",
        b"\xff\xfe",
        b"x = " + b"[" * 100_000,
        b"a = " + b"9" * 5_000,
        b"#" * (256 * 1024 + 1),
    ],
    ids=["not toml", "not utf-8", "too deep", "too long a number", "too large"],
)
def test_a_file_that_cannot_be_read_is_one_fault(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "bad.toml"
    file.write_bytes(content)
    (fault,) = faults_of(file, {}).values()
    assert fault.key == str(file)
    assert len(str(fault)) < 400


def test_a_file_that_nests_unknown_tables_deeply_is_one_fault(write: Write) -> None:
    (fault,) = faults_of(write(".".join("a" * 2_000) + " = 1\n"), {}).values()
    assert "no such key" in fault.message


def test_unknown_names_are_errors_with_the_nearest_name(write: Write) -> None:
    file = write('[tcp]\nadress = "127.0.0.1:1"\n[tpc]\naddress = "127.0.0.1:1"\n[observed]\n')
    faults = faults_of(
        file,
        {"SERVER_NG__TCP__ADRESS": "x", "SERVER_NG_TCP_ADDRESS": "x", "SERVER_NG__QQ": "x"},
        "sytem.path=x",
        "zzz=1",
    )
    assert {key: fault.hint for key, fault in faults.items()} == {
        "tcp.adress": "Did you mean tcp.address?",
        "tpc": "Did you mean tcp?",
        "observed": "Did you mean observe?",
        "SERVER_NG__TCP__ADRESS": "Did you mean SERVER_NG__TCP__ADDRESS?",
        "SERVER_NG_TCP_ADDRESS": "Did you mean SERVER_NG__TCP__ADDRESS?",
        "SERVER_NG__QQ": "",
        "sytem.path": "Did you mean system.path?",
        "zzz": "",
    }


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("http.adress", "Did you mean http.address?"),
        ("leases.max", "Did you mean leases.ttl_max?"),
        ("tcp.port", "Its section has address, enabled."),
        ("tcp.max_message_size", "Did you mean message_bus.max_message_size?"),
        ("max_message_size", "Did you mean message_bus.max_message_size?"),
        ("tpc.address", "Did you mean tcp.address?"),
        ("tcp.tls.enable", "Did you mean tcp.tls.enabled?"),
    ],
)
def test_the_section_of_an_unknown_name_is_looked_at_first(key: str, hint: str) -> None:
    (fault,) = faults_of(None, {}, f"{key}=5").values()
    assert fault.hint == hint
    if key.count(".") == 1:
        section, _, last = key.upper().partition(".")
        (fault,) = faults_of(None, {f"SERVER_NG__{section}__{last}": "5"}).values()
        assert fault.hint.lower().replace("server_ng__", "").replace("__", ".") == hint.lower()


def test_a_section_has_no_value(write: Write) -> None:
    for fault in (
        faults_of(None, {}, "tcp=5")["tcp"],
        faults_of(write("tcp = 5\n"), {})["tcp"],
    ):
        assert "a section and cannot have the value" in fault.message
        assert fault.hint == "Its keys are tcp.enabled, tcp.address."


@pytest.mark.parametrize("address", ["0.0.0.0:8090", "[::]:0", "192.0.2.1:8090"])
def test_a_listener_for_other_machines_is_warned_about_once(address: str) -> None:
    (notice,) = load(None, {}, [f"tcp.address={address}"]).warnings
    assert (notice.code, notice.keys) == ("plain_text_listener", ("tcp.address",))
    assert address in notice.message
    assert load(None, {}, ["tcp.address=[::1]:0"]).warnings == ()


def test_an_unknown_variable_of_iggy_is_a_warning_with_the_nearest_name() -> None:
    environment = {"IGGY_TCP_ADRESS": "x", "IGGY_CONNECTORS_CONFIG_PATH": "x", "IGGY_TEST_VERBOSE": "1"}
    (notice,) = load(None, environment, []).warnings
    assert notice.code == "unknown_variable"
    assert "Did you mean IGGY_TCP_ADDRESS?" in notice.message


def test_a_setting_that_iggy_lacks_has_a_variable_of_its_own() -> None:
    (notice,) = load(None, {"IGGY_LEASES_COUNT_MAX": "3"}, []).warnings
    assert "Did you mean SERVER_NG__LEASES__COUNT_MAX?" in notice.message


def test_ten_faults_are_reported_at_once_and_each_says_where(write: Write) -> None:
    file = write(
        """
        tcp = 5
        [system.sharding]
        cpu_allocation = "4..2"
        pin_cores = "perhaps"
        inbox_capacity = 1
        [system.segment]
        size = "1 GiB"
        [connections]
        frame_timeout = 10
        [unheard]
        of = 1
        """
    )
    environment = {
        "SERVER_NG__MESSAGE_BUS__MAX_MESSAGE_SIZE": "1 TB",
        "IGGY_METADATA_CLIENTS_TABLE_MAX": "one",
        "IGGY_ROOT_USERNAME": "iggy",
    }
    faults = faults_of(file, environment, "observe.address=0.0.0.0:9464", "cluster.enabled=true")
    assert {key: fault.origin for key, fault in faults.items()} == {
        "tcp": f"file {file}",
        "system.sharding.cpu_allocation": f"file {file}",
        "system.sharding.pin_cores": f"file {file}",
        "system.sharding.inbox_capacity": f"file {file}",
        "system.segment.size": f"file {file}",
        "connections.frame_timeout": f"file {file}",
        "unheard": f"file {file}",
        "message_bus.max_message_size": "env SERVER_NG__MESSAGE_BUS__MAX_MESSAGE_SIZE",
        "metadata.clients_table_max": "env IGGY_METADATA_CLIENTS_TABLE_MAX",
        "IGGY_ROOT_PASSWORD": "env IGGY_ROOT_PASSWORD",
        "observe.address": "--set",
        "cluster.enabled": "--set",
    }
    assert faults["system.sharding.inbox_capacity"].hint == "The bounds are 64 to 65536."


@pytest.mark.parametrize(
    ("overrides", "key"),
    [
        (("system.sharding.shutdown_drain_timeout=40s",), "system.sharding.shutdown_join_timeout"),
        (("control_plane.stall_dump=2m",), "control_plane.stall_dump"),
        (("connections.max=100",), "connections.unauthenticated_max"),
        (("tcp.enabled=false",), "tcp.enabled"),
        (("tcp.address=127.0.0.1:9464",), "observe.address"),
        (("tcp.address=0.0.0.0:9464",), "observe.address"),
        (("observe.address=[::]:0",), "observe.address"),
    ],
)
def test_settings_must_agree(overrides: tuple[str, ...], key: str) -> None:
    assert list(faults_of(None, {}, *overrides)) == [key]


def test_a_rule_is_not_judged_on_a_value_that_is_a_fault_itself() -> None:
    faults = faults_of(None, {}, "control_plane.stall_dump=soon", "control_plane.stall_max=1s")
    assert list(faults) == ["control_plane.stall_dump"]


def test_a_port_of_zero_is_no_conflict() -> None:
    load(None, {}, ["tcp.address=127.0.0.1:0", "observe.address=127.0.0.1:0"])
    load(None, {}, ["tcp.address=127.0.0.1:9464", "observe.enabled=false"])


@pytest.mark.parametrize("override", ["", "tcp.address", "=1", " =1"])
def test_an_override_needs_a_key_and_a_value(override: str) -> None:
    assert "key=value" in faults_of(None, {}, override)["--set"].message


def test_interfaces_that_are_not_built_warn_once_each() -> None:
    notices = load(
        None, {"IGGY_HTTP_ENABLED": "true"}, ["quic.enabled=true", "websocket.enabled=TRUE"]
    ).warnings
    assert [notice.keys for notice in notices] == [
        ("http.enabled",),
        ("quic.enabled",),
        ("websocket.enabled",),
    ]


def test_a_reload_reads_the_same_places_again(write: Write) -> None:
    file = write('[system.logging]\nlevel = "info"\n')
    before = load(file, {}, ["tcp.address=127.0.0.1:1"])
    write('[system.logging]\nlevel = "debug"\n[control_plane]\nstall_dump = "3s"\n')
    after = reload(before)
    assert after.settings.control_plane.stall_dump == timedelta(seconds=3)
    changes = differences(before.settings, after.settings)
    assert [(change.key, change.before, change.after, change.reloadable) for change in changes] == [
        ("system.logging.level", '"info"', '"debug"', True),
        ("control_plane.stall_dump", '"5s"', '"3s"', False),
    ]
