"""Tables: drawn on a terminal, tab-separated for programs."""

import sys
from collections.abc import Sequence

__all__ = ["print_table"]


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints `rows` below `header` on standard output."""
    if not sys.stdout.isatty():
        for row in (header, *rows):
            print("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*header, header_style="bold")
    for row in rows:
        # As text, because a value may hold what rich reads as markup.
        table.add_row(*(Text(cell, overflow="fold") for cell in row))
    Console().print(table)
