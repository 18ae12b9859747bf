"""The session that a README shows, as steps that a test can run.

A fenced block is part of the session when the line above it is one of these comments:

    <!-- session: run -->               each `$ ` command runs to its end; the output shown below it must come
    <!-- session: start until TEXT -->  its one command is started, and left running once it has printed TEXT
    <!-- session: stop STATUS -->       what was started gets a TERM and must end with STATUS; not played
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BLOCK = re.compile(
    r"^<!-- session: (?P<act>run|start until (?P<ready>.+?)|stop (?P<status>\d+)) -->\n"
    r"```(?:console|sh)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Command:
    """One command as it is typed, and the lines that are shown below it."""

    text: str
    shown: tuple[str, ...]

    def missing(self, output: str) -> list[str]:
        """The shown lines that the output does not have, in order; `...` in a line stands for anything."""
        rest = output.splitlines()
        absent = []
        for line in self.shown:
            pattern = re.compile(".*".join(re.escape(piece) for piece in line.split("...")))
            at = next((index for index, real in enumerate(rest) if pattern.fullmatch(real.rstrip())), None)
            if at is None:
                absent.append(line)
            else:
                rest = rest[at + 1 :]
        return absent


@dataclass(frozen=True, slots=True)
class Run:
    """Run this command to its end."""

    command: Command


@dataclass(frozen=True, slots=True)
class Start:
    """Start this command and go on when it has printed the text."""

    command: Command
    ready: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop what was started; it must end with this status."""

    status: int


def steps(readme: str) -> Iterator[Run | Start | Stop]:
    """The session of a README, in order."""
    for block in _BLOCK.finditer(readme):
        commands = list(_commands(block["body"]))
        if block["status"] is not None:
            yield Stop(int(block["status"]))
        elif block["ready"] is not None:
            (command,) = commands
            yield Start(command, block["ready"])
        else:
            yield from map(Run, commands)


def _commands(body: str) -> Iterator[Command]:
    """Commands begin with `$ `, go on with `> `, and what follows them is their output."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        first, *rest = part.rstrip("\n").split("\n")
        more = [line for line in rest if line.startswith("> ") or line == ">"]
        shown = rest[len(more) :]
        yield Command("\n".join([first, *(line[2:] for line in more)]), tuple(line for line in shown if line))
