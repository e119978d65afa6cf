"""Loops whose shapes change: the same results in every way of running, whatever is looked at or changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
import onnxruntime_peer
from comparable_values import all_exact_bits, canonical_value, exact_bits
from differential_testing import check_all_modes
from engine_state import step, visible_state
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.ops.registry import ResolvedOperator
from optimizer_access import requires_optimizer, start_engine
from strategies.draws import SeededChoices
from text_models import model, proto

from .growing_loops import APPEND, CASES, TRIPS, F, inputs_of, loop, numbers, run_in_python


@pytest.mark.parametrize("case", CASES)
def test_every_way_of_running_gives_the_same(case: str) -> None:
    text, inputs = CASES[case][0], inputs_of(case)
    fewer = inputs_of(case, int(inputs["M"]) // 2)
    ended = check_all_modes(lambda: model(text, 23), inputs, fewer, SeededChoices(case))
    ours = model(text, 23).run(inputs)
    assert all_exact_bits(ours) == ended[2]
    for name, theirs in onnxruntime_peer.run(proto(text, 23), inputs).items():
        if case in ("attention", "cache", "mean"):
            np.testing.assert_allclose(ours[name], theirs, rtol=1e-5, atol=1e-6)
        else:
            assert canonical_value(ours[name]) == canonical_value(theirs)


@pytest.mark.parametrize("case", CASES)
def test_one_engine_runs_any_length(case: str) -> None:
    m = model(CASES[case][0], 23)
    most = 19 if case == "shrink to nothing" else TRIPS.get(case, 80)
    for trips in (0, most, 3, 1, most // 2, 7, most):
        inputs = inputs_of(case, trips)
        if trips == 0 and case == "sequence":
            continue  # there is nothing to concatenate
        expected = all_exact_bits(run_in_python(m, inputs))
        assert all_exact_bits(m.run(inputs)) == expected
        assert all_exact_bits(m.run(inputs)) == expected


@pytest.mark.parametrize("case", CASES)
def test_stepping_shows_every_value(case: str) -> None:
    """Boundary by boundary and node by node against an engine that runs everything in Python."""
    m = model(CASES[case][0], 23)
    inputs = inputs_of(case, min(TRIPS.get(case, 12), 12))
    if "K" in inputs:
        inputs["K"] = np.array(4)
    engines = [Engine(m.plan), Engine(m.plan)]
    engines[1].binder.native_enabled = False
    for engine in engines:
        engine.start(m.check(inputs))
    stops = 0
    while True:
        what = [step(engine) for engine in engines]
        assert what[0] == what[1]
        assert visible_state(engines[0]) == visible_state(engines[1])
        if what[0][0] == "end":
            break
        stops += 1
    assert stops > 12
    assert all_exact_bits(engines[0].results()) == all_exact_bits(engines[1].results())


def test_the_value_before_is_the_beginning_of_the_value_now() -> None:
    m = model(APPEND)
    seen: list[tuple[Any, Any]] = []

    def observe(frame: loopdbg.Frame) -> None:
        edge = frame.back_edges[0]
        seen.append((edge.previous, edge.value))

    m.run({"M": 100, "v0": np.zeros(1, F), "v1": F(0), "e": np.ones(1, F)}, on_iteration=observe)
    assert len(seen) == 101
    for k, (previous, value) in enumerate(seen):
        np.testing.assert_array_equal(value, [0] + k * [1])
        assert (previous is None) == (k == 0)
        if k:
            np.testing.assert_array_equal(previous, [0] + (k - 1) * [1])
    # Those were copies: they did not change while the buffer went on.
    assert [len(value) for _, value in seen] == list(range(1, 102))


def test_a_session_steps_through_a_growing_loop() -> None:
    session = loopdbg.debug(model(APPEND), {"M": 40, "v0": numbers(1), "v1": F(0), "e": numbers(1)})
    for k in range(40):
        assert session.frame.carried["x"].shape == (k + 1,)
        session.next_node()
        while not session.frame.at_boundary:
            values = session.frame.values
            assert values["x"].shape == (k + 1,)
            if "y" in values and session.frame.back_edges[0].ready:
                assert session.frame.back_edges[0].value.shape == (k + 2,)
            session.next_node()
    while not session.done:
        session.step()
    assert session.outputs is not None
    assert session.outputs["o0"].shape == (41,)


def test_edited_growing_value_leaves_previous_value_unchanged() -> None:
    """Setting a carried value must not write into the buffer that the previous one is in."""
    m = model(APPEND)
    engine = start_engine(m, {"M": 60, "v0": np.zeros(1, F), "v1": F(0), "e": np.ones(1, F)})
    param = m.plan.loops[0].edges[0].param
    engine.stop_at(0, 40)
    engine.resume()
    engine.clear_stops()
    engine.editor.set(param, np.full(41, 5, F))  # of the same shape
    np.testing.assert_array_equal(engine.loops.previous(0, 0), [0] + 39 * [1])
    engine.stop_at(0, 45)
    engine.resume()
    np.testing.assert_array_equal(engine.value(param), 41 * [5] + 5 * [1])
    engine.clear_stops()
    engine.editor.set(param, np.array([9, 8], F))  # of another one
    np.testing.assert_array_equal(engine.loops.previous(0, 0), 41 * [5] + 4 * [1])
    engine.resume()
    np.testing.assert_array_equal(engine.results()["o0"], [9, 8, *(15 * [1])])


@pytest.mark.parametrize(
    "case", ["append", "rows", "cache", "tokens", "shrink", "twice", "crossed", "nested", "sequence", "prepend rows"]
)
def test_checkpoints_of_any_length_can_be_gone_back_to(case: str) -> None:
    m = model(CASES[case][0], 23)
    inputs = inputs_of(case, min(TRIPS.get(case, 70), 70))
    engine = start_engine(m, inputs)
    taken = []
    while True:
        engine.stop_anywhere()
        if engine.resume()[0] == "end":
            break
        index = engine.stack[-1]
        edges = range(len(m.plan.loops[index].edges))
        previous = [engine.loops.previous(index, k) for k in edges] if engine.loop_state(index)[0] else []
        taken.append(
            (
                engine.checkpoints.save(),
                index,
                [engine.value(m.plan.loops[index].edges[k].param) for k in edges],
                previous,
            )
        )
    expected = all_exact_bits(engine.results())
    order = np.random.default_rng(1).permutation(len(taken))[:40]
    for k in order:
        checkpoint, index, values, previous = taken[k]
        engine.checkpoints.restore(checkpoint)
        for j, value in enumerate(values):
            assert exact_bits(engine.value(m.plan.loops[index].edges[j].param)) == exact_bits(value)
        for j, value in enumerate(previous):
            assert exact_bits(engine.loops.previous(index, j)) == exact_bits(value)
        engine.clear_stops()
        if k % 2:
            assert engine.resume() == ("end", -1)
            assert all_exact_bits(engine.results()) == expected


def test_predicates_read_grown_values() -> None:
    """A predicate is a node on the same values: it follows them, or is bound again, but never reads what was."""
    text = CASES["append"][0]
    m = model(text)
    inputs = {"M": np.array(80), "v0": np.zeros(1, F), "v1": F(0), "e": np.ones(1, F)}
    param = m.plan.loops[0].edges[0].param

    def more_than(bound: int) -> ResolvedOperator:
        return ResolvedOperator(
            lambda p, x: p.map(np.greater, p.reduce(np.add, x, (0,), False), p.constant(F(bound).reshape(()))), {}
        )

    for bounds in ((3,), (5, 20, 21), (3, 4, 63, 64, 65)):
        engine = start_engine(m, inputs)
        # Added while nodes are bound for ranges already, which must survive that instructions move.
        engine.stop_at(0, 3)
        assert engine.resume() == ("boundary", 0)
        engine.clear_stops()
        for bound in bounds:
            key = engine.monitor.add_predicate(0, more_than(bound), [param])
            what = engine.resume()
            assert what == ("predicate", 0)
            assert engine.loop_state(0)[0] == bound + 1
            engine.monitor.remove_predicate(key)
        assert engine.resume() == ("end", -1)
        np.testing.assert_array_equal(engine.results()["o0"], [0] + 80 * [1])


def test_an_axis_that_does_not_fit_any_more_is_an_error_with_its_place() -> None:
    text = loop(
        "y = Concat <axis = 0> (x, e)\n z = Add (y, w)",
        "float[n] x",
        "float[m] y; float[l] z",
        "float[k] v0; float[1] e; float[p] w",
        "float[a] o0; float[b,c] o1",
    )
    inputs = {"M": 20, "v0": numbers(1), "e": numbers(1), "w": numbers(1)}
    m = model(text)
    with pytest.raises(loopdbg.ExecutionError) as caught:
        m.run(inputs)
    assert (caught.value.name, caught.value.iteration, caught.value.node) == ("o1", 1, None)
    with pytest.raises(loopdbg.ExecutionError) as caught:
        m.run(inputs | {"w": numbers(2)})
    assert (caught.value.node, caught.value.op_type, caught.value.iteration) == ("Add_2", "Add", 1)


def test_slice_is_rebound_at_its_end() -> None:
    """Slice(x, 0:12) is all of x up to 12 elements, and 12 of them from there on."""
    text = loop(
        "y = Concat <axis = 0> (x, e)\n head = Slice (y, zero, twelve, zero)\n t = ReduceSum <keepdims = 0> (head)",
        "float[n] x",
        "float[m] y; float t",
        "float[k] v0; float[1] e",
        "float[a] o0; float[b] o1",
        "<int64[1] zero = {0}, int64[1] twelve = {12}>",
    )
    outputs = model(text).run({"M": 30, "v0": np.ones(1, F), "e": np.ones(1, F)})
    np.testing.assert_array_equal(outputs["o1"], np.minimum(np.arange(2, 32), 12))


@requires_optimizer
def test_openvino_concat_grows_too(tmp_path: Path) -> None:
    import onnx
    import openvino

    onnx.save(proto(APPEND), tmp_path / "append.onnx")
    converted = openvino.convert_model(tmp_path / "append.onnx")
    openvino.save_model(converted, tmp_path / "append.xml", compress_to_fp16=False)
    m = loopdbg.load(tmp_path / "append.xml")
    names = [port.name for port in m.inputs]
    inputs = {k: v for k, v in inputs_of("append").items() if k in names}
    native = m.run(inputs)
    assert all_exact_bits(native) == all_exact_bits(run_in_python(m, inputs))
    expected = np.concatenate([inputs["v0"], np.repeat(inputs["e"], 80)])
    np.testing.assert_array_equal(native["o0"], expected)
    concats = [pc for pc, i in enumerate(m.plan.code) if i.node is not None and i.node.op_type == "Concat"]
    assert concats
    assert all(m._engine is not None and m._engine.binder.is_native(pc) for pc in concats)


@requires_optimizer
def test_openvino_attention_over_a_growing_cache_is_native(tmp_path: Path) -> None:
    """OpenVINO's converter gives attention without a mask a mask of 0, which broadcasts to the varying length."""
    import openvino
    from openvino import opset13 as ops

    trips, keep = ops.parameter([], np.int64), ops.constant(True)
    cache_input, row = ops.parameter([1, -1, 4], np.float32), ops.parameter([1, 1, 4], np.float32)
    cache, fixed_row = ops.parameter([1, -1, 4], np.float32), ops.parameter([1, 1, 4], np.float32)
    grown = ops.concat([cache, fixed_row], 1)
    read = ops.scaled_dot_product_attention(fixed_row, grown, grown, ops.constant(np.float32(0)))
    body_results = [ops.constant(True), grown, read]
    loop = ops.loop(trips, keep)
    loop.set_function(openvino.Model([ops.result(value) for value in body_results], [cache, fixed_row]))
    loop.set_special_body_ports([-1, 0])
    loop.set_merged_input(cache, cache_input.output(0), grown.output(0))
    loop.set_invariant_input(fixed_row, row.output(0))
    outputs = [ops.result(loop.get_concatenated_slices(read.output(0), 0, 1, 1, -1, 0))]
    openvino.save_model(openvino.Model(outputs, [trips, cache_input, row]), tmp_path / "a.xml", compress_to_fp16=False)
    m = loopdbg.load(tmp_path / "a.xml")
    values = np.int64(40), numbers(1, 1, 4), numbers(1, 1, 4)
    inputs = {port.name: value for port, value in zip(m.inputs, values, strict=True)}
    assert all_exact_bits(m.run(inputs)) == all_exact_bits(run_in_python(m, inputs))
    attention = [pc for pc, i in enumerate(m.plan.code) if i.node is not None and "Attention" in i.node.op_type]
    assert len(attention) == 1 and m._engine is not None and m._engine.binder.is_native(attention[0])
