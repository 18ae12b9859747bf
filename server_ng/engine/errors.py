"""What can go wrong with an engine.

EngineError
    StartFailedError
    MalformedRecordError
    UnprintableSettingError
"""

__all__ = ["EngineError", "MalformedRecordError", "StartFailedError", "UnprintableSettingError"]


class EngineError(Exception):
    """Root of what this package raises itself; a failed native call is a `server_ng.binding.NativeError`."""


class StartFailedError(EngineError):
    """The start failed; what ran was stopped."""

    def __init__(self, shard: int | None, status: int, reason: str) -> None:
        super().__init__(reason if shard is None else f"shard {shard}: {reason}")
        self.shard = shard
        self.status = status
        self.reason = reason


class MalformedRecordError(EngineError):
    """Bytes from the engine are not the records this code knows: the two halves disagree."""


class UnprintableSettingError(EngineError):
    """A setting holds a line break or another character that its line cannot carry."""

    def __init__(self, key: str, value: str) -> None:
        super().__init__(f"the setting {key} cannot hold the characters of {value!r}")
