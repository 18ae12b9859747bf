"""The root user: given, shown, or written where only this user can read it."""

import io
import os
import stat
from pathlib import Path

import pytest
from argon2.low_level import Type, verify_secret
from typing_extensions import override

from server_ng.auth import ROOT_PASSWORD_FILE, prepare_root


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    @override
    def isatty(self) -> bool:
        return True


def test_a_given_password_is_used_and_shown_nowhere(tmp_path: Path) -> None:
    (tmp_path / ROOT_PASSWORD_FILE).write_text("of an earlier founding")
    terminal = Terminal()
    root = prepare_root(("admin", "chosen password"), tmp_path, terminal)
    assert (root.username, root.source) == ("admin", "environment")
    assert verify_secret(root.encoded, b"chosen password", Type.ID)
    assert terminal.getvalue() == ""
    assert list(tmp_path.iterdir()) == []
    assert "argon2" not in repr(root)


def test_on_a_terminal_the_password_is_shown_once(tmp_path: Path) -> None:
    (tmp_path / ROOT_PASSWORD_FILE).write_text("of an earlier founding")
    terminal = Terminal()
    root = prepare_root(None, tmp_path, terminal)
    password = terminal.getvalue().split("password ")[1].split()[0]
    assert verify_secret(root.encoded, password.encode(), Type.ID)
    assert root.source == "terminal"
    assert password not in repr(root)
    assert list(tmp_path.iterdir()) == []


def test_elsewhere_the_password_is_in_a_private_file(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        root = prepare_root(None, tmp_path, io.StringIO())
    finally:
        os.umask(before)
    file = tmp_path / ROOT_PASSWORD_FILE
    assert list(tmp_path.iterdir()) == [file]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert root.source == str(file)
    password = file.read_text().removesuffix("\n")
    assert len(password) >= 22, "128 bits take 22 characters"
    assert verify_secret(root.encoded, password.encode(), Type.ID)
    assert password not in repr(root)


def test_every_founding_makes_another_password(tmp_path: Path) -> None:
    passwords = set()
    for _ in range(2):
        prepare_root(None, tmp_path, io.StringIO())
        passwords.add((tmp_path / ROOT_PASSWORD_FILE).read_text())
    assert len(passwords) == 2


def test_what_a_killed_founding_left_behind_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / f"{ROOT_PASSWORD_FILE}.new").write_text("half")
    prepare_root(None, tmp_path, io.StringIO())
    assert [file.name for file in tmp_path.iterdir()] == [ROOT_PASSWORD_FILE]


def test_a_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / ROOT_PASSWORD_FILE).symlink_to(victim)
    (tmp_path / f"{ROOT_PASSWORD_FILE}.new").symlink_to(victim)
    prepare_root(None, tmp_path, io.StringIO())
    assert victim.read_text() == "precious"
    assert not (tmp_path / ROOT_PASSWORD_FILE).is_symlink()


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        prepare_root(None, tmp_path / "absent", io.StringIO())
