"""Background tasks: each has a name and an owner, and its failure is the owner's failure."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

__all__ = ["Tasks"]


class Tasks:
    """Runs tasks; the first that fails is reported, once."""

    def __init__(self, failed: Callable[[str, BaseException], None]) -> None:
        self._failed = failed
        self._running: set[asyncio.Task[Any]] = set()

    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Starts a task. It may end; it may not fail."""
        self.watch(asyncio.create_task(work, name=name))

    def watch(self, task: asyncio.Task[None]) -> None:
        """Takes over a task that was started elsewhere."""
        self._running.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(task.get_name(), error)

    async def cancel(self) -> None:
        """Cancels what still runs and waits for it."""
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
