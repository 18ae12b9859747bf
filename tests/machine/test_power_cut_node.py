"""Power cuts under a whole server: what clients were told is found again when the power is back."""

import os
import random
import signal
from pathlib import Path
from typing import Final

import pytest

from tests.support.fixtures import BACKENDS, LONG
from tests.support.load import load
from tests.support.load_checker import check
from tests.support.load_record import LoadRecord
from tests.support.node import Node, Plan
from tests.support.power_cut import SealedImage
from tests.support.topic_client import Place, TopicClient

CUTS: Final = int(os.environ.get("NG_POWER_CUTS", "50" if LONG else "3"))
SEED: Final = int(os.environ.get("NG_SEED", "1"))
CUTS_PER_IMAGE: Final = 10
"""The file system is made anew then: what is loaded is kept for ever, and the image is small."""
PARTITIONS: Final = 4
SEGMENT_BYTES: Final = 1 << 20
ANSWERS_MAX: Final = 150
REQUESTS_MAX: Final = 1_500
"""The most writes and flushes of the file system that a life has, once it is under load."""
KILLED_BEFORE: Final = 0.3
JOURNAL_IO: Final = 74

_PLACE: Final = Place("power", "load")


class Machine:
    """A server whose data is on an image; what it leaves for others is not."""

    def __init__(self, folder: Path, shards: int, dice: random.Random) -> None:
        self._image = SealedImage(folder, size="192M")
        self._folder = folder
        self._shards = shards
        self._dice = dice

    def plan(self, node_folder: Path) -> Plan:
        """A start on the disk as it is now."""
        return Plan(
            {
                "system.path": str(self._folder / "files" / "data"),
                "system.runtime.path": str(node_folder / "data" / "runtime"),
                "system.sharding.cpu_allocation": str(self._shards),
                "system.sharding.pin_cores": "false",
                "system.io.backend": self._dice.choice(BACKENDS),
            }
        )

    def live(self, life: int, record: LoadRecord) -> None:
        """One time with power: what was promised is there, and more is promised until the power fails."""
        folder = self._folder / f"life-{life}"
        folder.mkdir()
        with (
            self._image.powered(self._dice.getrandbits(32)) as image,
            Node(folder, self.plan(folder)) as node,
        ):
            node.start()
            begin(node, record)
            if self._dice.random() < KILLED_BEFORE:
                with load(node, _PLACE, PARTITIONS, record, self._dice.getrandbits(32)) as crew:
                    crew.wait_for(int(ANSWERS_MAX ** self._dice.random()))
                    assert node.kill() == -signal.SIGKILL
                node.restart()
                check_all(node, record)
            with load(node, _PLACE, PARTITIONS, record, self._dice.getrandbits(32)) as crew:
                crew.wait_for(1)
                image.cut_after(self._dice.randrange(1, REQUESTS_MAX))
                status = node.wait()
            assert status == JOURNAL_IO, node.stderr()
            assert image.hears("cut")

    def look(self, record: LoadRecord) -> None:
        """A last time with power, and an orderly end."""
        folder = self._folder / "last"
        folder.mkdir()
        with self._image.powered(0), Node(folder, self.plan(folder)) as node:
            node.start()
            check_all(node, record)
            assert node.terminate() == 0


def begin(node: Node, record: LoadRecord) -> None:
    """Checks what is there, or makes the topic if nothing is."""
    with TopicClient(node.connect_registered()) as client:
        if record.known:
            check(client, _PLACE, record)
        else:
            client.create_stream(_PLACE.stream)
            client.create_topic(_PLACE, PARTITIONS, SEGMENT_BYTES)


def check_all(node: Node, record: LoadRecord) -> None:
    """Holds the topic against what clients were told of it."""
    with TopicClient(node.connect_registered()) as client:
        check(client, _PLACE, record)


@pytest.mark.timeout(7200 if LONG else 180)
@pytest.mark.parametrize("shards", [1, 2])
def test_what_was_acknowledged_survives_power_cuts_under_load(tmp_path: Path, shards: int) -> None:
    dice = random.Random(f"power-{SEED}-{shards}")
    for start in range(0, CUTS, CUTS_PER_IMAGE):
        folder = tmp_path / f"image-{start}"
        folder.mkdir()
        machine, record = Machine(folder, shards, dice), LoadRecord()
        for life in range(min(CUTS_PER_IMAGE, CUTS - start)):
            machine.live(life, record)
        machine.look(record)
        (folder / "image").unlink()
