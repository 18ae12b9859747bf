"""The unmodified `apache-iggy` client: users."""

from collections.abc import Awaitable
from itertools import cycle

import pytest
from apache_iggy import (
    Consumer,
    GlobalPermissions,
    IggyClient,
    Permissions,
    PollingStrategy,
    SendMessage,
    StreamPermissions,
    TopicPermissions,
    UserStatus,
)

from tests.sdk.clients import connected, logged_in
from tests.support.fixtures import StartNode
from tests.support.node import Node
from tests.support.raw import USERNAME

_FLAGS = [name for name in dir(GlobalPermissions) if not name.startswith("_")]


async def test_root_is_a_user_with_every_flag(served: Node) -> None:
    client = await logged_in(served)
    (listed,) = await client.get_users()
    assert (listed.id, listed.username, listed.status) == (0, USERNAME, UserStatus.Active)
    for name in (0, USERNAME):
        root = await client.get_user(name)
        assert root is not None
        assert (root.id, root.username, root.created_at) == (0, USERNAME, listed.created_at)
        assert root.permissions is not None
        granted = root.permissions.global_permissions
        assert len(_FLAGS) == 10
        assert all(getattr(granted, flag) for flag in _FLAGS)
        assert not root.permissions.streams
    assert await client.get_user(1) is None
    assert await client.get_user("nobody") is None


async def test_root_stays_who_it_is_over_every_end(start_node: StartNode) -> None:
    node = start_node(settings={"system.sharding.cpu_allocation": "2", "system.sharding.pin_cores": "false"})
    made = [(user.id, user.created_at) for user in await (await logged_in(node)).get_users()]
    assert len(made) == 1
    for end in (node.kill, node.terminate):
        end()
        node.restart()
        client = await logged_in(node)
        assert [(user.id, user.created_at) for user in await client.get_users()] == made


READS = Permissions(GlobalPermissions(read_streams=True), {1: StreamPermissions(poll_messages=True)})


async def as_user(node: Node, username: str, password: str) -> IggyClient:
    client = await connected(node)
    await client.login_user(username, password)
    return client


async def test_the_life_of_a_user(served: Node) -> None:
    root = await logged_in(served)
    made = await root.create_user("mortal", "mortal-secret", UserStatus.Active, READS)
    assert (made.username, made.status) == ("mortal", UserStatus.Active)
    assert made.permissions is not None
    assert made.permissions.global_permissions.read_streams
    assert made.permissions.streams is not None
    assert made.permissions.streams[1].poll_messages
    with pytest.raises(RuntimeError, match="already exists"):
        await root.create_user("mortal", "another-secret")
    mortal = await as_user(served, "mortal", "mortal-secret")
    found = await mortal.get_user("mortal")
    assert found is not None
    assert found.id == made.id
    with pytest.raises(RuntimeError, match="Unauthorized"):
        await mortal.get_user("iggy")
    with pytest.raises(RuntimeError, match="Unauthorized"):
        await mortal.create_user("another", "another-secret")
    await root.update_user("mortal", username="renamed", status=UserStatus.Inactive)
    with pytest.raises(RuntimeError, match="Invalid credentials"):
        await as_user(served, "renamed", "mortal-secret")
    with pytest.raises(RuntimeError, match="Unauthorized"):
        await mortal.get_user("renamed")
    await root.update_user(made.id, status=UserStatus.Active)
    await root.update_permissions("renamed", None)
    cleared = await root.get_user("renamed")
    assert cleared is not None
    assert cleared.permissions is None
    await root.delete_user("renamed")
    assert await root.get_user(made.id) is None
    with pytest.raises(RuntimeError, match="Invalid credentials"):
        await as_user(served, "renamed", "mortal-secret")
    again = await root.create_user("mortal", "mortal-secret")
    assert again.id > made.id
    await root.delete_user(again.id)


async def test_a_user_rotates_the_password(served: Node) -> None:
    root = await logged_in(served)
    await root.create_user("rotator", "first-secret")
    rotator = await as_user(served, "rotator", "first-secret")
    with pytest.raises(RuntimeError, match="Invalid credentials"):
        await rotator.change_password("rotator", "not-the-secret", "second-secret")
    await rotator.change_password("rotator", "first-secret", "second-secret")
    with pytest.raises(RuntimeError, match="Invalid credentials"):
        await as_user(served, "rotator", "first-secret")
    await as_user(served, "rotator", "second-secret")
    await root.change_password("rotator", "second-secret", "third-secret")
    await as_user(served, "rotator", "third-secret")
    await root.delete_user("rotator")


