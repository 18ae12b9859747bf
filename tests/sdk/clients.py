"""Clients of the tests in this folder."""

from apache_iggy import IggyClient

from tests.support.node import Node
from tests.support.raw import PASSWORD, USERNAME

__all__ = ["connected", "logged_in"]


async def connected(node: Node) -> IggyClient:
    """A client with a connection and no session."""
    client = IggyClient(node.tcp)
    await client.connect()
    return client


async def logged_in(node: Node) -> IggyClient:
    """A client with a session."""
    client = await connected(node)
    await client.login_user(USERNAME, PASSWORD)
    return client
