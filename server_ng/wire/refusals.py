"""Why a request cannot be served, with the code its sender is told."""

from server_ng.wire.tables import ErrorCode

__all__ = ["MalformedError", "RefusedError"]


class RefusedError(Exception):
    """A request that is answered with an error code and changes nothing."""

    def __init__(self, code: ErrorCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class MalformedError(RefusedError):
    """Bytes without the layout of their command, or a value no layout can carry."""

    def __init__(self, reason: str) -> None:
        super().__init__(ErrorCode.INVALID_COMMAND, reason)
