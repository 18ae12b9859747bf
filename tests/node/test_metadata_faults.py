"""Bugs in the writing of metadata: the command fails, and every later start serves."""

from tests.support.batches import name8
from tests.support.fixtures import StartNode
from tests.support.node import Node, Plan, faulty
from tests.support.topic_client import TopicClient

DAMAGED = 65
CREATE_STREAM = 202
INTERNAL_ERROR = 1
FAULTY_FOLD = faulty("fold poison")
FAULTY_ROWS = faulty("rows")


def create(node: Node, *names: str) -> list[int]:
    """The status of the creation of each stream."""
    with TopicClient(node.connect_registered()) as client:
        answers = [client.ask(CREATE_STREAM, name8(name)) for name in names]
    return [answer.status or answer.rejection for answer in answers]


def faults(node: Node) -> list[int]:
    """The operations that the log says failed."""
    return [int(line["op"]) for line in node.log("apply_failed")]


def test_a_bug_in_a_fold_fails_the_command_and_no_start(start_node: StartNode) -> None:
    node = start_node(FAULTY_FOLD)
    assert create(node, "before", "poison", "after") == [0, INTERNAL_ERROR, 0]
    (op,) = faults(node)
    node.kill()
    node.restart()
    assert faults(node) == [op]
    with TopicClient(node.connect_registered()) as client:
        assert client.topics("before") == {}
        assert client.topics("after") == {}
    assert create(node, "before", "last") == [1012, 0]
    assert node.counters().total("server_ng_apply_faults_total") == 1
    assert node.terminate() == 0
    node.restart()
    assert faults(node) == []
    assert create(node, "last") == [1012]


def test_rows_that_cannot_be_read_are_refused_with_a_remedy(
    start_node: StartNode, make_node: StartNode
) -> None:
    node = start_node()
    assert create(node, "s") == [0]
    assert node.terminate() == 0
    kept = {path: path.read_bytes() for path in (node.data / "groups").rglob("*") if path.is_file()}
    broken = make_node(Plan({"system.path": str(node.data)}, FAULTY_ROWS.environment, FAULTY_ROWS.start))
    for _ in range(2):
        assert broken.launch().wait() == DAMAGED, broken.stdout()
        assert "restore the data directory" in broken.stderr()
        assert [line["status"] for line in broken.log("start_refused")] == [DAMAGED]
    assert {path: path.read_bytes() for path in kept} == kept
    node.restart()
    assert create(node, "s") == [1012]
