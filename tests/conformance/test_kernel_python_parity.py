"""Every operator on odd values of every dtype: the same bits, dtypes and shapes from its kernels and in Python, and of
what is computed element by element the same for one element alone and among others, however many and however they lie.

A newly registered operator fails here until ``operator_table`` has inputs for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import loopdbg
from loopdbg.runtime.engine import engine as engines
from loopdbg.runtime.graph import Graph, Operation, SequenceType, System, TensorType, Value, ValueType
from loopdbg.runtime.model import Model
from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.registry import OperatorDefinition, resolve
from loopdbg.runtime.plan.plan import Opcode
from optimizer_access import start_engine

from .operator_cases import INTEGER_TYPES, Array, OperatorCase, OperatorRow, special_values
from .operator_table import ROWS, definitions

#: Places and sizes around what processors and kernels do at once.
PARTS = ((0, 1), (-1, None), (5, 7), (2, 5), (1, 9), (4, 21), (3, 36), (7, 72), (0, 0))
DEFINITIONS = [pytest.param(s, d, id=f"{s.name}-{d.op_type}-{d.since}") for s, d in definitions()]


def row_of(system: System, definition: OperatorDefinition) -> OperatorRow:
    """The operator's inputs.

    Raises:
        AssertionError: there are none.
    """
    row = ROWS[system].get(definition.op_type)
    assert row is not None, f"operator_table has no inputs for {system.name} {definition.op_type}"
    return row


def operation(system: System, definition: OperatorDefinition, case: OperatorCase, name: str) -> Operation:
    return Operation(
        name=name,
        op_type=definition.op_type,
        domain="",
        version=definition.since,
        inputs=[None if x is None else Value(f"{name}.in{k}", type_of(x)) for k, x in enumerate(case.inputs)],
        outputs=[Value(f"{name}.out{k}") for k in range(case.n_outputs)],
        attributes=dict(case.attributes),
    )


def type_of(x: Any) -> ValueType:
    if not isinstance(x, list):
        return TensorType(x.dtype, x.shape)
    shapes = {y.shape for y in x}
    return SequenceType(TensorType(x[0].dtype, shapes.pop() if len(shapes) == 1 else None))


def arranged(case: OperatorCase, several: bool, one_way: bool, few: bool) -> Iterator[tuple[OperatorCase, Any]]:
    """Cases with parts of the inputs' elements, and what of the result for all of them is theirs: indices in a shape.

    ``several``: the inputs may have shapes that differ; ``one_way``: that of the second one alone.
    """
    count = len(case.inputs[0])
    everything = np.arange(count)

    def taken(*places: Any) -> OperatorCase:
        return OperatorCase(
            [x[place] for x, place in zip(case.inputs, places, strict=True)], case.attributes, case.n_outputs
        )

    same = len(case.inputs)
    yield taken(*[everything] * same), everything
    yield taken(*[np.array(count // 2)] * same), np.array(count // 2)
    for first, last in PARTS[1::5] if few else PARTS:
        part = everything[first:last]
        yield taken(*[part] * same), part
    square = everything[: count // 3 * 3].reshape(3, -1)
    yield taken(*[square] * same), square
    turned = everything[: count // 2 * 2].reshape(2, 1, -1)[:, :, ::-1]
    yield taken(*[turned] * same), turned
    if several and same == 2:
        # The table has every value of the one next to every other: a grid whose rows and columns are the inputs.
        columns = int(np.argmax(np.append(_bits(case.inputs[0])[1:] != _bits(case.inputs[0])[0], True))) + 1
        grid = everything[: count // columns * columns].reshape(-1, columns)
        row, column = grid[:1], grid[:, :1]
        a, b = (_bits(x) for x in case.inputs)
        if columns > 1 and (a[grid] == a[column]).all() and (b[grid] == b[row]).all():
            yield taken(grid, row), grid
            if not one_way:
                yield taken(column, grid), grid
                yield taken(column, row[0]), grid
                yield taken(column[1, 0], row[0]), grid[1]
                yield taken(grid[:, 1], row[0, 1]), grid[:, 1]


#: Operators whose results are as long as the numbers say.
DATA_DEPENDENT = {"NonZero", "Compress", "Unique", "NonMaxSuppression"}


def _bits(x: Array) -> Array:
    return np.atleast_1d(x).view(f"u{x.itemsize}")


def run(cases: list[tuple[Operation, OperatorCase]], system: System, native: bool) -> tuple[dict[str, Array], set[str]]:
    """All outputs of a model of these nodes, none of which reads another; and the nodes that ran in kernels."""
    inputs = {v.name: x for node, case in cases for v, x in zip(node.inputs, case.inputs, strict=True) if v is not None}
    values_in = [v for node, _ in cases for v in node.inputs if v is not None]
    outputs = [v for node, _ in cases for v in node.outputs if v is not None]
    model = Model(Graph("nodes", inputs=values_in, outputs=outputs, nodes=[node for node, _ in cases], system=system))
    engine = start_engine(model, inputs, native=native)
    assert engine.resume()[0] == "end"
    code = model.plan.code
    bound = {
        i.node.name for pc, i in enumerate(code) if i.kind is Opcode.NODE and i.node and engine.binder.is_native(pc)
    }
    return engine.results(), bound


def describe(x: Any) -> str:
    if isinstance(x, list):
        return "sequence of " + ", ".join(describe(y) for y in x)
    return f"{x.dtype} {x.shape}\n{x}"


def assert_same(actual: Any, expected: Any, case: OperatorCase, how: str) -> None:
    """The same to the bit."""
    if isinstance(actual, list):
        assert isinstance(expected, list) and len(actual) == len(expected), (how, describe(actual), describe(expected))
        for item, other in zip(actual, expected, strict=True):
            assert_same(item, other, case, how)
        return
    if (actual.dtype, actual.shape) == (expected.dtype, expected.shape) and actual.tobytes() == expected.tobytes():
        return
    where = ""
    if (actual.dtype, actual.shape) == (expected.dtype, expected.shape):
        k = int(np.flatnonzero(_bits(actual.ravel()) != _bits(expected.ravel()))[0])
        a, e = actual.ravel()[k : k + 1], expected.ravel()[k : k + 1]
        where = f"\nelement {k}: {a[0]!r} (0x{_bits(a)[0]:x}) and {e[0]!r} (0x{_bits(e)[0]:x})"
    inputs = [None if x is None else describe(x) for x in case.inputs]
    pytest.fail(f"{how}: {describe(actual)}\nbut {describe(expected)}{where}\nof {inputs} with {case.attributes}")


@pytest.mark.parametrize(("system", "definition"), DEFINITIONS)
def test_the_same_bits_from_kernels_and_in_python(system: System, definition: OperatorDefinition) -> None:
    row = row_of(system, definition)
    legacy = system is System.ONNX and definition.since < (
        8 if definition.op_type in ("Max", "Min", "Sum", "Mean") else 7
    )
    cases: list[tuple[Operation, OperatorCase]] = []
    expected: dict[str, tuple[Array, Any]] = {}
    for dtype in row.dtypes:
        for case in row.cases(dtype, definition.since):
            if not row.pointwise:
                cases.append((operation(system, definition, case, f"n{len(cases)}"), case))
                continue
            with np.errstate(all="ignore"):
                op = resolve(operation(system, definition, case, "whole"), system)
                whole = op.apply(EagerPrimitives(), case.inputs)[0]
            several, one_way = not legacy and definition.op_type != "CastLike", definition.op_type.lower() == "prelu"
            for part, places in arranged(case, several, one_way, row.few_parts):
                node = operation(system, definition, part, f"n{len(cases)}")
                cases.append((node, part))
                expected[node.name] = (whole, places)
    assert cases, "the row has no case"
    fast, bound = run(cases, system, True)
    slow, none = run(cases, system, False)
    assert not none
    for node, case in cases:
        for value in node.outputs:
            assert value is not None
            assert_same(slow[value.name], fast[value.name], case, "in Python")
        if node.name in expected:
            whole, places = expected[node.name]
            assert_same(fast[node.outputs[0].name], whole[places], case, "an element among others")  # type: ignore[union-attr]
    # Where nothing ran in a kernel, nothing was compared. Shapes that depend on the data take what is fast.
    assert bound or (not engines.optimizer_enabled and definition.op_type in DATA_DEPENDENT), "no kernel ran"


def test_every_row_is_of_an_operator() -> None:
    registered = {(system, entry.op_type) for system, entry in definitions()}
    assert registered == {(system, name) for system, rows in ROWS.items() for name in rows}


@pytest.mark.parametrize("dtype", INTEGER_TYPES)
@pytest.mark.parametrize(
    ("system", "op_type", "attributes"),
    [
        (System.ONNX, "Div", {}),
        (System.ONNX, "Mod", {}),
        (System.ONNX, "Mod", {"fmod": 1}),
        (System.OPENVINO, "Divide", {}),
        (System.OPENVINO, "Divide", {"m_pythondiv": "false"}),
        (System.OPENVINO, "Mod", {}),
        (System.OPENVINO, "FloorMod", {}),
    ],
)
def test_a_zero_divisor_is_the_same_error(system: System, op_type: str, attributes: Any, dtype: str) -> None:
    definition = next(d for s, d in definitions() if (s, d.op_type) == (system, op_type))
    for a in (special_values(dtype), special_values(dtype)[:1]):
        case = OperatorCase([a, np.zeros(1, dtype)], attributes)
        texts = []
        for native in (True, False):
            with pytest.raises(loopdbg.ExecutionError, match="integer division by zero") as caught:
                run([(operation(system, definition, case, "n"), case)], system, native)
            texts.append(str(caught.value))
        assert texts[0] == texts[1]
    nothing = OperatorCase([special_values(dtype)[:0], np.zeros(1, dtype)], attributes)
    for native in (True, False):
        results, _ = run([(operation(system, definition, nothing, "n"), nothing)], system, native)
        assert [x.shape for x in results.values()] == [(0,)]
