"""Where io_uring is forbidden: `auto` does without and says so, `uring` does not start."""

from tests.support.fixtures import StartNode
from tests.support.node import RINGLESS_START


def test_auto_takes_posix_and_says_why(start_node: StartNode) -> None:
    node = start_node(start=RINGLESS_START)
    assert node.log("opened")[0]["backend"] == "posix"
    (told,) = node.log("io_uring_unavailable")
    assert told["level"] == "warning"
    assert "not permitted" in told["reason"]
    with node.connect_registered() as client:
        client.ping()
    assert node.terminate() == 0


def test_uring_by_name_is_refused(make_node: StartNode) -> None:
    node = make_node(start=RINGLESS_START, settings={"system.io.backend": "uring"}).launch()
    assert node.wait() == 78
    assert "io_uring was asked for by name and cannot be used here" in node.stderr()


def test_posix_by_name_has_nothing_to_say(start_node: StartNode) -> None:
    node = start_node(start=RINGLESS_START, settings={"system.io.backend": "posix"})
    assert node.log("io_uring_unavailable") == []
    assert node.terminate() == 0
