"""A start script: the server without root's power over other users' files."""

import os
import sys
from importlib import import_module

from server_ng import cli

_NOBODY = 65534


def main() -> int:
    """Runs the server's own command line as nobody, if there is a choice."""
    # Imported while they can be read: nobody may not be allowed into the folder they are in.
    import_module("server_ng.bootstrap")
    if os.geteuid() == 0:
        os.setegid(_NOBODY)
        os.seteuid(_NOBODY)
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
