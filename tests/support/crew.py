"""Clients that work side by side, each in a thread of its own, until their server is gone."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Self

from tests.support.waiting import until

__all__ = ["Crew", "Worker"]


class Worker(ABC):
    """One client. It asks for one thing at a time and writes down the answer before it asks again."""

    done = 0
    """The pieces of work that were answered."""

    @abstractmethod
    def once(self) -> None:
        """One piece of work."""

    def work(self, leave: threading.Event) -> None:
        """Goes on until the server is gone, or nobody wants it any more."""
        try:
            while not leave.is_set():
                self.once()
        except (ConnectionError, EOFError):
            return


class Crew:
    """Workers at work while the block is not left. It may be left with or without a server."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        self._workers = workers
        self._leave = threading.Event()
        self._threads = ThreadPoolExecutor(len(workers))
        self._running: list[Future[None]] = []

    def __enter__(self) -> Self:
        self._running = [self._threads.submit(worker.work, self._leave) for worker in self._workers]
        return self

    def __exit__(self, *_exception: object) -> None:
        self._leave.set()
        self._threads.shutdown()
        for one in self._running:
            one.result()

    def wait_for(self, done: int) -> None:
        """Returns once so many pieces of work are answered, with all workers still at work."""

        def enough() -> bool:
            for one in self._running:
                assert not one.done(), f"a client left early: {one.exception()}"
            return sum(worker.done for worker in self._workers) >= done

        until(enough, f"{done} answers")
