"""Holds logged-in connections that do nothing: `python -m benches.idle_clients HOST PORT COUNT`.

A process of its own, so that its memory and its descriptors are not the server's. It prints a line once all
are logged in, and lets go of them when its standard input ends.
"""

import resource
import sys

from tests.support.raw import RawClient


def main() -> None:
    """Opens, logs in, waits."""
    host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    clients = []
    for _ in range(count):
        client = RawClient((host, port))
        clients.append(client)
        client.register()
    print(f"{len(clients)} clients are logged in", flush=True)
    sys.stdin.read()
    for client in clients:
        client.close()


if __name__ == "__main__":
    main()
