"""One trial: a copy of a template, one damaged file, and two or three lives of a server on it."""

import contextlib
import random
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final
from urllib.error import HTTPError

from tests.support.damage.cells import Cell
from tests.support.damage.expectation import expect, may_lose
from tests.support.damage.fault import Fault, draw_fault
from tests.support.damage.history import RefusedSendError, send_messages
from tests.support.damage.judge import Complaint, Forbidden, judge
from tests.support.damage.leases import judge_leases
from tests.support.damage.ledger import PartitionKey
from tests.support.damage.reading import Reading, read_everything
from tests.support.damage.recovery import inspect_topic
from tests.support.damage.remedy import Followed, Refusal, Remedy, follow
from tests.support.damage.template import Template, copy_tree
from tests.support.node import Node, Plan
from tests.support.topic_client import TopicClient
from tests.support.waiting import until

__all__ = ["Outcome", "Verdict", "run_trial"]

_REFUSALS_MAX: Final = 4
"""A swap or a duplicate may be refused once for each of its files."""


_DAMAGE_EVENTS: Final = ("messages_damaged", "messages_fenced")
_COPIES: Final = 0.4
"""The share of operators with a copy, where a refusal has a remedy for those without one, too."""


class Outcome(StrEnum):
    """The end of a trial."""

    REPAIRED = "repaired"
    FENCED = "fenced"
    ACCEPTED = "refused, accepted"
    RESTORED = "refused, restored"
    DELETED = "refused, deleted"
    FORBIDDEN = "FORBIDDEN"


@dataclass(slots=True)
class Verdict:
    """What a trial found."""

    cell: Cell
    fault: str
    outcome: Outcome = Outcome.REPAIRED
    complaints: list[Complaint] = field(default_factory=list)


class _FailedError(Exception):
    """The trial ends here."""

    def __init__(self, *complaints: Complaint) -> None:
        super().__init__()
        self.complaints = complaints


def run_trial(cell: Cell, templates: Sequence[Template], dice: random.Random, folder: Path) -> Verdict:
    """Runs the trial in a folder, which it leaves as it is."""
    template = next(each for each in templates if each.name == cell.template)
    fault = draw_fault(template, templates, cell.file_kind, cell.fault, dice)
    assert fault is not None, cell
    verdict = Verdict(cell, str(fault))
    with Node(folder, Plan(settings=template.settings)) as node:
        trial = _Trial(template, fault, node, dice)
        try:
            verdict.outcome = trial.run()
        except _FailedError as failed:
            verdict.outcome = Outcome.FORBIDDEN
            verdict.complaints += failed.complaints
    return verdict


