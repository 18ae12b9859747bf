"""Tasks: a failure is told by name, an end or a cancellation is not one."""

import asyncio

import pytest

from server_ng.bootstrap.tasks import Tasks


class Failures:
    """What was reported."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def __call__(self, name: str, error: BaseException) -> None:
        self.told.append((name, str(error)))


@pytest.fixture
def failures() -> Failures:
    return Failures()


@pytest.fixture
def tasks(failures: Failures) -> Tasks:
    return Tasks(failures)


async def fail(reason: str) -> None:
    raise ValueError(reason)


async def wait_for_ever() -> None:
    await asyncio.Event().wait()


async def rounds() -> None:
    """Enough turns of the loop for everything that is ready."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_failure_is_told_with_its_name(tasks: Tasks, failures: Failures) -> None:
    tasks.spawn("login", fail("no"))
    await rounds()
    assert failures.told == [("login", "no")]


async def test_an_end_is_no_failure(tasks: Tasks, failures: Failures) -> None:
    tasks.spawn("login", asyncio.sleep(0))
    await rounds()
    await tasks.cancel()
    assert failures.told == []


async def test_a_task_started_elsewhere_is_watched(tasks: Tasks, failures: Failures) -> None:
    tasks.watch(asyncio.create_task(fail("gone"), name="http"))
    await rounds()
    assert failures.told == [("http", "gone")]


async def test_cancelled_tasks_end_and_do_not_fail(tasks: Tasks, failures: Failures) -> None:
    waiting = asyncio.create_task(wait_for_ever())
    tasks.watch(waiting)
    await tasks.cancel()
    assert waiting.cancelled()
    assert failures.told == []


async def test_a_failure_while_others_are_cancelled_is_told(tasks: Tasks, failures: Failures) -> None:
    async def fail_at_the_end() -> None:
        try:
            await wait_for_ever()
        finally:
            await fail("late")

    tasks.spawn("late", fail_at_the_end())
    await rounds()
    await tasks.cancel()
    await rounds()
    assert failures.told == [("late", "late")]
