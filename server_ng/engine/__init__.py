"""The engine as the control plane sees it: settings in, records in and out, figures, a stop."""

from server_ng.engine.engine import Engine
from server_ng.engine.errors import EngineError, StartFailedError
from server_ng.engine.pump import Pump

__all__ = ["Engine", "EngineError", "Pump", "StartFailedError"]
