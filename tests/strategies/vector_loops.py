"""Loops over small tensors: broadcasting, transposing, slicing, joining, products and sums of few elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from .scalar_loops import COMPARE, FLOAT_BINARY, INT_BINARY, INTEGERS, numbers

#: A value of a body: its name, type and shape.
TypedName = tuple[str, str, tuple[int, ...]]
CODES = {"float": 1, "double": 11, "int64": 7, "int32": 6}
CASTS = {"float": ("double",), "double": ("float",), "int64": ("int32", "float", "double"), "int32": ("int64", "float")}
DTYPES = {"float": "float32", "double": "float64"}
MAX_ELEMENTS = 64


def type_text(kind: str, shape: tuple[int, ...]) -> str:
    """A type in ONNX's text form."""
    return f"{kind}[{','.join(map(str, shape))}]" if shape else kind


def broadcast_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """The broadcast shape of two; None if they do not broadcast, or if it is too large."""
    try:
        shape = np.broadcast_shapes(a, b)
    except ValueError:
        return None
    return shape if math.prod(shape) <= MAX_ELEMENTS else None


@st.composite
def shapes(draw: st.DrawFn) -> tuple[int, ...]:
    """Few axes of few elements, so that many shapes broadcast; some fill several SIMD registers."""
    return draw(
        st.sampled_from(
            [(), (1,), (2,), (3,), (4,), (2, 3), (3, 1), (1, 3), (3, 3), (4, 4), (2, 1, 3), (5,), (17,), (64,)]
        )
    )


