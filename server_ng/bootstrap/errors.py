"""Why a start cannot go on.

StartError: a sentence for the operator and the exit status that goes with it
    DirectoryInUseError
"""

from server_ng.wire.tables import ExitStatus

__all__ = ["DirectoryInUseError", "StartError"]


class StartError(Exception):
    """The server cannot start; says why, what to do, and how the process ends."""

    def __init__(self, sentence: str, status: ExitStatus = ExitStatus.CONFIGURATION) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.status = status


class DirectoryInUseError(StartError):
    """Another process holds the directory."""
