"""Random TensorRT networks with loops: all ways of running agree with the formal semantics, said in plain NumPy."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, event, given
from hypothesis import strategies as st

import ways
from agreement import Differs, every_way, same
from examples import tried
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.frontends.tensorrt.enums import TripLimit
from loopdbg.runtime.frontends.tensorrt.lower import lower
from loopdbg.runtime.graph import StoppedBy
from loopdbg.runtime.model import Model
from networks import Net, out
from plain import all_plain, plain
from strategies.draws import Draw, FromHypothesis, FromSeed
from strategies.lazy import FailsError, Lazy, TooLargeError
from strategies.tensorrt import Maker

#: Where the engine is stricter than the sequences: it does not know in every loop that nothing needs a part.
STRICTER = ("the loop wants part", "reverse iterator")


def agree(draw: Draw, walk: Draw, hot: bool) -> str:
    """Make a network, and run it in every way; what came of it."""
    maker = Maker(draw, hot)
    net = maker.network()
    feeds, other = maker.feeds(draw), maker.feeds(draw)
    try:
        graph = lower(net, "random")
    except ModelError as error:
        if "cleanly nested" in str(error):
            return "not nested"
        raise
    try:
        lazy = Lazy(net, feeds)
        outputs: Any = {t.name: plain(lazy.value(t, {})) for t in net.outputs}
    except FailsError:
        outputs = None
    except TooLargeError:
        return "too large"
    first = ways.executed(Model(graph), feeds)
    if outputs is not None and first[0] == "error" and any(told in str(first) for told in STRICTER):
        return "stricter"
    if (outputs is None) != (first[0] == "error"):
        raise Differs(f"the formal semantics {'fail' if outputs is None else 'do not fail'}; got {first!r:.400}")
    if outputs is not None:
        same("outputs", all_plain(first[2]), outputs)
    seen = every_way(Model(lower(net, "random")), first, feeds, other, walk)
    if outputs is not None:
        _boundaries(net, lazy, seen)
    return "fails" if outputs is None else "runs"


def _boundaries(net: Net, lazy: Lazy, seen: list[Any]) -> None:
    """What hooks were shown is what the sequences say."""
    loops = {loop.name: loop for loop in net.loops}
    for path, entry, iteration, ended, condition, *more in seen:
        stack = [loops[part] for part in path.split(" ▸ ") if part in loops]
        loop, where = stack[-1], dict(zip(stack, (*entry, iteration), strict=True))
        around = {other: i for other, i in where.items() if other is not loop}
        trips = lazy.trips(loop, around)
        name = f"{loop.name}, entry {entry}, iteration {iteration}"
        same(f"{name}: ended", ended is not None, iteration == trips)
        test, count = loop.limit(TripLimit.WHILE), loop.limit(TripLimit.COUNT)
        counted = count is not None and int(lazy.value(count.input(0), around)) == trips
        if ended is not None:
            same(f"{name}: why", ended, StoppedBy.TRIP_COUNT if counted else StoppedBy.CONDITION)
        same(f"{name}: condition", condition, None if test is None else ended is not StoppedBy.CONDITION)
        if more:
            for recurrence, value in zip(loop.recurrences, more[0].values(), strict=True):
                try:
                    want = lazy.value(out(recurrence), where)
                except FailsError:  # nothing needs it
                    continue
                same(f"{name}: {recurrence.name}", plain(value), plain(want))


def case(draw: Draw, walk: Draw) -> str:
    return agree(draw, walk, hot=False)


@tried(60, suppress_health_check=list(HealthCheck))
@given(st.data(), st.integers(0, 1 << 30))
def test_all_ways_agree_with_the_formal_semantics(data: st.DataObject, walk: int) -> None:
    event(data.draw(_cases(walk)))


@st.composite
def _cases(draw: st.DrawFn, walk: int) -> str:
    return case(FromHypothesis(draw), FromSeed(walk))
