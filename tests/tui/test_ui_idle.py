"""Whether the screen is idle is determined by pending work, not by elapsed time, so that a busy machine does not
matter."""

from __future__ import annotations

import asyncio
import time

from ui_idle import wait_until_idle


async def test_idle_wait_covers_work_delayed_by_a_busy_machine() -> None:
    async def work() -> None:
        for _ in range(10):
            # Simulates other processes on the processor: time passes without progress.
            time.sleep(0.03)
            await asyncio.sleep(0)

    task = asyncio.create_task(work())
    await wait_until_idle(max_sleep=0.1)
    assert task.done()


async def test_idle_wait_ignores_endless_work() -> None:
    async def work() -> None:
        while True:
            await asyncio.sleep(0)

    task = asyncio.create_task(work())
    await wait_until_idle(max_sleep=0.1)
    assert not task.done()
    task.cancel()
