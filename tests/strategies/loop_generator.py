"""Random loops: their limits, slices, carried values and scan outputs, and the bodies of loops and Ifs."""

from __future__ import annotations

from collections.abc import Callable

from .draws import ChoiceSource
from .node_generator import GeneratorScope, NodeGenerator
from .program import (
    STRING,
    ProgramBody,
    ProgramCarriedValue,
    ProgramIf,
    ProgramLoop,
    ProgramNode,
    ProgramScanOutput,
    ProgramSlicedInput,
    ProgramValue,
    Shape,
    ValueType,
    outputs_of,
)


class LoopGenerator(NodeGenerator):
    """Adds loops and Ifs to bodies, with nodes and other loops in them."""

    def __init__(self, draw: ChoiceSource, features: frozenset[str]) -> None:
        super().__init__(draw, features)
        self._loops = 0

    def node(self, scope: GeneratorScope, depth: int) -> None:
        """Add a node, an inner loop, or an If."""
        kinds: list[Callable[[GeneratorScope], bool]] = [self.arithmetic] * 5 + [
            self.unary,
            self.compare,
            self.cast,
            self.where,
        ]
        kinds += [self.logic]
        if self.features & {"rows", "growing", "delayed", "nested"} and "hot" not in self.features:
            kinds += [self.concat, self.emit_row_slice, self.reduce, self.reduce, self.shape]
        if "counted" in self.features and "hot" not in self.features:
            kinds += [self.emit_data_dependent] * 3 + [self.reduce, self.shape]
        if "products" in self.features:
            kinds += [self.product] * 3
        if "attributes" in self.features:
            kinds += [self.with_attributes] * 2
        if "strings" in self.features:
            kinds += [self.string] * 2
        if "failing" in self.features:
            kinds += [self.emit_unchecked_gather]
        if "branches" in self.features and not self.openvino:
            kinds += [lambda s: self.branch(s, depth)] * 2
        if "nested" in self.features and depth < 2:
            kinds += [lambda s: bool(self.loop(s, depth + 1))] * 3
        for _ in range(6):
            if self.draw.pick(kinds)(scope):
                return

    def branch(self, scope: GeneratorScope, depth: int) -> bool:
        condition = self.prefer_recent(scope.values_where(lambda v: v.type == ValueType("bool")))
        wanted = self.prefer_recent(scope.values_where(lambda v: all(isinstance(d, int) for d in v.type.shape)))
        bodies, results = [], []
        for _ in range(2):
            inner = scope.inner_scope(ProgramBody())
            for _ in range(self.draw.integer(0, 2)):
                self.node(inner, max(depth, 1))
            fits = inner.values_where(lambda v: v.type == wanted.type)
            bodies.append(inner.body)
            results.append([self.prefer_recent(fits)])
        output = self.new_value("if", wanted.type.dtype, wanted.type.shape)
        scope.add(ProgramIf(self.name("If"), condition, bodies[0], bodies[1], (results[0], results[1]), [output]))
        return True

    # -- loops

    def kind(self) -> str:
        if self.openvino:
            return self.draw.pick(("Loop-5", "TensorIterator")) if "hot" not in self.features else "Loop-5"
        return "Scan" if self.draws_feature("scan", 60) and "hot" not in self.features else "Loop"

    def loop(self, scope: GeneratorScope, depth: int) -> ProgramLoop:
        kind = self.kind()
        self._loops += 1
        body = ProgramBody()
        loop = ProgramLoop(kind, f"loop{self._loops}", body)
        inner = scope.inner_scope(body)
        if kind in ("Scan", "TensorIterator") or (kind == "Loop-5" and self.draw.chance(20)):
            self.add_sliced_inputs(loop, scope, inner)
            if not loop.sliced:
                kind = loop.kind = "Loop-5" if self.openvino else "Loop"
        if kind in ("Loop", "Loop-5"):
            self.add_limits(loop, scope, inner, depth)
        for _ in range(self.draw.integer(1, 4)):
            self.add_carried(loop, scope, inner)
        wanted = self.add_growing(loop, inner)
        if self.draws_feature("products", 60):
            self.product(inner)
        for _ in range(self.draw.integer(0, 5 if depth == 0 else 3)):
            self.node(inner, depth)
        self.choose_results(loop, inner, wanted)
        if loop.kind in ("Loop", "Loop-5"):
            self.choose_condition(loop, inner)
        self.add_scan_outputs(loop, scope, inner)
        order = list(loop.carried)
        loop.carried = [order.pop(self.draw.integer(0, len(order) - 1)) for _ in list(order)]
        scope.add(loop)
        return loop

    def add_limits(self, loop: ProgramLoop, scope: GeneratorScope, inner: GeneratorScope, depth: int) -> None:
        hot = "hot" in self.features
        if depth == 0 or self.draw.chance(40):
            loop.trip = next(v for v in scope.values if v.name == ("M" if depth == 0 else "K"))
        else:
            # Small numbers that differ between iterations of the outer loop.
            a = self.prefer_recent(scope.values_where(lambda v: v.type == ValueType("int64")))
            four = self.constant(scope, 4, "int64")
            small = self.emit(scope, "Mod", [a, four], "int64", ())
            # -1 means no limit to OpenVINO.
            loop.trip = self.emit(scope, "Abs", [small], "int64", ())
        if self.draws_feature("failing", 6):
            odd = scope.values_where(lambda v: v.type.dtype == "int64" and len(v.type.shape) == 1)
            loop.trip = self.draw.pick(odd) if odd else loop.trip
        if self.draw.chance(60 if "condition" in self.features or loop.kind == "Loop-5" else 25):
            flags = scope.values_where(lambda v: v.type == ValueType("bool"))
            yes = next(v for v in scope.values if v.name == "yes")
            loop.initial = self.prefer_recent(flags) if self.draw.chance(40) else yes
        if loop.kind == "Loop":
            loop.number = self.new_value("i", "int64")
            loop.condition = self.new_value("cond", "bool")
            inner.values.append(loop.number)
            if "condition" in self.features:
                inner.values.append(loop.condition)
        elif self.draw.chance(70):
            loop.number = self.new_value("i", self.draw.pick(("int64", "int32")), self.draw.pick(((), (1,))))
            inner.values.append(loop.number)
        if hot and depth > 0 and self.draw.chance(50):
            loop.initial = None

    def add_sliced_inputs(self, loop: ProgramLoop, scope: GeneratorScope, inner: GeneratorScope) -> None:
        keep = self.openvino
        sources = scope.values_where(lambda v: v.type.dtype in ("float32", "int64") and 0 < len(v.type.shape) < 3)
        sources = [v for v in sources if v.type.shape[0] not in (1,)]
        if not sources:
            return
        first = self.draw.pick(sources)
        chosen = [first]
        if self.draw.chance(50):
            agree = [v for v in sources if v.type.shape[0] == first.type.shape[0] or self.draws_feature("failing", 10)]
            chosen.append(self.draw.pick(agree))
        for outer in chosen:
            shape = outer.type.shape
            element = (1, *shape[1:]) if keep else shape[1:]
            param = self.new_value("part", outer.type.dtype, element)
            loop.sliced.append(ProgramSlicedInput(outer, param, 0, self.draw.chance(30), keep))
            inner.values.append(param)

    def add_carried(self, loop: ProgramLoop, scope: GeneratorScope, inner: GeneratorScope) -> None:
        candidates = [v for v in scope.values if len(v.type.shape) < 3 and v.name not in ("M", "K", "yes")]
        tall = self.values_with_rows(scope)
        if tall and self.features & {"growing", "delayed"} and self.draw.chance(70):
            initial = self.prefer_recent(tall)
        elif self.draws_feature("condition", 30) or self.draws_feature("strings", 40):
            wanted = "bool" if "strings" not in self.features or self.draw.chance(40) else STRING
            fits = [v for v in candidates if v.type.dtype == wanted]
            initial = self.prefer_recent(fits or candidates)
        elif self.draws_feature("products", 50):
            initial = self.prefer_recent([v for v in candidates if v.type.shape in ((1, 1), (1,), (1, 2))])
        else:
            initial = self.prefer_recent(candidates)
        shape = initial.type.shape
        grows = initial in tall and bool(self.features & {"growing", "delayed"})
        if grows or any(isinstance(d, str) for d in shape):
            may_change = "growing" in self.features or "delayed" in self.features
            shape = tuple(
                (self.token(inner) if may_change else d) if isinstance(d, str) or (k == 0 and grows) else d
                for k, d in enumerate(shape)
            )
        param = self.new_value("p", initial.type.dtype, shape)
        output = self.new_value("last", initial.type.dtype, self.outer_shape(shape, scope, inner))
        loop.carried.append(ProgramCarriedValue(initial, param, param, output))
        inner.values.append(param)

    def outer_shape(self, shape: Shape, scope: GeneratorScope, inner: GeneratorScope) -> Shape:
        """A shape as the outer graph sees it: an extent that varies inside is a number there."""
        return tuple(self.token(scope) if d in inner.varying else d for d in shape)

    def add_growing(self, loop: ProgramLoop, inner: GeneratorScope) -> dict[ProgramValue, ProgramValue]:
        """Add nodes that lengthen carried values; returns the next value of each parameter."""
        wanted: dict[ProgramValue, ProgramValue] = {}
        if "growing" not in self.features:
            return wanted
        for c in loop.carried:
            if (
                c.param in self.values_with_rows(inner)
                and isinstance(c.param.type.shape[0], str)
                and self.draw.chance(65)
            ):
                more = self.prefer_recent(self.values_with_rows(inner)) if self.draw.chance(25) else None
                if more is None or more is c.param:
                    more = self.draw.pick([v for v in inner.values if v.name in ("row", "x", "z")])
                parts = [c.param, more] if self.draw.chance(80) else [more, c.param]
                wanted[c.param] = self.emit(inner, "Concat", parts, "float32", (self.token(inner), 2))
        return wanted

    def choose_results(
        self, loop: ProgramLoop, inner: GeneratorScope, wanted: dict[ProgramValue, ProgramValue]
    ) -> None:
        params = [c.param for c in loop.carried]
        for c in loop.carried:
            fits = inner.values_where(lambda v, c=c: _can_carry_as(v.type, c.param.type))  # type: ignore[misc]
            if c.param in wanted and self.draw.chance(75):
                c.result = wanted[c.param]
                continue
            others = [p for p in params if p is not c.param and _can_carry_as(p.type, c.param.type)]
            shared = [v for p, v in wanted.items() if p is not c.param and _can_carry_as(v.type, c.param.type)]
            if others and self.draws_feature("delayed", 60):
                c.result = self.draw.pick(others + shared)
            elif self.draws_feature("direct", 45) or self.draws_feature("condition", 45):
                # A condition, an iteration number, a capture, or another parameter.
                directly = [v for v in fits if v in loop.params or not _defined_in(loop.body, v)]
                c.result = self.draw.pick(directly)
            else:
                results = [v for v in fits if _defined_in(loop.body, v)]
                c.result = self.prefer_recent(results) if results and self.draw.chance(90) else self.prefer_recent(fits)
            allowed = {"direct", "condition"} | ({"delayed"} if c.result in params else set())
            if not _defined_in(loop.body, c.result) and not self.features & allowed:
                c.result = self.emit_identity(inner, c.result)

    def choose_condition(self, loop: ProgramLoop, inner: GeneratorScope) -> None:
        flags = inner.values_where(
            lambda v: v.type == ValueType("bool") or (self.openvino and v.type == ValueType("bool", (1,)))
        )
        if loop.condition is not None and self.draw.chance(40):
            loop.keep = (
                loop.condition if self.draws_feature("direct", 50) else self.emit_identity(inner, loop.condition)
            )
        elif self.draw.chance(60):
            loop.keep = self.prefer_recent(flags)
        else:
            # True for a while.
            counters = [v for v in (loop.number, *inner.values) if v is not None and v.type == ValueType("int64")]
            bound = next(v for v in inner.values if v.name == "bound")
            loop.keep = self.emit(inner, "Less", [counters[0], bound], "bool", ())
        if self.openvino and loop.keep is not None and not _defined_in(loop.body, loop.keep):
            loop.keep = self.emit_identity(inner, loop.keep)

    def add_scan_outputs(self, loop: ProgramLoop, scope: GeneratorScope, inner: GeneratorScope) -> None:
        for _ in range(self.draw.integer(0, 3)):
            steady = inner.values_where(
                lambda v: (
                    len(v.type.shape) < 3
                    and not (self.openvino and v.type.dtype == STRING)
                    and (not any(d in inner.varying for d in v.type.shape) or self.draws_feature("failing", 10))
                )
            )
            if self.draws_feature("condition", 30) and loop.condition is not None:
                element = loop.condition
            elif self.draws_feature("direct", 40) or self.draws_feature("nested", 20):
                element = self.draw.pick([v for v in steady if not _defined_in(loop.body, v)])
            else:
                element = self.prefer_recent(steady)
            if not _defined_in(loop.body, element) and not self.features & {"direct", "condition"}:
                element = self.emit_identity(inner, element)
            keep = self.openvino
            if keep and not element.type.shape:
                single = self.new_value("t", element.type.dtype, (1,))
                [element] = inner.add(ProgramNode("Reshape", [element], single, {"shape": (1,)}))
            axis, backwards = 0, False
            if loop.kind == "Scan" or keep:
                backwards = self.draw.chance(30)
            if loop.kind == "Scan" and self.draw.chance(30):
                axis = self.draw.integer(0, len(element.type.shape))
            dims = list(self.outer_shape(element.type.shape, scope, inner))
            length: int | str = self.token(scope)
            if keep:
                dims[axis] = length
            else:
                dims.insert(axis, length)
            output = self.new_value("scan", element.type.dtype, tuple(dims))
            loop.scanned.append(ProgramScanOutput(element, output, axis, backwards, keep))


def _can_carry_as(have: ValueType, wanted: ValueType) -> bool:
    """Whether a value may be carried as ``wanted``: a symbolic extent of that type matches any extent."""
    return (
        have.dtype == wanted.dtype
        and len(have.shape) == len(wanted.shape)
        and all(
            a == b or (isinstance(b, str) and b.startswith("d")) for a, b in zip(have.shape, wanted.shape, strict=True)
        )
    )


def _defined_in(body: ProgramBody, value: ProgramValue) -> bool:
    return any(value in outputs_of(node) for node in body.nodes)