class _Trial:
    def __init__(self, template: Template, fault: Fault, node: Node, dice: random.Random) -> None:
        self._template, self._node, self._dice = template, node, dice
        copy_tree(template.data, node.data)
        self._touched = fault.damage(node.data)
        self._expected = expect(template, self._touched)
        self._followed: list[Followed] = []
        self._fenced = False
        self._has_copy = dice.random() < _COPIES

    def run(self) -> Outcome:
        """Two or three lives; stale data of the first may come to light in the last."""
        lives = self._dice.choice((2, 2, 3))
        for life in range(lives):
            if life == 0:
                self._start_and_follow()
            else:
                self._start_again()
            self._live()
            self._end(orderly=life == lives - 1 or self._dice.random() < 0.5)
        if self._fenced:
            self._check_inspection()
        if wrong := list(judge_leases(self._node.data, self._template.data)):
            raise _FailedError(*wrong)
        return self._outcome()

    def _outcome(self) -> Outcome:
        remedies = {each.remedy for each in self._followed}
        if self._fenced:
            return Outcome.FENCED
        if Remedy.ACCEPT in remedies:
            return Outcome.ACCEPTED
        if Remedy.DELETE in remedies:
            return Outcome.DELETED
        return Outcome.RESTORED if remedies else Outcome.REPAIRED

    def _start_and_follow(self) -> None:
        while (refusal := self._start()) is not None:
            wrong = refusal.complaints(self._node.data, (*self._touched, *self._template.damaged))
            if wrong:
                raise _FailedError(*(Complaint(Forbidden.REFUSAL, story) for story in wrong))
            try:
                followed = follow(refusal, self._node.data, self._template.data, has_copy=self._has_copy)
            except (AssertionError, OSError) as error:
                story = f"the remedy does not work: {error}; {refusal.said}"
                raise _FailedError(Complaint(Forbidden.REFUSAL, story)) from error
            if followed is None or len(self._followed) == _REFUSALS_MAX:
                story = f"no remedy after {[each.remedy for each in self._followed]}: {refusal.said}"
                raise _FailedError(Complaint(Forbidden.REFUSAL, story))
            self._followed.append(followed)
            if followed.remedy is Remedy.ACCEPT:
                self._expected.may_lose |= may_lose(self._template, followed.accepted)
            elif followed.remedy in (Remedy.RESTORE_FILE, Remedy.RESTORE_ALL):
                # The backup has everything again.
                self._expected.fences.clear()

    def _start_again(self) -> None:
        refusal = self._start()
        if refusal is not None:
            story = f"a later start ended with status {refusal.status}: {refusal.said}"
            raise _FailedError(Complaint(Forbidden.REFUSAL, story))

    def _start(self) -> Refusal | None:
        node = self._node.launch()
        if node.notify.wait_for("READY=1", node.process):
            node.read_endpoints()
            return None
        if node.process.poll() is None and not _ends(node):
            raise _FailedError(Complaint(Forbidden.HUNG, f"neither ready nor ended: {node.stderr()}"))
        return Refusal(node.wait(), node.stderr().strip())

    def _live(self) -> None:
        try:
            with TopicClient(self._node.connect_registered()) as client:
                self._check(read_everything(client, self._expected.ledger))
                self._send(client)
            self._node.http("/ready")
        except HTTPError as error:
            story = f"/ready answers {error.code}: {error.read().decode()}"
            raise _FailedError(Complaint(Forbidden.UNRELATED, story)) from error
        except (OSError, EOFError, AssertionError) as error:
            raise _FailedError(self._explain(error)) from error

    def _explain(self, error: Exception) -> Complaint:
        node = self._node
        if not isinstance(error, AssertionError) and _ends(node):
            return Complaint(
                Forbidden.ENDED, f"status {node.wait()} while it served: {node.stderr().strip()}"
            )
        return Complaint(Forbidden.WRONG, f"{type(error).__name__}: {error}")

    def _check(self, reading: Reading) -> None:
        complaints = judge(self._expected, reading)
        complaints += self._unnamed(reading)
        if complaints:
            raise _FailedError(*complaints)
        self._fenced = self._fenced or any(found.refused for found in reading.values())
        self._expected.settle(reading)

    def _unnamed(self, reading: Reading) -> list[Complaint]:
        """Each partition with a fence must be named in the log."""
        fenced = {key for key, found in reading.items() if found.refused}
        with contextlib.suppress(AssertionError):
            until(lambda: fenced <= self._named(), "every fenced partition in the log")
        return [
            Complaint(Forbidden.UNNAMED, f"{key}: the log does not have its damage")
            for key in sorted(fenced - self._named())
        ]

    def _named(self) -> set[PartitionKey]:
        lines = [line for event in _DAMAGE_EVENTS for line in self._node.log(event) if "topic" in line]
        return {PartitionKey(line["stream"], line["topic"], line["partition"]) for line in lines}

    def _send(self, client: TopicClient) -> None:
        """One message to each partition, whose offset nothing had before."""
        complaints = []
        for key, partition in self._expected.ledger.partitions.items():
            try:
                base, digests = send_messages(client, key, [self._dice.randbytes(40)])
            except RefusedSendError as refused:
                complaints.append(Complaint(Forbidden.SEND, f"{key}: {refused}"))
                continue
            if base < partition.next_offset:
                story = f"{key}: {base} is given again, the next one was {partition.next_offset}"
                complaints.append(Complaint(Forbidden.REUSED, story))
            partition.acknowledge(base, digests)
        if complaints:
            raise _FailedError(*complaints)

    def _end(self, *, orderly: bool) -> None:
        if not orderly:
            self._node.kill()
        elif (status := self._node.terminate()) != 0:
            story = f"status {status} from an orderly stop: {self._node.stderr().strip()}"
            raise _FailedError(Complaint(Forbidden.ENDED, story))

    def _check_inspection(self) -> None:
        """`inspect topic` names a damaged file of a fenced partition."""
        data = self._node.data
        described = [
            str(inspect_topic(data, place))
            for place in dict.fromkeys(fence.partition.place for fence in self._expected.fences)
        ]
        if not any(str(data / path) in text for path in self._touched for text in described):
            raise _FailedError(Complaint(Forbidden.UNNAMED, f"inspect topic names none of {self._touched}"))


def _ends(node: Node) -> bool:
    """Whether the process ends by itself."""
    try:
        node.wait()
    except subprocess.TimeoutExpired:
        return False
    return True