class VectorBody:
    """Lines of a body, and the values that they assign."""

    def __init__(
        self, draw: st.DrawFn, names: list[TypedName], prefix: str = "", constants: list[str] | None = None
    ) -> None:
        self.draw, self.names, self.prefix = draw, list(names), prefix
        self.lines: list[str] = []
        self.constants = [] if constants is None else constants

    def constant(self, values: list[int]) -> str:
        name = f"k{len(self.constants)}"
        self.constants.append(f"int64[{len(values)}] {name} = {{{', '.join(map(str, values))}}}")
        return name

    def add(self, line: str, kind: str, shape: tuple[int, ...]) -> None:
        name = f"{self.prefix}t{len(self.lines)}"
        self.lines.append(f"{name} = {line}")
        self.names.append((name, kind, shape))

    def pick_value(self, *kinds: str, least: int = 0) -> TypedName | None:
        fit = [n for n in self.names if (not kinds or n[1] in kinds) and len(n[2]) >= least]
        return self.draw(st.sampled_from(fit)) if fit else None

    def pick_broadcastable(self, a: TypedName, kind: str) -> TypedName:
        """A value that broadcasts with another one."""
        return self.draw(
            st.sampled_from([n for n in self.names if n[1] == kind and broadcast_shape(a[2], n[2]) is not None])
        )

    def step(self) -> None:
        """Add a node of a random kind."""
        numbers = [self.binary, self.binary, self.binary, self.unary, self.compare, self.where, self.cast]
        places = [self.transpose, self.slice_, self.slice_, self.concat, self.gather, self.dynamic_slice, self.expand]
        inner = [] if self.prefix else [self.branch, self.inner]
        self.draw(
            st.sampled_from([*numbers, *places, self.reduce, self.arg_extreme, self.top_one, self.product, *inner])
        )()

    def binary(self) -> None:
        a = self.draw(st.sampled_from(self.names))
        operators = ("And", "Or", "Xor") if a[1] == "bool" else INT_BINARY if a[1] in INTEGERS else FLOAT_BINARY
        b = self.pick_broadcastable(a, a[1])
        self.add(f"{self.draw(st.sampled_from(operators))} ({a[0]}, {b[0]})", a[1], broadcast_shape(a[2], b[2]) or ())

    def unary(self) -> None:
        a = self.pick_value("float", "double", "int64", "int32")
        if a:
            more = (
                ("Sqrt", "Tanh", "Exp", "Sigmoid", "Floor")
                if a[1] == "float"
                else ("Sqrt",)
                if a[1] == "double"
                else ()
            )
            self.add(f"{self.draw(st.sampled_from(('Neg', 'Abs', 'Identity', *more)))} ({a[0]})", a[1], a[2])

    def compare(self) -> None:
        a = self.pick_value("float", "double", "int64", "int32")
        if a:
            b = self.pick_broadcastable(a, a[1])
            self.add(
                f"{self.draw(st.sampled_from(COMPARE))} ({a[0]}, {b[0]})", "bool", broadcast_shape(a[2], b[2]) or ()
            )

    def where(self) -> None:
        a = self.pick_value("float", "double", "int64", "int32")
        c = self.pick_value("bool")
        if not a or not c:
            return
        b = self.pick_broadcastable(a, a[1])
        both = broadcast_shape(a[2], b[2])
        shape = None if both is None else broadcast_shape(both, c[2])
        if shape is not None:
            self.add(f"Where ({c[0]}, {a[0]}, {b[0]})", a[1], shape)

    def cast(self) -> None:
        a = self.pick_value("float", "double", "int64", "int32")
        if a:
            kind = self.draw(st.sampled_from(CASTS[a[1]]))
            self.add(f"Cast <to = {CODES[kind]}> ({a[0]})", kind, a[2])

    def transpose(self) -> None:
        a = self.pick_value(least=2)
        if a:
            order = self.draw(st.permutations(range(len(a[2]))))
            self.add(f"Transpose <perm = {list(order)}> ({a[0]})", a[1], tuple(a[2][k] for k in order))

    def slice_(self) -> None:
        a = self.pick_value("float", "double", "int64", "int32", least=1)
        if not a:
            return
        axis = self.draw(st.integers(0, len(a[2]) - 1))
        start = self.draw(st.integers(0, a[2][axis] - 1))
        end = self.draw(st.integers(start + 1, a[2][axis]))
        step = self.draw(st.sampled_from((1, 1, 2)))
        ports = ", ".join(self.constant([k]) for k in (start, end, axis, step))
        shape = (*a[2][:axis], len(range(start, end, step)), *a[2][axis + 1 :])
        self.add(f"Slice ({a[0]}, {ports})", a[1], shape)

    def concat(self) -> None:
        a = self.pick_value("float", "double", "int64", "int32", least=1)
        if not a or 2 * math.prod(a[2]) > MAX_ELEMENTS:
            return
        b = self.draw(st.sampled_from([n for n in self.names if n[1:] == a[1:]]))
        axis = self.draw(st.integers(0, len(a[2]) - 1))
        shape = (*a[2][:axis], 2 * a[2][axis], *a[2][axis + 1 :])
        self.add(f"Concat <axis = {axis}> ({a[0]}, {b[0]})", a[1], shape)

    def gather(self) -> None:
        a = self.pick_value(least=1)
        if not a:
            return
        axis = self.draw(st.integers(0, len(a[2]) - 1))
        index = self.draw(st.lists(st.integers(-a[2][axis], a[2][axis] - 1), min_size=1, max_size=4))
        shape = (*a[2][:axis], len(index), *a[2][axis + 1 :])
        if math.prod(shape) <= MAX_ELEMENTS:
            self.add(f"Gather <axis = {axis}> ({a[0]}, {self.constant(index)})", a[1], shape)

    def dynamic_slice(self) -> None:
        """A slice with a computed position, which may be out of bounds."""
        a = self.pick_value("float", "double", least=1)
        if a:
            self.add(f"Gather <axis = 0> ({a[0]}, where)", a[1], a[2][1:])

    def reduce(self) -> None:
        a = self.pick_value("float", "double", "int64", "int32", least=1)
        if a:
            kept = self.draw(st.booleans())
            operator = self.draw(st.sampled_from(("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd")))
            axes = sorted(self.draw(st.sets(st.integers(0, len(a[2]) - 1), min_size=1)))
            shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(a[2]) if kept or axis not in axes)
            self.add(f"{operator} <keepdims = {int(kept)}> ({a[0]}, {self.constant(axes)})", a[1], shape)

    def arg_extreme(self) -> None:
        a = self.pick_value("float", "double", "int64", "int32", least=1)
        if a:
            axis = self.draw(st.integers(0, len(a[2]) - 1))
            last, kept = self.draw(st.booleans()), self.draw(st.booleans())
            operator = self.draw(st.sampled_from(("ArgMax", "ArgMin")))
            shape = (*a[2][:axis], *((1,) if kept else ()), *a[2][axis + 1 :])
            how = f"axis = {axis}, keepdims = {int(kept)}, select_last_index = {int(last)}"
            self.add(f"{operator} <{how}> ({a[0]})", "int64", shape)

    def top_one(self) -> None:
        a = self.pick_value("float", "double", "int64", "int32", least=1)
        if a:
            axis, largest = self.draw(st.integers(0, len(a[2]) - 1)), self.draw(st.booleans())
            shape = (*a[2][:axis], 1, *a[2][axis + 1 :])
            name = f"{self.prefix}t{len(self.lines)}"
            how = f"axis = {axis}, largest = {int(largest)}"
            self.lines.append(f"{name}, {name}at = TopK <{how}> ({a[0]}, {self.constant([1])})")
            self.names += [(name, a[1], shape), (f"{name}at", "int64", shape)]

    def product(self) -> None:
        matrices = [n for n in self.names if n[1] in ("float", "double") and len(n[2]) == 2]
        pairs = [(a, b) for a in matrices for b in matrices if a[1] == b[1] and a[2][1] == b[2][0]]
        if pairs:
            a, b = self.draw(st.sampled_from(pairs))
            self.add(f"MatMul ({a[0]}, {b[0]})", a[1], (a[2][0], b[2][1]))

    def expand(self) -> None:
        a = self.pick_value("float", "double", "int64", "int32")
        if a and 2 * math.prod(a[2]) <= MAX_ELEMENTS:
            shape = (2, *a[2])
            self.add(f"Expand ({a[0]}, {self.constant(list(shape))})", a[1], shape)

    def branch(self) -> None:
        a = self.pick_value("float", "double", "int64", "int32")
        conditions = [n for n in self.names if n[1:] == ("bool", ())]
        if a:
            name, t = f"b{len(self.lines)}", type_text(a[1], a[2])
            then = f"then_branch = {name}_then () => ({t} {name}_a) {{ {name}_a = Add ({a[0]}, {a[0]}) }}"
            other = f"else_branch = {name}_else () => ({t} {name}_b) {{ {name}_b = Identity ({a[0]}) }}"
            self.add(f"If <{then}, {other}> ({self.draw(st.sampled_from(conditions))[0]})", a[1], a[2])

    def inner(self) -> None:
        """A loop that carries one of the values, and ends by its condition or after a few iterations."""
        a = self.pick_value("float", "double", "int64", "int32")
        if not a:
            return
        name = f"n{len(self.lines)}"
        inputs = [*self.names, (f"{name}j", "int64", ()), (f"{name}d", "bool", ()), (f"{name}v", a[1], a[2])]
        body = VectorBody(self.draw, inputs, f"{name}_", self.constants)
        for _ in range(self.draw(st.integers(1, 4))):
            body.step()
        result = self.draw(st.sampled_from([n for n in body.names if n[1:] == a[1:]]))
        keep = self.draw(st.sampled_from([n for n in body.names if n[1:] == ("bool", ())]))
        lines = [*body.lines, f"{name}k = Identity ({keep[0]})", f"{name}r = Identity ({result[0]})"]
        inside = " ".join(lines)
        t = type_text(a[1], a[2])
        ports = f"(int64 {name}j, bool {name}d, {t} {name}v) => (bool {name}k, {t} {name}r)"
        self.add(f"Loop <body = {name}_body {ports} {{ {inside} }}> (trips, , {a[0]})", a[1], a[2])