async def test_root_is_protected(served: Node) -> None:
    root = await logged_in(served)
    with pytest.raises(RuntimeError, match=r"[Cc]annot delete user"):
        await root.delete_user(0)
    with pytest.raises(RuntimeError, match=r"[Cc]annot change permissions"):
        await root.update_permissions("iggy", None)


async def test_every_step_survives_every_end(start_node: StartNode) -> None:
    node = start_node(settings={"system.sharding.cpu_allocation": "2", "system.sharding.pin_cores": "false"})
    ends = cycle([node.kill, node.terminate])

    async def next_life() -> IggyClient:
        next(ends)()
        node.restart()
        return await logged_in(node)

    root = await logged_in(node)
    made = await root.create_user("keeper", "first-secret", UserStatus.Active, READS)
    root = await next_life()
    kept = await root.get_user("keeper")
    assert kept is not None
    assert (kept.id, kept.created_at) == (made.id, made.created_at)
    await (await as_user(node, "keeper", "first-secret")).change_password(
        "keeper", "first-secret", "second-secret"
    )
    root = await next_life()
    with pytest.raises(RuntimeError, match="Invalid credentials"):
        await as_user(node, "keeper", "first-secret")
    await as_user(node, "keeper", "second-secret")
    await root.update_user("keeper", username="renamed")
    root = await next_life()
    await as_user(node, "renamed", "second-secret")
    await root.update_user("renamed", status=UserStatus.Inactive)
    root = await next_life()
    with pytest.raises(RuntimeError, match="Invalid credentials"):
        await as_user(node, "renamed", "second-secret")
    await root.delete_user("renamed")
    root = await next_life()
    assert [user.id for user in await root.get_users()] == [0]
    assert (await root.create_user("keeper", "first-secret")).id == made.id + 1


async def test_rights_in_a_stream_and_a_topic_hold_for_the_next_request(served: Node) -> None:
    root = await logged_in(served)
    for stream in ("own", "other"):
        await root.create_stream(stream)
        for topic in ("first", "second"):
            await root.create_topic(stream, topic, 1)
    own = await root.get_stream("own")
    assert own is not None
    first = await root.get_topic("own", "first")
    assert first is not None
    await root.create_user("plain", "plain-secret")
    plain = await as_user(served, "plain", "plain-secret")

    async def allowed(stream: str, topic: str) -> tuple[bool, bool]:
        """Whether the user may send to a topic, and poll it."""
        return (
            await succeeds(plain.send_messages(stream, topic, 0, [SendMessage("one")])),
            await succeeds(
                plain.poll_messages(
                    stream,
                    topic,
                    partition_id=0,
                    consumer=Consumer.Single("plain"),
                    polling_strategy=PollingStrategy.First(),
                    count=1,
                    auto_commit=False,
                )
            ),
        )

    assert await allowed("own", "first") == (False, False)
    in_topic = StreamPermissions(topics={first.id: TopicPermissions(send_messages=True)})
    await root.update_permissions("plain", Permissions(streams={own.id: in_topic}))
    assert await allowed("own", "first") == (True, False)
    assert await allowed("own", "second") == (False, False)
    await root.update_permissions(
        "plain", Permissions(streams={own.id: StreamPermissions(poll_messages=True)})
    )
    assert await allowed("own", "first") == (False, True)
    assert await allowed("own", "second") == (False, True)
    assert await allowed("other", "first") == (False, False)
    assert not await succeeds(plain.create_topic("own", "third", 1))
    await root.update_permissions(
        "plain", Permissions(streams={own.id: StreamPermissions(manage_topics=True)})
    )
    assert await succeeds(plain.create_topic("own", "third", 1))
    assert not await succeeds(plain.create_topic("other", "third", 1))
    await root.delete_stream("own")
    await root.create_stream("own")
    again = await root.get_stream("own")
    assert again is not None
    assert again.id == own.id
    assert not await succeeds(plain.create_topic("own", "third", 1))
    with pytest.raises(RuntimeError, match="not found"):
        await plain.send_messages("missing", "first", 0, [SendMessage("one")])


async def succeeds(request: Awaitable[object]) -> bool:
    """Whether a request is performed; it is refused for lack of rights otherwise."""
    try:
        await request
    except RuntimeError as error:
        if "Unauthorized" not in str(error):
            raise
        return False
    return True
