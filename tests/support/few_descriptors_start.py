"""A start script: the server with as many descriptors as a service manager gives by default."""

import resource
import sys
from typing import Final

from server_ng import cli

__all__ = ["DESCRIPTORS"]

DESCRIPTORS: Final = 1_024


def main() -> int:
    """Runs the server's own command line, which cannot take more."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
