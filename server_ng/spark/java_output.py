"""The standard error of Java and its workers, kept in a file while a command runs a query.

A wrong query makes Java, its workers and pyspark print hundreds of lines, and the command prints the cause in
one sentence. The lines matter only for a failure that is not the query's.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, Final

from pyspark.logger import PySparkLogger

__all__ = ["JavaOutput"]

_STDERR: Final = 2
# pyspark prints each error of a query through it, with the stack of Java, besides raising it.
_LOGGER: Final = "SQLQueryContextLogger"


class JavaOutput:
    """Where a Java that is started in the block writes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    @classmethod
    @contextmanager
    def kept(cls) -> Iterator["JavaOutput"]:
        """Begins with an empty file, which is deleted at the end."""
        logger = PySparkLogger.getLogger(_LOGGER)
        before, logger.disabled = logger.disabled, True
        try:
            with TemporaryFile() as file:
                yield cls(file)
        finally:
            logger.disabled = before

    @contextmanager
    def inherited(self) -> Iterator[None]:
        """Processes that start in the block have the file as their standard error."""
        sys.stderr.flush()
        own = os.dup(_STDERR)
        os.dup2(self._file.fileno(), _STDERR)
        try:
            yield
        finally:
            os.dup2(own, _STDERR)
            os.close(own)

    def show(self) -> None:
        """Prints on standard error what was kept so far."""
        sys.stderr.flush()
        self._file.seek(0)
        with os.fdopen(os.dup(_STDERR), "wb") as stream:
            shutil.copyfileobj(self._file, stream)
