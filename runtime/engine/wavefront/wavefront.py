"""Loops that run side by side: a loop over the rows that another one makes begins when the first of them are there.

The ONNX specification says of Loop that loops which feed each other can be executed "diagonally", as a wavefront.
Layers of a recurrent network are such loops. Each follower runs the same instructions as ever, in an engine and a
thread of its own; before each iteration it waits for the row that this one reads, and its products of rows
(``plan/hoisting.py``) for a block of them. The first loop runs in the engine of the whole graph, which takes the
followers' results when it gets to their place; where a follower failed, that engine runs the loop itself.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import LoopdbgError
from ...graph import Array, Graph, Loop, Value, captured
from ...graph.dependence import uses
from ...kernels import team
from ...kernels.stream import Stream
from ...plan.hoisting import Finder, Source
from ...plan.plan import Plan, compile_graph
from ...plan.trips import runs_to_its_count
from ...record import record
from ..engine import Engine
from .rows import make_rows, read_rows

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

#: Iterations of a follower that are computed at once: it is that far behind at least, and a product of 12 rows takes
#: little more a row than one of 64.
BLOCK = 12
#: A follower's products that are worth a thread: so many multiplications.
LEAST_WORK = 1 << 23
Data = Any
#: How often somebody who waits looks whether Ctrl-C was pressed, in seconds.
_LOOK = 0.05


@record(frozen=True)
class Link:
    """A loop that can begin while another one runs, both on the graph's top level.

    ``leader``, ``follower``: which of the nodes there; ``scan``: which of the leader's scan outputs is ``rows``;
    ``after``: the last of the nodes that make what the follower needs beside its rows, -1: none does. ``sources``: how
    it takes its rows; ``weights``: of the products with them.
    """

    leader: int
    scan: int
    rows: Value
    follower: int
    after: int
    sources: tuple[Source, ...]
    weights: int


def find_links(graph: Graph) -> list[Link]:
    """Which loops of a graph can begin early; a leader has one follower."""
    made = {value: k for k, node in enumerate(graph.nodes) for value in node.outputs if value is not None}
    links: dict[int, Link] = {}
    for k, loop in enumerate(graph.nodes):
        if not isinstance(loop, Loop):
            continue
        needs = sorted(((made.get(value, -1), id(value), value) for value in _needs(loop)), reverse=True)
        if not needs:
            continue
        leader, _, rows = needs[0]
        first = graph.nodes[leader]
        after = needs[1][0] if len(needs) > 1 else -1
        if leader < 0 or not isinstance(first, Loop) or after >= leader or leader in links:
            continue
        scan = next((n for n, scan in enumerate(first.scan_outputs) if scan.outer is rows), -1)
        if scan < 0 or not runs_to_its_count(first):
            continue
        finder = Finder(loop, graph.system)
        sources = tuple(source for source in finder.sources.values() if source.outer is rows) if finder.found() else ()
        # Nothing else may read them: only what a source takes waits for its row.
        if sources and uses(loop)[rows] == len(sources):
            weights = sum(finder.weights_of(chain, sources) for chain in finder.chains)
            links[leader] = Link(leader, scan, rows, k, after, sources, weights)
    return list(links.values())


def _needs(loop: Loop) -> list[Value]:
    """Values around a loop that it reads, and that are no constants."""
    return [value for value in captured(Graph("", nodes=[loop])) if value.constant is None]


@cache
def _pool() -> ThreadPoolExecutor:
    """Threads that stay: one that is woken goes on on the core where it was, a new one shares ours for a while. Nobody
    waits for a free one whom somebody in here waits for."""
    from concurrent.futures import ThreadPoolExecutor

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked process has none of the threads
    return ThreadPoolExecutor(64, "loopdbg")


class Follower:
    """One loop in an engine of its own. ``index``: of the loop in the plan of the whole graph."""

    def __init__(self, graph: Graph, plan: Plan, link: Link) -> None:
        loop = graph.nodes[link.follower]
        assert isinstance(loop, Loop)
        self.link = link
        self.index = plan.loop_of(loop).index
        needs = _needs(loop)
        outputs = [value for value in loop.outputs if value is not None]
        inside = replace(graph, inputs=needs, outputs=outputs, nodes=[loop], output_names=[], defaults={})
        # What multiplies with weights has to know that they are some, wherever it runs.
        self.plan = compile_graph(inside, plan.settled & set(needs))
        self.engine = Engine(self.plan)
        assert self.engine.fast is not None
        self.engine.fast.binder.block = BLOCK
        self._rows = self.plan.slot_of[link.rows]
        self._stream = Stream()
        read_rows(self.engine.loops, self._rows, self._stream)
        #: Slots of the whole graph's plan, and of this one.
        self._inputs = [(plan.slot_of[v], self.plan.slot_of[v]) for v in needs if v is not link.rows]
        self._outputs = [(plan.slot_of[v], self.plan.slot_of[v]) for v in outputs]
        self._given: dict[int, Data] = {}
        self._running: Future[bool] | None = None
        #: Who follows this loop, whether it may in this run, and whether it does.
        self.next: Follower | None = None
        self.then: Follower | None = None
        self.led: Follower | None = None

    def prepare(self, engine: Engine) -> bool:
        """Take what the loop needs beside its rows from the engine of the whole graph; False: it is not there."""
        if not all(engine.has_value(slot) for slot, _ in self._inputs):
            return False
        self._given = {own: engine.value(slot) for slot, own in self._inputs}
        return True

    def launch(self, leader: Engine, index: int, free: int) -> bool:
        """Begin, while the leader stands after its first iteration. ``free``: threads that may still be begun."""
        rows = make_rows(leader.scans, index, self.link.scan, self._stream)
        if rows is None or self._stream.rows * self.link.weights < LEAST_WORK:
            return False
        if not all(_in_order(source, rows) for source in self.link.sources):
            return False
        self.engine.start({**self._given, self._rows: rows})
        self.engine.set_limits(refuse_endless=True)
        self.led = None
        self._running = _pool().submit(self._run, free - 1)
        return True

    def _run(self, free: int) -> bool:
        """In another thread: run the loop. False: it did not get to its end."""
        team.lend(1)  # this thread's core is taken
        try:
            if free > 0 and self.then is not None:
                self.engine.stop_at(0, 1)
                if self.engine.resume()[0] != "boundary":
                    return False
                if self.then.launch(self.engine, 0, free):
                    self.led = self.then
                self.engine.clear_stops()
            return self.engine.resume()[0] == "end"
        except (LoopdbgError, MemoryError):
            return False  # the engine of the whole graph runs the loop itself, and says what is wrong
        finally:
            team.lend(-1)

    def finish(self, engine: Engine, stopped: Callable[[], bool]) -> bool:
        """Hand the results to the engine of the whole graph, which stands where the loop begins; False: there are none,
        or somebody ``stopped`` the run."""
        assert self._running is not None
        while not self._running.done() and not stopped():
            with suppress(TimeoutError):
                self._running.result(_LOOK)
            if engine.on_tick is not None:
                engine.on_tick()
        if stopped() or not self._running.result():
            return False
        self._running = None
        iterations, _, _, reason, _ = self.engine.loop_state(0)
        engine.loops.supply(
            self.index, {slot: self.engine.value(own) for slot, own in self._outputs}, iterations, reason
        )
        return True

    def abandon(self) -> None:
        """Nobody wants the results."""
        if self._running is not None:
            self._stream.close()
            self.engine.interrupt()
            self._running.result()
            self._running = None
            self.engine.clear_interrupt()
        if self.led is not None:
            self.led.abandon()


def _in_order(source: Source, rows: Array) -> bool:
    """What iteration i takes of ``rows`` is what iteration i of the leader appends."""
    if not rows.flags.c_contiguous:
        return False
    seen = source.view(np.zeros(()), "rows")(rows)
    if seen.__array_interface__["data"][0] != rows.__array_interface__["data"][0]:
        return False
    return seen.size == rows.size and len(seen) * seen.strides[0] == rows.nbytes


class Wavefront:
    """Runs the engine of a graph with its followers beside it."""

    def __init__(self, graph: Graph, plan: Plan) -> None:
        self._followers = [Follower(graph, plan, link) for link in find_links(graph)]
        loops = {k: plan.loop_of(node).index for k, node in enumerate(graph.nodes) if isinstance(node, Loop)}
        self._led = {loops[follower.link.leader]: follower for follower in self._followers}
        for follower in self._followers:
            follower.next = self._led.get(follower.index)
        #: Whose results the last run took.
        self.taken: list[Follower] = []
        self._stopped = False

    @property
    def works(self) -> bool:
        """Whether there are loops that can run beside others, and threads for them."""
        return bool(self._followers) and team.threads() > 1

    def resume(self, engine: Engine) -> tuple[str, int]:
        """As :meth:`Engine.resume`, for a run to the end."""
        self.taken = []
        if not self.works:
            return engine.resume()
        with self._ctrl_c(engine):
            return self._resume(engine)

    @contextmanager
    def _ctrl_c(self, engine: Engine) -> Iterator[None]:
        """Ctrl-C stops the engine, as it does while that runs, also while it waits for a follower."""
        self._stopped = False
        on_main = threading.current_thread() is threading.main_thread()
        if not on_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return

        def stop(number: int, frame: FrameType | None) -> None:
            self._stopped = True
            engine.on_signal(number, frame)

        signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _resume(self, engine: Engine) -> tuple[str, int]:
        waiting = set(self._led)
        running: dict[int, Follower] = {}
        try:
            while True:
                engine.clear_stops()
                for index in waiting:
                    engine.stop_at(index, 1)
                for index in running:
                    engine.stop_at(index, 0)
                what, index = engine.resume()
                if what != "boundary":
                    return what, index
                follower = running.get(index)
                if follower is not None:
                    if follower.finish(engine, lambda: self._stopped):
                        self.taken.append(follower)
                    else:
                        follower.abandon()
                    del running[index]
                    if follower.led is not None and follower in self.taken:
                        running[follower.led.index] = follower.led
                elif index in waiting:
                    waiting.discard(index)
                    follower = self._led[index]
                    if self._prepare(follower, engine) and follower.launch(engine, index, team.threads() - 1):
                        running[follower.index] = follower
        finally:
            for follower in running.values():
                follower.abandon()
            engine.clear_stops()

    def _prepare(self, first: Follower, engine: Engine) -> bool:
        """Give all who may follow one another what they need, so that nobody asks while the engine runs."""
        if not first.prepare(engine):
            return False
        follower = first
        follower.then = None
        while (then := follower.next) is not None and then.link.after < first.link.leader and then.prepare(engine):
            follower.then, then.then = then, None
            follower = then
        return True
