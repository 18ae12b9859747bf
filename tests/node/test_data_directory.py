"""The data directory: founded once, recovered after every end, refused when it is not what was left there."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from server_ng import binding
from server_ng.bootstrap.cpus import node_cpus, plan_shards
from server_ng.config.cpu_allocation import AutoCpus
from tests.support.fixtures import LONG, StartNode
from tests.support.frames import REGISTER, Eviction, Reply, Request, password_body
from tests.support.node import FRAME_BYTES_MAX, Node, clean_environment
from tests.support.raw import PASSWORD, USERNAME
from tests.support.storage_reader import PAGE, blocks, layout, superblock_copies
from tests.support.waiting import WAIT_MAX

DAMAGED, JOURNAL_IO, CONFIGURATION = 65, 74, 78
CREATE_STREAM, NO_SESSION, SESSION_TOO_LOW = 128, 1, 7
PING = 1
KILLS = int(os.environ.get("NG_KILLS", "200" if LONG else "4"))


def shard(node: Node, number: int = 0, epoch: int = 1) -> Path:
    """The directory of a shard."""
    return node.data / "shards" / f"{epoch:08}-{number:08}"


def superblock(node: Node) -> dict[str, int]:
    """What the superblock of the first shard says."""
    return superblock_copies((shard(node) / "superblock").read_bytes())[0]


def log_in(node: Node) -> int:
    """The number of a new session."""
    with node.connect_registered() as client:
        return client.session


def refused(node: Node, status: int) -> str:
    """Starts a server that must refuse to with this status; what it says to who started it."""
    assert node.launch().wait() == status, node.stdout()
    assert not (node.runtime / "endpoints.json").exists()
    assert node.log("start_refused")[0]["status"] == status
    return node.stderr()


def flip(path: Path, position: int) -> None:
    """Turns one bit of a file."""
    with path.open("r+b") as file:
        file.seek(position)
        (byte,) = file.read(1)
        file.seek(position)
        file.write(bytes([byte ^ 1]))


def test_it_is_founded_once_and_found_again(start_node: StartNode, backend: str) -> None:
    node = start_node(settings={"system.io.backend": backend})
    founded = (node.data / "LAYOUT").read_bytes()
    assert layout(founded)[2:] == (1, 1, [(1, 0)])
    assert superblock(node)["frame_bytes_max"] == FRAME_BYTES_MAX
    before = log_in(node)
    assert node.terminate() == 0
    assert superblock(node)["clean"] == 1
    node.restart()
    assert superblock(node)["clean"] == 0
    assert (node.data / "LAYOUT").read_bytes() == founded
    assert log_in(node) > before
    assert node.terminate() == 0


def test_sessions_grow_whatever_ends_the_process(start_node: StartNode, backend: str) -> None:
    # Each life makes room for its sessions where those of the life before are.
    node = start_node(settings={"metadata.clients_table_max": "2", "system.io.backend": backend})
    last = 0
    for number in range(KILLS):
        with node.connect() as one, node.connect() as other:
            for client in (one, other):
                client.send_login()
            for client in (one, other)[: 1 + number % 2]:
                assert isinstance(client.read_login(), Reply)
                assert client.session > last
            last = max(one.session, other.session)
            # The other login is somewhere between the socket and the disk now.
            assert node.kill() == -signal.SIGKILL
        node.restart()
        assert superblock(node)["incarnation"] >= number + 2
    assert log_in(node) > last
    assert node.terminate() == 0


def test_a_session_is_in_the_journal_before_its_client_knows_it(start_node: StartNode, backend: str) -> None:
    node = start_node(settings={"system.io.backend": backend})
    with node.connect_registered() as client:
        assert node.kill() == -signal.SIGKILL
    journal = (shard(node) / "journal-00000000").read_bytes()
    logins = [
        record for block in blocks(journal) for record in block.records if record.client == client.client
    ]
    assert [(record.op, record.body) for record in logins] == [(client.session, bytes(4))]


def test_a_journal_that_cannot_be_written_ends_the_process(start_node: StartNode, backend: str) -> None:
    node = start_node(settings={"system.io.backend": backend})
    last = max(log_in(node) for _ in range(20))
    written = blocks((shard(node) / "journal-00000000").read_bytes())[-1].offset
    # The kernel refuses what is written behind this: not to the log, which is far shorter.
    _, hard = resource.prlimit(node.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(node.pid, resource.RLIMIT_FSIZE, (written // 2, hard))
    with node.connect() as client:
        client.send_login()
        assert node.wait() == JOURNAL_IO
        assert client.rest() == b""
    assert "journal-00000000: write: File too large (EFBIG)" in node.stderr()
    assert node.last_crash()["status"] == JOURNAL_IO
    assert node.last_crash()["thread"] == "shard-0"
    node.restart()
    assert log_in(node) > last
    assert node.terminate() == 0


def test_a_connection_that_ends_logs_its_client_out(start_node: StartNode) -> None:
    node = start_node(settings={"metadata.clients_table_max": "2"})
    with node.connect_registered() as member:
        for _ in range(8):
            log_in(node)
            node.wait_for_count(1, "sessions_open")
        # Were those still in the table, this one would have made room for them.
        assert member.command(PING).status == 0
        member.logout()


def test_a_client_that_logs_in_elsewhere_is_told_once(start_node: StartNode, backend: str) -> None:
    settings = {
        "system.io.backend": backend,
        "system.sharding.cpu_allocation": "2",
        "system.sharding.pin_cores": "false",
    }
    node = start_node(settings=settings)
    with node.connect() as first, node.connect() as second:
        first.register()
        number = first.client
        again = Request(REGISTER, body=password_body(USERNAME, PASSWORD), client=number)
        assert isinstance(second.ask(again), Reply)
        node.wait_for_count(1, "sessions_open")
        answer = first.ask(Request(CREATE_STREAM, client=number, session=first.session, request=1))
        while isinstance(answer, Reply):
            # The news was still on its way.
            answer = first.ask(Request(CREATE_STREAM, client=number, session=first.session, request=1))
        assert isinstance(answer, Eviction)
        assert answer.reason == SESSION_TOO_LOW
        answer = first.ask(Request(CREATE_STREAM, client=number, session=first.session, request=1))
        assert isinstance(answer, Eviction)
        assert answer.reason == NO_SESSION
        first.register()


def test_the_number_of_shards_may_change(start_node: StartNode, backend: str) -> None:
    plan = {"system.io.backend": backend, "system.sharding.pin_cores": "false"}
    node = start_node(settings={**plan, "system.sharding.cpu_allocation": "3"})
    last = log_in(node)
    for epoch, shards in ((2, 1), (3, 2)):
        assert (node.kill() if shards == 1 else node.terminate()) in (0, -signal.SIGKILL)
        node.restart({"system.sharding.cpu_allocation": str(shards)})
        assert layout((node.data / "LAYOUT").read_bytes())[2:4] == (epoch, shards)
        assert log_in(node) > last
        last += 1
    assert node.terminate() == 0
    assert sorted(path.name for path in (node.data / "shards").iterdir()) == [
        "00000003-00000000",
        "00000003-00000001",
    ]


def test_shards_stay_while_the_machine_is_about_as_large(start_node: StartNode) -> None:
    usable = [int(cpu) for cpu in binding.probe(Path())["usable_cpus"].split(",")]
    auto = len(plan_shards(AutoCpus(), usable, True, node_cpus))
    plan = {"system.sharding.cpu_allocation": str(2 * auto), "system.sharding.pin_cores": "false"}
    node = start_node(settings=plan)
    last = log_in(node)
    node.kill()
    node.restart({"system.sharding.cpu_allocation": "auto"})
    assert node.log("shards_as_recorded")[0]["shards"] == 2 * auto
    assert layout((node.data / "LAYOUT").read_bytes())[2:4] == (1, 2 * auto)
    assert log_in(node) > last
    assert node.terminate() == 0


@pytest.fixture
def stopped(start_node: StartNode) -> Node:
    """A server that was killed after a few logins."""
    node = start_node()
    for _ in range(3):
        log_in(node)
    node.kill()
    return node


def test_a_damaged_block_of_the_journal_is_named(stopped: Node) -> None:
    journal = shard(stopped) / "journal-00000000"
    written = blocks(journal.read_bytes())
    known = [block for block in written if block.sequence <= written[-1].synced_through and block.records]
    flip(journal, known[-1].offset + 40)
    before = journal.read_bytes()
    said = refused(stopped, DAMAGED)
    assert str(shard(stopped)) in said
    assert f"block-{known[-1].sequence}" in said
    assert f"server-ng recover {stopped.data}" in said
    assert journal.read_bytes() == before


def recover(node: Node, *accepted: str) -> subprocess.CompletedProcess[str]:
    """Runs ``server-ng recover`` on the directory of a server."""
    options = [word for name in accepted for word in ("--accept", name)]
    command = [str(Path(sys.executable).with_name("server-ng")), "recover", str(node.data), *options]
    return subprocess.run(
        command, env=clean_environment(), capture_output=True, text=True, check=False, timeout=WAIT_MAX
    )


def test_a_loss_is_accepted_by_its_names_and_by_nothing_else(stopped: Node) -> None:
    whole = recover(stopped)
    assert (whole.returncode, whole.stdout) == (0, f"Nothing is lost in {stopped.data}.\n")
    journal = shard(stopped) / "journal-00000000"
    written = blocks(journal.read_bytes())
    logins = [block for block in written if any(record.client for record in block.records)]
    flip(journal, logins[1].offset + 40)
    listed = recover(stopped)
    assert listed.returncode == DAMAGED
    # The last line is the command that accepts all of it.
    names = re.findall(r"--accept (\S+)", listed.stdout.splitlines()[-1])
    assert f"shard-0.block-{logins[1].sequence}" in names
    for wrong in ([*names, "shard-0.block-1"], names[1:] or ["shard-0.block-1"]):
        refusal = recover(stopped, *wrong)
        assert refusal.returncode == DAMAGED
        assert names[0] in refusal.stderr
        refused(stopped, DAMAGED)
    accepted = recover(stopped, *names)
    assert (accepted.returncode, accepted.stderr) == (0, "")
    for _ in range(2):
        stopped.restart()
        with stopped.connect_registered() as client:
            client.ping()
        assert stopped.terminate() == 0
    assert recover(stopped).returncode == 0


def test_nothing_is_recovered_from_a_server_that_runs(start_node: StartNode, tmp_path: Path) -> None:
    node = start_node()
    held = recover(node)
    assert held.returncode == CONFIGURATION
    assert f"process {node.pid}" in held.stderr
    node.data = tmp_path / "nothing"
    assert recover(node).returncode == CONFIGURATION
    assert not node.data.exists()


@pytest.mark.parametrize("copies", [1, 3])
def test_a_superblock_needs_two_good_copies(stopped: Node, copies: int) -> None:
    file = shard(stopped) / "superblock"
    for copy in range(copies):
        flip(file, copy * PAGE + 200)
    if copies == 1:
        stopped.restart()
        assert stopped.terminate() == 0
        return
    assert str(file) in refused(stopped, DAMAGED)


def test_a_damaged_manifest_is_named(start_node: StartNode) -> None:
    node = start_node()
    log_in(node)
    assert node.terminate() == 0
    (manifest,) = shard(node).glob("manifest-*")
    flip(manifest, 100)
    assert str(manifest) in refused(node, DAMAGED)
    manifest.unlink()
    assert str(manifest) in refused(node, DAMAGED)


def test_a_damaged_state_of_the_metadata_is_named(start_node: StartNode) -> None:
    node = start_node()
    log_in(node)
    assert node.terminate() == 0
    (state,) = (node.data / "groups").glob("*/*/state-*")
    flip(state, 130)
    assert str(state) in refused(node, DAMAGED)


def test_without_layout_nothing_is_founded_over_the_shards(stopped: Node) -> None:
    file = stopped.data / "LAYOUT"
    kept = file.read_bytes()
    file.unlink()
    said = refused(stopped, DAMAGED)
    assert str(file) in said
    assert "Restore it" in said
    file.write_bytes(kept)
    flip(file, 70)
    assert str(file) in refused(stopped, DAMAGED)


def test_an_older_layout_is_named_beside_the_file_it_names(start_node: StartNode) -> None:
    unpinned = {"system.sharding.pin_cores": "false"}
    node = start_node(settings={**unpinned, "system.sharding.cpu_allocation": "2"})
    assert node.terminate() == 0
    file = node.data / "LAYOUT"
    older = file.read_bytes()
    node.restart({"system.sharding.cpu_allocation": "1"})
    assert node.terminate() == 0
    newer = file.read_bytes()
    file.write_bytes(older)
    said = refused(node, DAMAGED)
    assert f"{file} names it" in said
    assert str(shard(node) / "superblock") in said
    file.write_bytes(newer)
    assert node.start().terminate() == 0


def test_a_layout_of_another_directory_is_named_beside_the_superblock(
    start_node: StartNode, make_node: StartNode
) -> None:
    node, other = start_node(), make_node().start()
    for each in (node, other):
        assert each.terminate() == 0
    file = node.data / "LAYOUT"
    shutil.copy(other.data / "LAYOUT", file)
    said = refused(node, DAMAGED)
    assert f"{shard(node) / 'superblock'} belongs to another cluster or node than {file}" in said


def test_an_older_superblock_is_named_beside_the_manifest_that_it_names(start_node: StartNode) -> None:
    node = start_node()
    log_in(node)
    assert node.terminate() == 0
    file = shard(node) / "superblock"
    older = file.read_bytes()
    (manifest,) = shard(node).glob("manifest-*")
    node.restart()
    log_in(node)
    assert node.terminate() == 0
    newer = file.read_bytes()
    file.write_bytes(older)
    said = refused(node, DAMAGED)
    assert f"{manifest} is missing, and {file} names it" in said
    file.write_bytes(newer)
    assert node.start().terminate() == 0


@pytest.mark.parametrize(
    ("key", "value", "numbers"),
    [
        ("message_bus.max_message_size", "2 MiB", (FRAME_BYTES_MAX, 2 * FRAME_BYTES_MAX)),
        ("metadata.clients_table_max", "100", (16_384, 100)),
        ("partition.consumer_offsets_max", "100", (4_096, 100)),
    ],
)
def test_what_the_directory_was_founded_with_cannot_change(
    stopped: Node, key: str, value: str, numbers: tuple[int, int]
) -> None:
    with pytest.raises(AssertionError, match=key):
        stopped.restart({key: value})
    assert stopped.wait() == CONFIGURATION
    said = stopped.stderr()
    assert key in said
    for number in numbers:
        assert str(number) in said
    stopped.restart({key: str(numbers[0])})
    assert stopped.terminate() == 0


def test_two_starts_right_after_a_kill(start_node: StartNode, make_node: StartNode) -> None:
    """The lock of a process that was killed goes with its last write; one of two heirs waits for that."""
    owner = start_node()
    log_in(owner)
    owner.kill()
    heirs = [make_node(settings={"system.path": str(owner.data)}).launch() for _ in range(2)]
    for heir in heirs:
        heir.runtime = owner.runtime
    served = [heir for heir in heirs if heir.notify.wait_for("READY=1", heir.process)]
    assert len(served) == 1
    (other,) = (heir for heir in heirs if heir not in served)
    assert other.wait() == CONFIGURATION
    assert served[0].terminate() == 0


def test_a_copy_made_while_stopped_is_as_good(start_node: StartNode, make_node: StartNode) -> None:
    node = start_node()
    last = log_in(node)
    assert node.terminate() == 0
    copy = make_node()
    shutil.copytree(node.data, copy.data)
    copy.start()
    assert log_in(copy) > last
    assert copy.terminate() == 0
