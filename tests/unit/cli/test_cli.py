"""The command line: what it prints where, and the status it ends with."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from server_ng.cli import main
from server_ng.config import Loaded
from server_ng.config.model import leaves
from server_ng.config.render import default_file
from server_ng.wire.tables import ExitStatus
from tests.support.broken_pipe import run_without_reader


class Ran:
    """What one command printed and returned."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status = status
        self.out = out
        self.err = err


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> "Run":
    return Run(monkeypatch, capsys)


class Run:
    """Runs a command line in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str, **environment: str) -> Ran:
        self._monkeypatch.setattr(sys, "argv", ["server-ng", *arguments])
        for name, value in environment.items():
            self._monkeypatch.setenv(name, value)
        status = main()
        return Ran(status, *self._capsys.readouterr())


def module(monkeypatch: pytest.MonkeyPatch, name: str, **members: object) -> None:
    """Puts a module with these members in the place of ``server_ng.name``."""
    stand_in = ModuleType(f"server_ng.{name}")
    vars(stand_in).update(members)
    monkeypatch.setitem(sys.modules, f"server_ng.{name}", stand_in)
    monkeypatch.setattr(sys.modules["server_ng"], name, stand_in, raising=False)


def test_help_names_every_command(run: Run) -> None:
    ran = run("--help")
    assert ran.status == 0
    for command in ("serve", "config", "inspect", "recover", "version"):
        assert command in ran.out
    assert "check" in run("config", "--help").out
    assert "probe" in run("inspect", "--help").out


@pytest.mark.parametrize("group", [(), ("config",), ("inspect",), ("lease",)])
def test_a_group_without_a_command_prints_its_help(run: Run, group: tuple[str, ...]) -> None:
    help_ = run(*group, "-h")
    assert (help_.status, help_.err) == (0, "")
    assert "Usage: server-ng" in help_.out
    ran = run(*group)
    assert (ran.status, ran.out.strip(), ran.err) == (0, help_.out.strip(), "")


@pytest.mark.parametrize("command", ["serve", "recover", "version"])
def test_each_command_has_the_short_help(run: Run, command: str) -> None:
    assert run(command, "-h").out == run(command, "--help").out


@pytest.mark.parametrize(
    "arguments",
    [("serv",), ("serve", "extra"), ("serve", "--sett", "x"), ("serve", "--config"), ("config", "chek")],
)
def test_a_command_line_that_is_not_understood_is_status_78(run: Run, arguments: tuple[str, ...]) -> None:
    ran = run(*arguments)
    assert ran.status == ExitStatus.CONFIGURATION
    assert ran.err.startswith("server-ng: ")
    assert "Traceback" not in ran.err


def test_show_lists_every_key_with_its_origin(run: Run) -> None:
    ran = run("config", "show", "--set", "tcp.address=127.0.0.1:1", IGGY_SYSTEM_PATH="/data")
    rows = [line.split("\t") for line in ran.out.splitlines()]
    assert rows[0] == ["key", "value", "origin"]
    assert [row[0] for row in rows[1:]] == list(leaves())
    assert ["tcp.address", '"127.0.0.1:1"', "--set"] in rows
    assert ["system.path", '"/data"', "env IGGY_SYSTEM_PATH"] in rows


def test_show_as_json(run: Run) -> None:
    rows = json.loads(run("config", "show", "--json").out)
    assert [row["key"] for row in rows] == list(leaves())
    assert {row["origin"] for row in rows} == {"default"}


def test_show_never_shows_the_root_password(run: Run) -> None:
    environment = {"IGGY_ROOT_USERNAME": "iggy", "IGGY_ROOT_PASSWORD": "correct-horse"}
    for arguments in (
        ("config", "show"),
        ("config", "show", "--json"),
        ("config", "check", "--set", "tcp.enabled=no"),
    ):
        ran = run(*arguments, **environment)
        assert "correct-horse" not in ran.out + ran.err


def test_check_accepts_with_warnings_on_the_other_stream(run: Run) -> None:
    ran = run("config", "check", "--set", "http.enabled=true")
    assert (ran.status, len(ran.out.splitlines())) == (0, 1)
    assert ran.out.startswith("The settings are valid. The start checks ports, ")
    assert "http.enabled" in ran.err


def test_check_does_not_look_at_the_machine_and_says_so(run: Run) -> None:
    absent = ("--set", "system.path=/proc/nowhere", "--set", "tcp.address=192.0.2.1:1")
    assert run("config", "check", *absent).status == 0
    assert "Does not look at this machine" in run("config", "check", "--help").out


@pytest.mark.parametrize(
    "command", [("config", "check"), ("config", "show"), ("serve",), ("inspect", "probe")]
)
def test_every_fault_is_printed_and_the_status_is_78(
    run: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    file = tmp_path / "bad.toml"
    file.write_text("[tcp]\naddress = 1\n[nonsense]\nx = 1\n")
    ran = run(*command, "--config", str(file), "--set", "cluster.enabled=true")
    assert ran.status == ExitStatus.CONFIGURATION
    assert ran.out == ""
    assert "3 faults" in ran.err
    for key in ("tcp.address", "nonsense", "cluster.enabled"):
        assert f"  {key} (" in ran.err


def test_defaults_prints_the_generated_file(run: Run) -> None:
    ran = run("config", "defaults")
    assert ran.out == default_file()
    tomllib.loads(ran.out)


def test_serve_hands_the_configuration_over_and_ends_with_its_status(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[tuple[Loaded, bool]] = []

    def serve(loaded: Loaded, *, fresh: bool) -> int:
        served.append((loaded, fresh))
        return ExitStatus.UNCLEAN_STOP

    module(monkeypatch, "bootstrap", serve=serve)
    assert run("serve", "--set", "tcp.address=127.0.0.1:1").status == ExitStatus.UNCLEAN_STOP
    assert run("serve", "--replica-id", "0", "--fresh").status == ExitStatus.UNCLEAN_STOP
    assert run("serve", "-f").status == ExitStatus.UNCLEAN_STOP
    assert served[0][0].settings.tcp.address.port == 1
    assert [fresh for _, fresh in served] == [False, True, True]


def test_serve_takes_the_flags_of_iggy_for_the_root_user(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Loaded] = []

    def serve(loaded: Loaded, *, fresh: bool) -> int:
        served.append(loaded)
        return ExitStatus.CLEAN

    module(monkeypatch, "bootstrap", serve=serve)
    flag, everywhere = "--with-default-root-credentials", ("--set", "tcp.address=0.0.0.0:1")
    monkeypatch.delenv("IGGY_ROOT_USERNAME", raising=False)
    monkeypatch.delenv("IGGY_ROOT_PASSWORD", raising=False)
    assert run("serve", flag).status == ExitStatus.CLEAN
    ran = run("serve", flag, *everywhere)
    assert ran.status == ExitStatus.CONFIGURATION
    assert "tcp.address = 0.0.0.0:1" in ran.err
    assert run("serve", flag, *everywhere, IGGY_ROOT_PASSWORD="of my own").status == ExitStatus.CLEAN
    found = [(each.root.username, each.root.password.reveal()) for each in served if each.root]
    assert found == [("iggy", "iggy"), ("iggy", "of my own")]


@pytest.mark.parametrize("number", ["1", "255", "x"])
def test_only_one_replica_is_served(run: Run, number: str) -> None:
    ran = run("serve", "--replica-id", number)
    assert ran.status == ExitStatus.CONFIGURATION
    assert "--replica-id" in ran.err


def test_version_names_package_protocol_and_native_build(run: Run) -> None:
    lines = run("version").out.splitlines()
    assert lines[0].startswith("server-ng ")
    assert lines[1] == "protocol 0.11.0"
    assert re.fullmatch(r"native [0-9.]+ \((ci|release) build\)", lines[2])
    option = run("--version")
    assert (option.status, option.out.splitlines()) == (0, lines)


@pytest.mark.parametrize("command", [["version"], ["config", "defaults"]], ids=["short", "long"])
def test_a_reader_that_is_gone_ends_a_command_quietly(command: list[str]) -> None:
    assert run_without_reader(*command) == (1, "")


def test_probe_prints_what_was_found(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []

    def probe(path: Path) -> dict[str, object]:
        asked.append(path)
        return {"kernel": "6.1", "ring": False}

    module(monkeypatch, "binding", probe=probe)
    ran = run("inspect", "probe", "--set", "system.path=/data")
    assert ran.out.splitlines() == ["what\tfound", "kernel\t6.1", "ring\tFalse"]
    assert json.loads(run("inspect", "probe", "--json").out) == {"kernel": "6.1", "ring": False}
    assert asked == [Path("/data"), Path("local_data")]


def test_a_folder_that_cannot_be_probed_is_one_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def probe(path: Path) -> dict[str, object]:
        raise PermissionError(13, "Permission denied")

    module(monkeypatch, "binding", probe=probe)
    ran = run("inspect", "probe")
    assert ran.status == ExitStatus.CONFIGURATION
    assert "Permission denied" in ran.err


def test_starting_the_daemon_imports_no_rich() -> None:
    script = """
import sys, types
sys.argv = ["server-ng", "serve"]
bootstrap = types.ModuleType("server_ng.bootstrap")
def serve(loaded, *, fresh):
    import server_ng.auth, server_ng.observe.health, server_ng.observe.host, server_ng.observe.logs
    server_ng.observe.logs.configure_logging("info", "json", sys.stderr)
    print(sorted(name for name in sys.modules if name.split(".")[0] in ("rich", "pygments")))
    return 0
bootstrap.serve = serve
sys.modules["server_ng.bootstrap"] = bootstrap
import server_ng
server_ng.bootstrap = bootstrap
from server_ng.cli import main
raise SystemExit(main())
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "[]\n", "")
