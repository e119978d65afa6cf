"""Operations on several register elements, as lanes of LLVM vectors."""

from __future__ import annotations

from .c_expressions import (
    TYPES,
    TypedValue,
    bit_width,
    element_and_lanes,
    splat_constant,
    vector_type,
    write_expression,
)
from .registers import ExtremeSearch, FoldOrder, ProductOrder, RegisterFile, ScalarOperation, shuffle_mask

#: Register and byte offsets of its elements.
Argument = tuple[int, list[int]]


class VectorLanes(RegisterFile):
    """Gathers register elements into lanes, and scatters them back."""

    def lanes_of(self, k: int, element: str, offsets: list[int]) -> tuple[int, list[int]]:
        """The element count of a register, and the lanes at these byte offsets."""
        size = bit_width(element) // 8
        return max(bit_width(self.types[k]) // bit_width(element), 1), [offset // size for offset in offsets]

    def gather_lanes(self, k: int, element: str, offsets: list[int]) -> str:
        """The elements at these byte offsets as a vector; a single one as a scalar."""
        w, n = self.writer, len(offsets)
        count, lanes = self.lanes_of(k, element, offsets)
        if count == 1:
            value = self.as_type(self.read(k), self.types[k], element)
            return value if n == 1 else self.splat(element, value, n)
        t = vector_type(element, count)
        text = self.as_type(self.read(k), self.types[k], t)
        if n == 1:
            return w.assign(f"extractelement {t} {text}, i32 {lanes[0]}")
        return (
            text
            if lanes == list(range(count))
            else w.assign(f"shufflevector {t} {text}, {t} poison, {shuffle_mask(lanes)}")
        )

    def splat(self, element: str, text: str, n: int) -> str:
        t = vector_type(element, n)
        first = self.writer.assign(f"insertelement {t} poison, {element} {text}, i32 0")
        return self.writer.assign(f"shufflevector {t} {first}, {t} poison, {shuffle_mask([0] * n)}")

    def scatter_lanes(self, k: int, element: str, offsets: list[int], text: str) -> None:
        """Write lanes to the elements at these byte offsets; other elements are unchanged."""
        w, n = self.writer, len(offsets)
        count, lanes = self.lanes_of(k, element, offsets)
        if count == 1:
            self.write(k, self.as_type(text, element, self.types[k]))
            return
        t = vector_type(element, count)
        if lanes != list(range(count)):
            old = self.as_type(self.read(k), self.types[k], t)
            if n == 1:
                text = w.assign(f"insertelement {t} {old}, {element} {text}, i32 {lanes[0]}")
            else:
                source = {lane: j for j, lane in enumerate(lanes)}
                mask = [source.get(lane, -1) for lane in range(count)]
                new = w.assign(
                    f"shufflevector {vector_type(element, n)} {text}, {vector_type(element, n)} poison, "
                    f"{shuffle_mask(mask)}"
                )
                blend_mask = shuffle_mask([count + lane if lane in source else lane for lane in range(count)])
                text = w.assign(f"shufflevector {t} {old}, {t} {new}, {blend_mask}")
        self.write(k, self.as_type(text, t, self.types[k]))

    # -- operations

    def apply_elementwise(self, op: int, arguments: list[Argument]) -> None:
        """Apply an operation to all lanes. Integer divisors are not 0."""
        *operands, (d, offsets) = arguments
        if op in self.layout.choices:
            self.select_each(self.layout.choices[op], operands, d, offsets)
            return
        operation = self.layout.operations[op]
        if operation.name.startswith("copy_"):
            element = self.element_of(d, bit_width(TYPES[operation.result][0]))
            self.scatter_lanes(d, element, offsets, self.gather_lanes(operands[0][0], element, operands[0][1]))
            return
        element = TYPES[operation.argument][0]
        values = [self.gather_lanes(register, element, operand_offsets) for register, operand_offsets in operands]
        compute = self.divide_each if operation.divides and len(offsets) > 1 else self.compute_each
        self.scatter_lanes(d, TYPES[operation.result][0], offsets, compute(operation, values, len(offsets)))

    def element_of(self, d: int, size: int) -> str:
        """The element type of ``size`` bits that matches a register."""
        own, _ = element_and_lanes(self.types[d])
        return own if bit_width(own) == size else f"i{size}"

    def compute_each(self, operation: ScalarOperation, values: list[str], n: int) -> str:
        lanes = n if n > 1 else 0
        names = {name: TypedValue(text, operation.argument, lanes) for name, text in zip("ab", values, strict=False)}
        return write_expression(operation.expression, names, operation.result, self.writer).text

    def divide_each(self, operation: ScalarOperation, values: list[str], n: int) -> str:
        """Divide integers lane by lane: a guarded division must not trap in another lane."""
        w, element = self.writer, TYPES[operation.argument][0]
        result, result_type = "poison", vector_type(TYPES[operation.result][0], n)
        for lane in range(n):
            texts = [w.assign(f"extractelement {vector_type(element, n)} {text}, i32 {lane}") for text in values]
            names = {name: TypedValue(text, operation.argument) for name, text in zip("ab", texts, strict=True)}
            quotient = write_expression(operation.expression, names, operation.result, w)
            result = w.assign(f"insertelement {result_type} {result}, {quotient.llvm} {quotient.text}, i32 {lane}")
        return result

    def has_zero(self, operation: ScalarOperation, register: int, offsets: list[int]) -> str:
        """Is any divisor 0?"""
        w, n, element = self.writer, len(offsets), TYPES[operation.argument][0]
        lanes = n if n > 1 else 0
        divisors = self.gather_lanes(register, element, offsets)
        zero = w.assign(f"icmp eq {vector_type(element, lanes)} {divisors}, {splat_constant(element, '0', lanes)}")
        return self.any_of(zero, lanes)

    def any_of(self, flags: str, lanes: int) -> str:
        """Is any flag set? 0 lanes: a scalar."""
        w = self.writer
        return (
            w.compare_integers(
                "ne", f"i{lanes}", w.assign(f"bitcast {vector_type('i1', lanes)} {flags} to i{lanes}"), 0
            )
            if lanes
            else flags
        )

    def product_lanes(self, order: ProductOrder) -> tuple[str, str]:
        """The elements of a product as lanes, and whether any is NaN: only the kernel determines which NaN results."""
        w, n = self.writer, len(order.result[1])
        lanes = n if n > 1 else 0
        t = vector_type("float", lanes)
        total = splat_constant("float", "0.0", lanes)
        for a_offsets, b_offsets in zip(order.a[1], order.b[1], strict=True):
            a, b = self.gather_lanes(order.a[0], "float", a_offsets), self.gather_lanes(order.b[0], "float", b_offsets)
            if order.fused:
                total = self.fused_multiply_add(t, lanes, a, b, total)
            else:
                total = w.assign(f"fadd {t} {total}, {w.assign(f'fmul {t} {a}, {b}')}")
        return total, self.any_of(w.assign(f"fcmp uno {t} {total}, {total}"), lanes)

    def fold_lanes(self, order: FoldOrder) -> tuple[str, str]:
        """The reduction as lanes, and whether any is NaN: only the kernel determines which NaN results."""
        w, n = self.writer, len(order.result[1])
        operation = self.layout.operations[order.op]
        element, lanes = TYPES[operation.argument][0], n if n > 1 else 0
        numbers = [self.gather_lanes(order.x[0], element, offsets) for offsets in order.x[1]]
        total = self.gather_lanes(order.begin[0], element, order.begin[1])
        # A sum propagates NaN; an extreme has to test.
        w.assume_no_nan = adds = operation.name.startswith("add_")
        part = order.part if adds and order.part else 1
        for k in range(0, len(numbers), part):
            total = self.compute_each(operation, [total, self.pairwise(operation, numbers[k : k + part], n)], n)
        w.assume_no_nan = False
        t = vector_type(element, lanes)
        is_nan = (
            self.any_of(w.assign(f"fcmp uno {t} {total}, {total}"), lanes)
            if element in ("float", "double")
            else "false"
        )
        return total, is_nan

    def pairwise(self, operation: ScalarOperation, numbers: list[str], n: int) -> str:
        """NumPy's sum of up to 128 numbers: eight partial sums, added in pairs, then the remainder."""
        full = len(numbers) // 8 * 8
        sums, rest = (numbers[:8], numbers[full:]) if full else (numbers[:1], numbers[1:])
        for k in range(8, full, 8):
            sums = [self.compute_each(operation, [a, b], n) for a, b in zip(sums, numbers[k : k + 8], strict=True)]
        while len(sums) > 1:
            pairs = zip(sums[::2], sums[1::2], strict=True)
            sums = [self.compute_each(operation, [a, b], n) for a, b in pairs]
        total = sums[0]
        for number in rest:
            total = self.compute_each(operation, [total, number], n)
        return total

    def search(self, order: ExtremeSearch) -> str:
        """The indices of the extremes, as lanes."""
        w, n = self.writer, len(order.result[1])
        lanes = n if n > 1 else 0
        element, index_type = TYPES[order.c_type][0], vector_type("i32", lanes)
        t, flags = vector_type(element, lanes), vector_type("i1", lanes)
        rows = [self.gather_lanes(order.x[0], element, offsets) for offsets in order.x[1]]
        best, indices = rows[0], splat_constant("i32", "0", lanes)
        for index, row in enumerate(rows[1:], 1):
            better = self.is_better(order, t, row, best)
            best = w.assign(f"select {flags} {better}, {t} {row}, {t} {best}")
            index_lanes = splat_constant("i32", str(index), lanes)
            indices = w.assign(f"select {flags} {better}, {index_type} {index_lanes}, {index_type} {indices}")
        return w.assign(f"zext {index_type} {indices} to {vector_type('i64', lanes)}")

    def is_better(self, order: ExtremeSearch, t: str, a: str, b: str) -> str:
        """Does element ``a`` replace the earlier element ``b``?"""
        w, prefix = self.writer, "g" if order.greatest else "l"
        if TYPES[order.c_type][0].startswith("i"):
            return w.compare_integers(f"s{prefix}{'e' if order.last else 't'}", t, a, b)
        if order.last:
            return self.bits_of("or", t, w.assign(f"fcmp o{prefix}e {t} {a}, {b}"), w.assign(f"fcmp uno {t} {a}, {a}"))
        return self.bits_of("and", t, w.assign(f"fcmp u{prefix}t {t} {a}, {b}"), w.assign(f"fcmp ord {t} {b}, {b}"))

    def bits_of(self, operator: str, t: str, a: str, b: str) -> str:
        """Combine two comparisons of a type with a bitwise operator."""
        return self.writer.assign(f"{operator} {vector_type('i1', element_and_lanes(t)[1])} {a}, {b}")

    def fused_multiply_add(self, t: str, lanes: int, a: str, b: str, total: str) -> str:
        """a * b + total, rounded once."""
        name = f"llvm.fma.v{lanes}f32" if lanes else "llvm.fma.f32"
        self.writer.declared_functions[name] = t, f"{t}, {t}, {t}"
        return self.writer.assign(f"call {t} @{name}({t} {a}, {t} {b}, {t} {total})")

    def select_each(self, nbytes: int, operands: list[Argument], d: int, offsets: list[int]) -> None:
        lanes = len(offsets) if len(offsets) > 1 else 0
        element = self.element_of(d, 8 * nbytes)
        mask = self.writer.is_true(
            TypedValue(self.gather_lanes(operands[0][0], "i8", operands[0][1]), "uint8_t", lanes)
        )
        yes, no = (self.gather_lanes(register, element, operand_offsets) for register, operand_offsets in operands[1:])
        t = vector_type(element, lanes)
        self.scatter_lanes(
            d, element, offsets, self.writer.assign(f"select {vector_type('i1', lanes)} {mask}, {t} {yes}, {t} {no}")
        )
