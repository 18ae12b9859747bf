"""The unmodified `apache-iggy` client: users."""

from apache_iggy import GlobalPermissions, UserStatus

from tests.sdk.clients import logged_in
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