def random_constant(draw: st.DrawFn, kind: str, shape: tuple[int, ...]) -> Any:
    count = math.prod(shape)
    values = draw(st.lists(numbers(kind), min_size=count, max_size=count))
    return np.array(values, DTYPES.get(kind, kind)).reshape(shape)


@st.composite
def vector_programs(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A loop that carries small tensors, collects some of them, and may end by its condition."""
    kinds = [(draw(st.sampled_from(sorted(CODES))), draw(shapes())) for _ in range(draw(st.integers(1, 3)))]
    feeds: list[TypedName] = [(f"p{k}", kind, shape) for k, (kind, shape) in enumerate(kinds)]
    feeds += [("w", "float", (3,)), ("u", "double", (4, 4)), ("i", "int64", ()), ("c", "bool", ())]
    body = VectorBody(draw, feeds)
    for _ in range(draw(st.integers(1, 10))):
        body.step()
    results = [draw(st.sampled_from([n for n in body.names if n[1:] == kind])) for kind in kinds]
    keep = draw(st.sampled_from([n for n in body.names if n[1:] == ("bool", ())]))
    scans = draw(st.lists(st.sampled_from(body.names), max_size=2))
    sliced = draw(st.booleans())
    lines = [*body.lines, *(f"r{k} = Identity ({n[0]})" for k, n in enumerate(results))]
    lines += [*(f"e{k} = Identity ({n[0]})" for k, n in enumerate(scans)), f"keep = Identity ({keep[0]})"]
    if sliced:
        lines.insert(0, "row = Gather <axis = 0> (rows, i)")
        lines.append("ahead = Mul (row, row)")
    params = ", ".join(f"{type_text(kind, shape)} p{k}" for k, (kind, shape) in enumerate(kinds))
    carried = ", ".join(f"{type_text(kind, shape)} r{k}" for k, (kind, shape) in enumerate(kinds))
    stacked = "".join(f", {type_text(n[1], n[2])} e{k}" for k, n in enumerate(scans)) + ", float[3] ahead" * sliced
    outputs = [f"{type_text(kind, shape)} o{k}" for k, (kind, shape) in enumerate(kinds)]
    outputs += [f"{type_text(n[1], ('S', *n[2]))} s{k}" for k, n in enumerate(scans)] + ["float[S,3] aheads"] * sliced
    names_out = ", ".join(output.split()[-1] for output in outputs)
    constants = f"<{', '.join(body.constants)}>" if body.constants else ""
    inside = "\n".join(lines)
    text = f"""
    g (int64 M, int64 where, int64 trips, float[3] w, double[4,4] u, float[41,3] rows,
       {", ".join(f"{type_text(kind, shape)} v{k}" for k, (kind, shape) in enumerate(kinds))}) => ({", ".join(outputs)})
    {constants} {{
      {names_out} = Loop <body = body (int64 i, bool c, {params}) => (bool keep, {carried}{stacked}) {{
        {inside}
      }}> (M, , {", ".join(f"v{k}" for k in range(len(kinds)))})
    }}"""
    inputs: dict[str, Any] = {
        "M": draw(st.integers(0, 40)),
        "where": draw(st.integers(-2, 3)),
        "trips": draw(st.integers(-1, 4)),
        "w": random_constant(draw, "float", (3,)),
        "u": random_constant(draw, "double", (4, 4)),
        "rows": np.linspace(-2, 2, 123, dtype=np.float32).reshape(41, 3),
    }
    for k, (kind, shape) in enumerate(kinds):
        inputs[f"v{k}"] = random_constant(draw, kind, shape)
    return text, inputs
