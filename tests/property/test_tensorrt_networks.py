"""Random TensorRT networks with loops: all execution modes agree with the formal semantics, written in plain NumPy."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, event, given
from hypothesis import strategies as st

import execution_modes
from comparable_values import canonical_value, canonical_values
from differential_testing import DisagreementError, assert_equal, run_every_mode
from hypothesis_settings import example_settings
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.frontends.tensorrt.enums import TripLimit
from loopdbg.runtime.frontends.tensorrt.network_lowering import lower_network
from loopdbg.runtime.graph import StoppedBy
from loopdbg.runtime.model import Model
from strategies.draws import ChoiceSource, HypothesisChoices, SeededChoices
from strategies.tensorrt_networks import NetworkGenerator
from strategies.tensorrt_oracle import LazyEvaluator, LoopTooLongError, NetworkFailsError
from tensorrt_networks import NetworkBuilder, output_of

#: Where the engine is stricter than the semantics: it cannot tell in every loop that a slice is not needed.
STRICTER = ("the loop wants part", "reverse iterator")


def agree(draw: ChoiceSource, walk: ChoiceSource, hot: bool) -> str:
    """Build a network, and run it in every mode; returns the outcome."""
    maker = NetworkGenerator(draw, hot)
    net = maker.network()
    feeds, other = maker.feeds(draw), maker.feeds(draw)
    try:
        graph = lower_network(net, "random")
    except ModelError as error:
        if "cleanly nested" in str(error):
            return "not nested"
        raise
    try:
        lazy = LazyEvaluator(net, feeds)
        outputs: Any = {t.name: canonical_value(lazy.value(t, {})) for t in net.outputs}
    except NetworkFailsError:
        outputs = None
    except LoopTooLongError:
        return "too large"
    first = execution_modes.run_headless(Model(graph), feeds)
    if outputs is not None and first[0] == "error" and any(item in str(first) for item in STRICTER):
        return "stricter"
    if (outputs is None) != (first[0] == "error"):
        raise DisagreementError(
            f"the formal semantics {'fail' if outputs is None else 'do not fail'}; got {first!r:.400}"
        )
    if outputs is not None:
        assert_equal("outputs", canonical_values(first[2]), outputs)
    seen = run_every_mode(Model(lower_network(net, "random")), first, feeds, other, walk)
    if outputs is not None:
        _boundaries(net, lazy, seen)
    return "fails" if outputs is None else "runs"


def _boundaries(net: NetworkBuilder, lazy: LazyEvaluator, seen: list[Any]) -> None:
    """The values that hooks saw equal the sequences of the semantics."""
    loops = {loop.name: loop for loop in net.loops}
    for path, entry, iteration, ended, condition, *more in seen:
        stack = [loops[part] for part in path.split(" ▸ ") if part in loops]
        loop, where = stack[-1], dict(zip(stack, (*entry, iteration), strict=True))
        around = {other: i for other, i in where.items() if other is not loop}
        trips = lazy.trips(loop, around)
        name = f"{loop.name}, entry {entry}, iteration {iteration}"
        assert_equal(f"{name}: ended", ended is not None, iteration == trips)
        test, count = loop.limit(TripLimit.WHILE), loop.limit(TripLimit.COUNT)
        counted = count is not None and int(lazy.value(count.required_input(0), around)) == trips
        if ended is not None:
            assert_equal(f"{name}: why", ended, StoppedBy.TRIP_COUNT if counted else StoppedBy.CONDITION)
        assert_equal(f"{name}: condition", condition, None if test is None else ended is not StoppedBy.CONDITION)
        if more:
            for recurrence, value in zip(loop.recurrences, more[0].values(), strict=True):
                try:
                    want = lazy.value(output_of(recurrence), where)
                except NetworkFailsError:  # not needed
                    continue
                assert_equal(f"{name}: {recurrence.name}", canonical_value(value), canonical_value(want))


def case(draw: ChoiceSource, walk: ChoiceSource) -> str:
    return agree(draw, walk, hot=False)


@example_settings(60, suppress_health_check=list(HealthCheck))
@given(st.data(), st.integers(0, 1 << 30))
def test_tensorrt_networks_agree_with_the_formal_semantics(data: st.DataObject, walk: int) -> None:
    event(data.draw(_cases(walk)))


@st.composite
def _cases(draw: st.DrawFn, walk: int) -> str:
    return case(HypothesisChoices(draw), SeededChoices(walk))
