"""``python -m server_ng`` is the ``server-ng`` command."""

from server_ng.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
