"""The table of a sweep: kind of file, fault, outcome, with counts."""

from collections import Counter
from collections.abc import Iterator, Sequence

from tests.support.damage.cells import Cells
from tests.support.damage.fault import FaultKind
from tests.support.damage.file_kind import FileKind
from tests.support.damage.trial import Outcome, Verdict

__all__ = ["render"]


def render(cells: Cells, verdicts: Sequence[Verdict]) -> str:
    """The counts of every cell that was reached, and the cells that were not."""
    return "\n".join([*_counts(verdicts), "", *_missed(cells, verdicts)])


def _counts(verdicts: Sequence[Verdict]) -> Iterator[str]:
    counts = Counter((each.cell.file_kind, each.cell.fault, each.outcome) for each in verdicts)
    outcomes = [outcome for outcome in Outcome if any(key[2] is outcome for key in counts)]
    yield f"{'file':16}{'fault':11}" + "".join(f"{outcome:>19}" for outcome in outcomes)
    for kind in FileKind:
        for fault in FaultKind:
            row = [counts[kind, fault, outcome] for outcome in outcomes]
            if any(row):
                yield f"{kind:16}{fault:11}" + "".join(f"{count or '-':>19}" for count in row)
    totals = Counter(each.outcome for each in verdicts)
    yield f"{'all':16}{len(verdicts):<11}" + "".join(f"{totals[outcome]:>19}" for outcome in outcomes)


def _missed(cells: Cells, verdicts: Sequence[Verdict]) -> Iterator[str]:
    reached = {each.cell for each in verdicts}
    missed = [cell for cell in cells.ordered if cell not in reached]
    yield f"cells reached: {len(reached)} of {len(cells.ordered)}, each a file and a fault in one history"
    for kind in FileKind:
        possible = {cell.fault for cell in cells.ordered if cell.file_kind is kind}
        impossible = [fault for fault in FaultKind if fault not in possible]
        if impossible:
            yield f"  impossible, {kind}: {', '.join(impossible)}"
        rest = Counter(cell.fault for cell in missed if cell.file_kind is kind)
        if rest:
            shown = (f"{fault} in {count} histories" for fault, count in sorted(rest.items()))
            yield f"  not reached, {kind}: {', '.join(shown)}"
