"""The judge of the damage sweep notices each forbidden outcome, and nothing else."""

import copy
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.damage.judge import Expectation, Forbidden, judge
from tests.support.damage.ledger import Ledger, PartitionKey, PartitionLedger
from tests.support.damage.reading import PartitionReading, Reading
from tests.support.damage.remedy import Refusal, follow
from tests.support.damage.template import OffsetRange
from tests.support.topic_client import Message

KEY = PartitionKey("stream", "topic", 0)
BATCH_DAMAGED, NOT_FOUND = 4039, 1009


def expectation() -> Expectation:
    """Ten messages and a stored offset; the file of offsets 2 to 4 is damaged."""
    known = PartitionLedger({offset: 100 + offset for offset in range(10)}, 10, {7: 5})
    return Expectation(Ledger({KEY: known}), [OffsetRange(KEY, 2, 4)])


def reading() -> Reading:
    """Everything is served."""
    messages = [Message(offset, offset, 0, 100 + offset, 50) for offset in range(10)]
    return {KEY: PartitionReading(messages, {}, {7: 5}, 10)}


def kinds(expected: Expectation, found: Reading) -> set[Forbidden]:
    """The kinds of all complaints."""
    return {complaint.kind for complaint in judge(expected, found)}


def lose(found: PartitionReading) -> None:
    """The last message is gone."""
    del found.messages[-1]
    found.counted -= 1


def change(found: PartitionReading) -> None:
    """An offset has another message."""
    found.messages[3] = Message(3, 3, 0, 999, 50)


def resurrect(found: PartitionReading) -> None:
    """A message that was deleted is served."""
    found.messages.append(Message(11, 11, 0, 111, 50))
    found.counted += 1


def forget(found: PartitionReading) -> None:
    """A stored offset steps back."""
    found.stored[7] = 4


def miscount(found: PartitionReading) -> None:
    """The figures disagree with the polls."""
    found.counted += 1


def refuse_neighbour(found: PartitionReading) -> None:
    """A message beside the damaged range is refused."""
    del found.messages[5]
    found.refused[5] = BATCH_DAMAGED


def refuse_untyped(found: PartitionReading) -> None:
    """A damaged message is refused with a status that says something else."""
    del found.messages[3]
    found.refused[3] = NOT_FOUND


@pytest.mark.parametrize(
    ("plant", "kind"),
    [
        (lose, Forbidden.LOST),
        (change, Forbidden.WRONG),
        (resurrect, Forbidden.STALE),
        (forget, Forbidden.OFFSET),
        (miscount, Forbidden.FIGURES),
        (refuse_neighbour, Forbidden.UNRELATED),
        (refuse_untyped, Forbidden.UNRELATED),
    ],
)
def test_a_planted_outcome_is_found(plant: Callable[[PartitionReading], None], kind: Forbidden) -> None:
    found = reading()
    plant(found[KEY])
    assert kinds(expectation(), found) == {kind}


def test_everything_served_and_a_fence_over_the_damaged_range_are_allowed() -> None:
    assert kinds(expectation(), reading()) == set()
    found = reading()
    found[KEY].messages = [message for message in found[KEY].messages if not 2 <= message.offset <= 4]
    found[KEY].refused = {2: BATCH_DAMAGED, 3: BATCH_DAMAGED, 4: BATCH_DAMAGED}
    assert kinds(expectation(), found) == set()


def test_an_accepted_loss_is_allowed_once() -> None:
    expected, found = expectation(), reading()
    expected.may_lose.add(KEY)
    lose(found[KEY])
    forget(found[KEY])
    assert kinds(expected, found) == set()
    expected.settle(found)
    assert kinds(expected, found) == set()
    settled = copy.deepcopy(found)
    lose(settled[KEY])
    assert kinds(expected, settled) == {Forbidden.LOST}


def test_an_accepted_loss_excuses_no_wrong_byte() -> None:
    expected, found = expectation(), reading()
    expected.may_lose.add(KEY)
    change(found[KEY])
    assert kinds(expected, found) == {Forbidden.WRONG}


@pytest.mark.parametrize(
    ("status", "said", "complaint"),
    [
        (70, "{data}/LAYOUT is damaged. Restore it.", "status 70"),
        (65, "Something is damaged. Look at the disk.", "no damaged file is named"),
        (65, "{data}/superblock is damaged. Restore it.", "no damaged file is named"),
    ],
)
def test_a_refusal_that_names_no_damaged_file_is_found(
    tmp_path: Path, status: int, said: str, complaint: str
) -> None:
    refusal = Refusal(status, said.format(data=tmp_path))
    (found,) = refusal.complaints(tmp_path, [Path("LAYOUT")])
    assert complaint in found


def test_a_remedy_is_followed_to_the_letter(tmp_path: Path) -> None:
    data, backup = tmp_path / "data", tmp_path / "backup"
    for folder in (data, backup):
        folder.mkdir()
        (folder / "LAYOUT").write_text(folder.name)

    def followed(said: str) -> bool:
        return follow(Refusal(65, said.format(data=data)), data, backup, has_copy=False) is not None

    assert not followed("{data}/LAYOUT is damaged. Look at the disk.")
    assert (data / "LAYOUT").read_text() == "data"
    assert followed("{data}/LAYOUT: checksum. Restore it from a copy.")
    assert (data / "LAYOUT").read_text() == "backup"
    (data / "journal-7").write_text("")
    assert followed("One file too many. Remove {data}/journal-7, then start.")
    assert not (data / "journal-7").exists()
