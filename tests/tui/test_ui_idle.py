"""Whether a screen rests is found by what there is to do, not by how long a busy machine takes for it."""

from __future__ import annotations

import asyncio
import time

from ui_idle import wait_until_idle


async def test_what_a_busy_machine_keeps_waiting_is_waited_for() -> None:
    async def work() -> None:
        for _ in range(10):
            # As where other processes have the processor: time passes, and nothing is done.
            time.sleep(0.03)
            await asyncio.sleep(0)

    task = asyncio.create_task(work())
    await wait_until_idle(max_sleep=0.1)
    assert task.done()


async def test_what_works_for_ever_is_not_waited_for() -> None:
    async def work() -> None:
        while True:
            await asyncio.sleep(0)

    task = asyncio.create_task(work())
    await wait_until_idle(max_sleep=0.1)
    assert not task.done()
    task.cancel()
