"""Random programs with loops. Each kind of feature has a name and can be switched on alone.

Floats are whole numbers, and what goes into a sum or a product is brought below 16 before, so that every order of
adding gives the same bits; only ``smooth`` programs leave that out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from .draws import Draw, FromHypothesis
from .operators import END
from .programs import (
    STRING,
    AnyNode,
    Body,
    Branch,
    Carried,
    Constant,
    Loop,
    Node,
    Program,
    Scanned,
    Shape,
    Sliced,
    Type,
    Value,
    outputs_of,
    pruned,
)

#: What a program may have beside arithmetic on carried values, by name.
FEATURES: Mapping[str, str] = {
    "rows": "tensors of any number of rows, which differs from run to run",
    "growing": "carried values that get more or fewer rows",
    "delayed": "back edges that take what another one had, or take the same as another one, in any order",
    "direct": "parameters, iteration numbers and captures as results and scan outputs of a body",
    "products": "MatMul and Gemm, of one element as well",
    "hot": "loops of single numbers, of hundreds of iterations",
    "condition": "condition inputs that are carried on, scanned or computed with, and loops without a condition",
    "nested": "inner loops, which are entered again with other shapes and capture what grows outside",
    "branches": "Ifs",
    "strings": "strings",
    "scan": "Scan instead of Loop",
    "openvino": "OpenVINO's Loop and TensorIterator instead of ONNX's loops",
    "failing": "nodes that fail in some iterations, and loops that cannot be entered",
    "smooth": "Tanh, whose last bit is not everywhere the same",
}

#: What a run finds in integers that decide something, (lowest, highest).
_RANGES = {"M": (0, 6), "K": (0, 3), "bound": (-3, 9)}
_HOT = (205, 420)
_CASTS = {
    "float32": ("float64",),
    "float64": ("float32",),
    "int64": ("float32", "float64", "bool"),
    "int32": ("float32", "int64"),
    "bool": ("float32", "int64"),
}


def feeds(program: Program, draw: Draw) -> dict[str, Any]:
    """Inputs for a program; each named extent is one number in all of them."""
    extents: dict[str, int] = {}
    made = {}
    for value in program.inputs:
        shape = [
            d if isinstance(d, int) else extents.setdefault(d, draw.integer(0 if draw.chance(15) else 1, 5))
            for d in value.type.shape
        ]
        made[value.name] = _feed(program, value, shape, draw)
    return made


def _feed(program: Program, value: Value, shape: list[int], draw: Draw) -> Any:
    count = int(np.prod(shape, dtype=int))
    dtype = value.type.dtype
    if dtype == STRING:
        flat: list[Any] = [draw.pick(("", "a", "bc", "é")) for _ in range(count)]
    elif dtype == "bool":
        flat = [value.name == "yes" or draw.chance(60) for _ in range(count)]
    else:
        low, high = _RANGES.get(value.name, (-4, 4))
        if value.name == "M" and "hot" in program.features:
            low, high = _HOT if draw.chance(70) else (0, 12)
        if value.name in ("M", "K") and draw.chance(8):
            low = high = -1
        flat = [draw.integer(low, high) for _ in range(count)]
    return np.array(flat, value.type.numpy).reshape(shape)


def program(draw: Draw, features: Collection[str]) -> Program:
    """A program with some of the features: at least one loop, and outputs that show all that its loops give."""
    return _Maker(draw, frozenset(features)).program()


@st.composite
def cases(draw: st.DrawFn, features: Collection[str]) -> tuple[Program, dict[str, Any], dict[str, Any]]:
    """For hypothesis: a program and two runs of it."""
    made = program(FromHypothesis(draw), features)
    return made, feeds(made, FromHypothesis(draw)), feeds(made, FromHypothesis(draw))


class _Scope:
    """What a body sees: ``values``, and ``varying``, the extents that may differ between two iterations."""

    def __init__(self, body: Body, values: list[Value], varying: set[str]) -> None:
        self.body = body
        self.values = values
        self.varying = varying

    def inside(self, body: Body) -> _Scope:
        """A scope within, where everything here stands still."""
        return _Scope(body, list(self.values), set())

    def add(self, node: AnyNode) -> Any:
        self.body.nodes.append(node)
        made = outputs_of(node)
        self.values += made
        return made

    def of(self, fits: Callable[[Value], bool]) -> list[Value]:
        return [value for value in self.values if fits(value)]


class _Maker:
    def __init__(self, draw: Draw, features: frozenset[str]) -> None:
        self.draw = draw
        self.openvino = "openvino" in features
        self.features = features - ({"strings", "branches", "scan"} if self.openvino else set())
        self._count = 0
        self._tokens = 0
        self._loops = 0

    # -- names

    def name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def token(self, scope: _Scope | None = None) -> str:
        self._tokens += 1
        token = f"d{self._tokens}"
        if scope is not None:
            scope.varying.add(token)
        return token

    def value(self, prefix: str, dtype: str, shape: Shape = ()) -> Value:
        return Value(self.name(prefix), Type(dtype, shape))

    # -- picking

    def late(self, values: list[Value]) -> Value:
        """One of the newest rather, so that there are chains."""
        if self.draw.chance(50):
            return self.draw.pick(values)
        return values[-1 - self.draw.integer(0, min(3, len(values) - 1))]

    def has(self, feature: str, percent: int = 100) -> bool:
        return feature in self.features and self.draw.chance(percent)

    # -- the whole

    def program(self) -> Program:
        body = Body()
        inputs = self.inputs()
        scope = _Scope(body, list(inputs), set())
        for _ in range(self.draw.integer(0, 2)):
            self.node(scope, 0)
        outputs: list[Value] = []
        for _ in range(1 if self.draw.chance(70) else 2):
            outputs += self.loop(scope, 0).outputs
        if self.draw.chance(30):
            before = len(scope.values)
            self.node(scope, 0)
            outputs += scope.values[before:][-1:]
        made = Program("openvino" if self.openvino else "onnx", inputs, body, outputs, self.features)
        return pruned(made)

    def inputs(self) -> list[Value]:
        made = [
            Value("M", Type("int64")),
            Value("K", Type("int64")),
            Value("bound", Type("int64")),
            Value("yes", Type("bool")),
            Value("flag", Type("bool")),
            Value("f", Type("float32")),
            Value("g", Type("float64")),
            Value("k", Type("int64")),
            Value("one", Type("float32", (1,))),
            Value("cell", Type("float32", (1, 1))),
        ]
        if self.has("products"):
            made += [Value("W1", Type("float32", (1, 1))), Value("I1", Type("int64", (1, 1)))]
        if "hot" not in self.features:
            made += [Value("v", Type("float32", (3,))), Value("row", Type("float32", (1, 2)))]
            if self.has("products"):
                made.append(Value("W2", Type("float32", (2, 2))))
            if self.features & {"rows", "growing", "delayed", "nested", "scan", "openvino"}:
                made += [Value("x", Type("float32", ("n", 2))), Value("z", Type("float32", ("m", 2)))]
                made += [Value("w", Type("float32", ("n", 2)))]
        if self.has("strings") and not self.openvino:
            made += [Value("s", Type(STRING)), Value("names", Type(STRING, (2,)))]
        return made

    # -- nodes

    def node(self, scope: _Scope, depth: int) -> None:
        """One more node, or an inner loop, or an If."""
        kinds: list[Callable[[_Scope], bool]] = [self.arithmetic] * 5 + [
            self.unary,
            self.compare,
            self.cast,
            self.where,
        ]
        kinds += [self.logic]
        if self.features & {"rows", "growing", "delayed", "nested"} and "hot" not in self.features:
            kinds += [self.concat, self.some_rows, self.reduce, self.reduce, self.shape]
        if "products" in self.features:
            kinds += [self.product] * 3
        if "strings" in self.features:
            kinds += [self.string] * 2
        if "failing" in self.features:
            kinds += [self.risky]
        if "branches" in self.features and not self.openvino:
            kinds += [lambda s: self.branch(s, depth)] * 2
        if "nested" in self.features and depth < 2:
            kinds += [lambda s: bool(self.loop(s, depth + 1))] * 3
        for _ in range(6):
            if self.draw.pick(kinds)(scope):
                return

    def emit(
        self, scope: _Scope, operator: str, inputs: list[Value], dtype: str, shape: Shape, **attributes: Any
    ) -> Value:
        output = self.value("t", dtype, shape)
        scope.add(Node(operator, inputs, output, attributes))
        return output

    def constant(self, scope: _Scope, number: Any, dtype: str) -> Value:
        output = self.value("c", dtype)
        scope.add(Constant(output, np.array(number, dtype)))
        # Nothing else is to pick it.
        scope.values.remove(output)
        return output

    def numbers(self, scope: _Scope) -> list[Value]:
        return scope.of(lambda v: v.type.dtype not in (STRING, "bool"))

    def partner(self, scope: _Scope, a: Value) -> tuple[Value, Shape] | None:
        """A value of the same type that ``a`` can be broadcast with, and the shape of both."""
        found = []
        for b in scope.values:
            if b.type.dtype == a.type.dtype:
                shape = _broadcast(a.type.shape, b.type.shape)
                if shape is not None:
                    found.append((b, shape))
        b = self.late([b for b, _ in found])
        return next((b, shape) for other, shape in found if other is b)

    def arithmetic(self, scope: _Scope) -> bool:
        a = self.late(self.numbers(scope))
        found = self.partner(scope, a)
        if found is None:
            return False
        b, shape = found
        operator = self.draw.pick(("Add", "Sub", "Max", "Min", "Mul"))
        # Where both grow together there may be nothing that says so.
        made = self.emit(scope, operator, [a, b] if self.draw.chance(70) else [b, a], a.type.dtype, shape)
        if operator == "Mul":
            self.small(scope, made)
        return True

    def small(self, scope: _Scope, x: Value) -> Value:
        """``x`` below 16, as sums and products need it."""
        sixteen = self.constant(scope, 16, x.type.dtype)
        return self.emit(scope, "Mod", [x, sixteen], x.type.dtype, x.type.shape)

    def unary(self, scope: _Scope) -> bool:
        a = self.late(self.numbers(scope))
        operators = ["Neg", "Abs", "Identity"]
        if a.type.dtype.startswith("float"):
            operators += ["Relu"] + ["Tanh"] * 4 * ("smooth" in self.features)
        self.emit(scope, self.draw.pick(operators), [a], a.type.dtype, a.type.shape)
        return True

    def compare(self, scope: _Scope) -> bool:
        a = self.late(self.numbers(scope))
        found = self.partner(scope, a)
        if found is None:
            return False
        b, shape = found
        self.emit(scope, self.draw.pick(("Less", "LessOrEqual", "Greater", "Equal")), [a, b], "bool", shape)
        return True

    def logic(self, scope: _Scope) -> bool:
        a = self.late(scope.of(lambda v: v.type.dtype == "bool"))
        if self.draw.chance(30):
            self.emit(scope, "Not", [a], "bool", a.type.shape)
            return True
        found = self.partner(scope, a)
        if found is None:
            return False
        self.emit(scope, self.draw.pick(("And", "Or", "Xor")), [a, found[0]], "bool", found[1])
        return True

    def cast(self, scope: _Scope) -> bool:
        a = self.late(scope.of(lambda v: v.type.dtype != STRING))
        to = self.draw.pick(_CASTS[a.type.dtype])
        self.emit(scope, "Cast", [a], to, a.type.shape, to=to)
        return True

    def where(self, scope: _Scope) -> bool:
        a = self.late(scope.values)
        found = self.partner(scope, a)
        conditions = scope.of(lambda v: v.type == Type("bool"))
        if found is None or (self.openvino and a.type.dtype == STRING):
            return False
        self.emit(scope, "Where", [self.late(conditions), a, found[0]], a.type.dtype, found[1])
        return True

    def tall(self, scope: _Scope, least: int = 1) -> list[Value]:
        return scope.of(lambda v: v.type.dtype == "float32" and len(v.type.shape) == 2 and v.type.shape[1] == 2)

    def concat(self, scope: _Scope) -> bool:
        tall = self.tall(scope)
        parts = [self.late(tall) for _ in range(2)]
        if self.draw.chance(10):
            parts.append(self.draw.pick(tall))
        self.emit(scope, "Concat", parts, "float32", (self.token(scope), 2))
        return True

    def some_rows(self, scope: _Scope) -> bool:
        a = self.late(self.tall(scope))
        start, stop = self.draw.pick(((0, -1), (1, END), (-3, END), (0, 4), (-1, END)))
        self.emit(scope, "Rows", [a], "float32", (self.token(scope), 2), start=start, stop=stop)
        return True

    def reduce(self, scope: _Scope) -> bool:
        a = self.late(scope.of(lambda v: v.type.dtype in ("float32", "int64") and len(v.type.shape) > 0))
        a = self.small(scope, a)
        if len(a.type.shape) == 2 and self.draw.chance(40):
            self.emit(scope, "SumRows", [a], a.type.dtype, a.type.shape[1:])
        else:
            self.emit(scope, "Sum", [a], a.type.dtype, ())
        return True

    def shape(self, scope: _Scope) -> bool:
        a = self.late(scope.of(lambda v: len(v.type.shape) > 0))
        self.emit(scope, "Shape", [a], "int64", (len(a.type.shape),))
        if self.draw.chance(50):
            self.emit(scope, "Gather", [scope.values[-1], self.constant(scope, 0, "int64")], "int64", ())
        return True

    def product(self, scope: _Scope) -> bool:
        right = self.late(scope.of(lambda v: v.name in ("W1", "W2", "I1", "one", "v", "cell")))
        dtype, shape = right.type.dtype, right.type.shape
        if len(shape) == 1:
            left = self.late(scope.of(lambda v: v.type == right.type))
            result: Shape = ()
        else:
            fits = scope.of(lambda v: v.type.dtype == dtype and len(v.type.shape) == 2 and v.type.shape[1] == shape[0])
            left = self.late(fits)
            result = (left.type.shape[0], shape[1])
        left, right = self.small(scope, left), right
        if len(result) == 2 and not self.openvino and dtype == "float32" and self.draw.chance(30):
            fits = scope.of(lambda v: v.type.dtype == dtype and v.type.shape in ((), (1,), (1, 1), result))
            added = self.small(scope, self.late(fits))
            self.emit(scope, "Gemm", [left, right, added], dtype, result)
        else:
            self.emit(scope, "MatMul", [left, right], dtype, result)
        return True

    def string(self, scope: _Scope) -> bool:
        a = self.late(scope.of(lambda v: v.type.dtype == STRING))
        b = self.draw.pick([v for v in scope.values if v.name in ("s", "names")])
        shape = _broadcast(a.type.shape, b.type.shape)
        if shape is None:
            return False
        if self.draw.chance(30):
            self.emit(scope, "Equal", [a, b], "bool", shape)
        else:
            self.emit(scope, "StringConcat", [a, b], STRING, shape)
        return True

    def risky(self, scope: _Scope) -> bool:
        """A Gather whose index may be outside."""
        source = self.late(scope.of(lambda v: v.type.dtype != STRING and len(v.type.shape) > 0))
        at = self.late(scope.of(lambda v: v.type == Type("int64")))
        output = self.value("t", source.type.dtype, source.type.shape[1:])
        scope.add(Node("Gather", [source, at], output, {"zeros": self.openvino}))
        return True

    def branch(self, scope: _Scope, depth: int) -> bool:
        condition = self.late(scope.of(lambda v: v.type == Type("bool")))
        wanted = self.late(scope.of(lambda v: all(isinstance(d, int) for d in v.type.shape)))
        bodies, results = [], []
        for _ in range(2):
            inner = scope.inside(Body())
            for _ in range(self.draw.integer(0, 2)):
                self.node(inner, max(depth, 1))
            fits = inner.of(lambda v: v.type == wanted.type)
            bodies.append(inner.body)
            results.append([self.late(fits)])
        output = self.value("if", wanted.type.dtype, wanted.type.shape)
        scope.add(Branch(self.name("If"), condition, bodies[0], bodies[1], (results[0], results[1]), [output]))
        return True

    # -- loops

    def kind(self) -> str:
        if self.openvino:
            return self.draw.pick(("Loop-5", "TensorIterator")) if "hot" not in self.features else "Loop-5"
        return "Scan" if self.has("scan", 60) and "hot" not in self.features else "Loop"

    def loop(self, scope: _Scope, depth: int) -> Loop:
        kind = self.kind()
        self._loops += 1
        body = Body()
        loop = Loop(kind, f"loop{self._loops}", body)
        inner = scope.inside(body)
        if kind in ("Scan", "TensorIterator") or (kind == "Loop-5" and self.draw.chance(20)):
            self.slices(loop, scope, inner)
            if not loop.sliced:
                kind = loop.kind = "Loop-5" if self.openvino else "Loop"
        if kind in ("Loop", "Loop-5"):
            self.limits(loop, scope, inner, depth)
        for _ in range(self.draw.integer(1, 4)):
            self.carry(loop, scope, inner)
        wanted = self.grow(loop, inner)
        if self.has("products", 60):
            self.product(inner)
        for _ in range(self.draw.integer(0, 5 if depth == 0 else 3)):
            self.node(inner, depth)
        self.results(loop, inner, wanted)
        if loop.kind in ("Loop", "Loop-5"):
            self.keep(loop, inner)
        self.scans(loop, scope, inner)
        order = list(loop.carried)
        loop.carried = [order.pop(self.draw.integer(0, len(order) - 1)) for _ in list(order)]
        scope.add(loop)
        return loop

    def limits(self, loop: Loop, scope: _Scope, inner: _Scope, depth: int) -> None:
        hot = "hot" in self.features
        if depth == 0 or self.draw.chance(40):
            loop.trip = next(v for v in scope.values if v.name == ("M" if depth == 0 else "K"))
        else:
            # Few, and other ones in each iteration of the loop around.
            a = self.late(scope.of(lambda v: v.type == Type("int64")))
            four = self.constant(scope, 4, "int64")
            small = self.emit(scope, "Mod", [a, four], "int64", ())
            # -1 means no limit to OpenVINO.
            loop.trip = self.emit(scope, "Abs", [small], "int64", ())
        if self.has("failing", 6):
            odd = scope.of(lambda v: v.type.dtype == "int64" and len(v.type.shape) == 1)
            loop.trip = self.draw.pick(odd) if odd else loop.trip
        if self.draw.chance(60 if "condition" in self.features or loop.kind == "Loop-5" else 25):
            flags = scope.of(lambda v: v.type == Type("bool"))
            yes = next(v for v in scope.values if v.name == "yes")
            loop.initial = self.late(flags) if self.draw.chance(40) else yes
        if loop.kind == "Loop":
            loop.number = self.value("i", "int64")
            loop.condition = self.value("cond", "bool")
            inner.values.append(loop.number)
            if "condition" in self.features:
                inner.values.append(loop.condition)
        elif self.draw.chance(70):
            loop.number = self.value("i", self.draw.pick(("int64", "int32")), self.draw.pick(((), (1,))))
            inner.values.append(loop.number)
        if hot and depth > 0 and self.draw.chance(50):
            loop.initial = None

    def slices(self, loop: Loop, scope: _Scope, inner: _Scope) -> None:
        keep = self.openvino
        sources = scope.of(lambda v: v.type.dtype in ("float32", "int64") and 0 < len(v.type.shape) < 3)
        sources = [v for v in sources if v.type.shape[0] not in (1,)]
        if not sources:
            return
        first = self.draw.pick(sources)
        chosen = [first]
        if self.draw.chance(50):
            agree = [v for v in sources if v.type.shape[0] == first.type.shape[0] or self.has("failing", 10)]
            chosen.append(self.draw.pick(agree))
        for outer in chosen:
            shape = outer.type.shape
            element = (1, *shape[1:]) if keep else shape[1:]
            param = self.value("part", outer.type.dtype, element)
            loop.sliced.append(Sliced(outer, param, 0, self.draw.chance(30), keep))
            inner.values.append(param)

    def carry(self, loop: Loop, scope: _Scope, inner: _Scope) -> None:
        candidates = [v for v in scope.values if len(v.type.shape) < 3 and v.name not in ("M", "K", "yes")]
        tall = self.tall(scope)
        if tall and self.features & {"growing", "delayed"} and self.draw.chance(70):
            initial = self.late(tall)
        elif self.has("condition", 30) or self.has("strings", 40):
            wanted = "bool" if "strings" not in self.features or self.draw.chance(40) else STRING
            fits = [v for v in candidates if v.type.dtype == wanted]
            initial = self.late(fits or candidates)
        elif self.has("products", 50):
            initial = self.late([v for v in candidates if v.type.shape in ((1, 1), (1,), (1, 2))])
        else:
            initial = self.late(candidates)
        shape = initial.type.shape
        grows = initial in tall and bool(self.features & {"growing", "delayed"})
        if grows or any(isinstance(d, str) for d in shape):
            may_change = "growing" in self.features or "delayed" in self.features
            shape = tuple(
                (self.token(inner) if may_change else d) if isinstance(d, str) or (k == 0 and grows) else d
                for k, d in enumerate(shape)
            )
        param = self.value("p", initial.type.dtype, shape)
        output = self.value("last", initial.type.dtype, self.outside(shape, scope, inner))
        loop.carried.append(Carried(initial, param, param, output))
        inner.values.append(param)

    def outside(self, shape: Shape, scope: _Scope, inner: _Scope) -> Shape:
        """A shape as the graph around a loop sees it: an extent that varies inside is some number there."""
        return tuple(self.token(scope) if d in inner.varying else d for d in shape)

    def grow(self, loop: Loop, inner: _Scope) -> dict[Value, Value]:
        """Nodes that make carried values longer; what each is to become."""
        wanted: dict[Value, Value] = {}
        if "growing" not in self.features:
            return wanted
        for c in loop.carried:
            if c.param in self.tall(inner) and isinstance(c.param.type.shape[0], str) and self.draw.chance(65):
                more = self.late(self.tall(inner)) if self.draw.chance(25) else None
                if more is None or more is c.param:
                    more = self.draw.pick([v for v in inner.values if v.name in ("row", "x", "z")])
                parts = [c.param, more] if self.draw.chance(80) else [more, c.param]
                wanted[c.param] = self.emit(inner, "Concat", parts, "float32", (self.token(inner), 2))
        return wanted

    def results(self, loop: Loop, inner: _Scope, wanted: dict[Value, Value]) -> None:
        params = [c.param for c in loop.carried]
        for c in loop.carried:
            fits = inner.of(lambda v, c=c: _fits(v.type, c.param.type))  # type: ignore[misc]
            if c.param in wanted and self.draw.chance(75):
                c.result = wanted[c.param]
                continue
            others = [p for p in params if p is not c.param and _fits(p.type, c.param.type)]
            shared = [v for p, v in wanted.items() if p is not c.param and _fits(v.type, c.param.type)]
            if others and self.has("delayed", 60):
                c.result = self.draw.pick(others + shared)
            elif self.has("direct", 45) or self.has("condition", 45):
                # A condition, an iteration number, a capture, or another parameter.
                directly = [v for v in fits if v in loop.params or not _made_in(loop.body, v)]
                c.result = self.draw.pick(directly)
            else:
                made = [v for v in fits if _made_in(loop.body, v)]
                c.result = self.late(made) if made and self.draw.chance(90) else self.late(fits)
            allowed = {"direct", "condition"} | ({"delayed"} if c.result in params else set())
            if not _made_in(loop.body, c.result) and not self.features & allowed:
                c.result = self.copied(inner, c.result)

    def copied(self, scope: _Scope, value: Value) -> Value:
        return self.emit(scope, "Identity", [value], value.type.dtype, value.type.shape)

    def keep(self, loop: Loop, inner: _Scope) -> None:
        flags = inner.of(lambda v: v.type == Type("bool") or (self.openvino and v.type == Type("bool", (1,))))
        if loop.condition is not None and self.draw.chance(40):
            loop.keep = loop.condition if self.has("direct", 50) else self.copied(inner, loop.condition)
        elif self.draw.chance(60):
            loop.keep = self.late(flags)
        else:
            # True for a while.
            counters = [v for v in (loop.number, *inner.values) if v is not None and v.type == Type("int64")]
            bound = next(v for v in inner.values if v.name == "bound")
            loop.keep = self.emit(inner, "Less", [counters[0], bound], "bool", ())
        if self.openvino and loop.keep is not None and not _made_in(loop.body, loop.keep):
            loop.keep = self.copied(inner, loop.keep)

    def scans(self, loop: Loop, scope: _Scope, inner: _Scope) -> None:
        for _ in range(self.draw.integer(0, 3)):
            steady = inner.of(
                lambda v: (
                    len(v.type.shape) < 3
                    and not (self.openvino and v.type.dtype == STRING)
                    and (not any(d in inner.varying for d in v.type.shape) or self.has("failing", 10))
                )
            )
            if self.has("condition", 30) and loop.condition is not None:
                element = loop.condition
            elif self.has("direct", 40) or self.has("nested", 20):
                element = self.draw.pick([v for v in steady if not _made_in(loop.body, v)])
            else:
                element = self.late(steady)
            if not _made_in(loop.body, element) and not self.features & {"direct", "condition"}:
                element = self.copied(inner, element)
            keep = self.openvino
            if keep and not element.type.shape:
                single = self.value("t", element.type.dtype, (1,))
                [element] = inner.add(Node("Reshape", [element], single, {"shape": (1,)}))
            axis, backwards = 0, False
            if loop.kind == "Scan" or keep:
                backwards = self.draw.chance(30)
            if loop.kind == "Scan" and self.draw.chance(30):
                axis = self.draw.integer(0, len(element.type.shape))
            dims = list(self.outside(element.type.shape, scope, inner))
            length: int | str = self.token(scope)
            if keep:
                dims[axis] = length
            else:
                dims.insert(axis, length)
            output = self.value("scan", element.type.dtype, tuple(dims))
            loop.scanned.append(Scanned(element, output, axis, backwards, keep))


def _fits(have: Type, wanted: Type) -> bool:
    """May be carried as ``wanted``: where that has a token of its own, any extent."""
    return (
        have.dtype == wanted.dtype
        and len(have.shape) == len(wanted.shape)
        and all(
            a == b or (isinstance(b, str) and b.startswith("d")) for a, b in zip(have.shape, wanted.shape, strict=True)
        )
    )


def _made_in(body: Body, value: Value) -> bool:
    return any(value in outputs_of(node) for node in body.nodes)


def _broadcast(a: Shape, b: Shape) -> Shape | None:
    dims: list[int | str] = []
    for k in range(1, max(len(a), len(b)) + 1):
        x = a[-k] if k <= len(a) else 1
        y = b[-k] if k <= len(b) else 1
        if x != y and 1 not in (x, y):
            return None
        dims.append(y if x == 1 else x)
    return tuple(dims[::-1])
