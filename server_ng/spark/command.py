"""``server-ng spark``: jobs on topics. Started by name: the server's own commands import none of this."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from server_ng.segments.lease import Lease, LeaseError
from server_ng.spark.status import JobStatus

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Runs one job and returns the exit status."""
    parser = _parser()
    try:
        chosen = parser.parse_args(arguments)
    except SystemExit as exit_:
        return JobStatus.USAGE if exit_.code else JobStatus.DONE
    try:
        status: JobStatus = chosen.run(chosen)
    except LeaseError as error:
        print(f"server-ng spark: {error}", file=sys.stderr)
        return JobStatus.DATA_LOSS
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="server-ng spark", description="Jobs on topics: what they read is a lease."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    verify = commands.add_parser("verify", help="hold every byte of a lease against its manifest")
    verify.add_argument("lease", type=Path, metavar="LEASE", help="the directory of a lease")
    verify.add_argument("--json", action="store_true", help="one object per segment, the last one sums up")
    verify.set_defaults(run=_verify)
    return parser


def _verify(chosen: argparse.Namespace) -> JobStatus:
    from server_ng.spark.verifying import findings

    found = list(findings(chosen.lease, Lease.read(chosen.lease)))
    bad = [each for each in found if "error" in each]
    for each in found if chosen.json else bad:
        print(json.dumps(each) if chosen.json else each["error"])
    total = {
        "segments": len(found),
        "damaged": len(bad),
        "messages": sum(int(str(f["messages"])) for f in found),
    }
    print(json.dumps(total) if chosen.json else "{segments} segments, {damaged} damaged".format(**total))
    return JobStatus.CORRUPT_INPUT if bad else JobStatus.DONE
