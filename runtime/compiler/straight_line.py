"""Straight-line runs of instructions, executed speculatively without NaN handling, and repeated if a NaN occurred.

Of two NaN operands the first one propagates, so every addition, multiplication and extreme has to test its operands
(``a != a`` in scalar_ops.h). A run omits these tests and tests a few values at its end instead, since NaN propagates.
The predicted branch costs no latency; if it is taken, the instructions run again with all tests. Hence a run must not
write a register that it reads or has written before.
"""

from __future__ import annotations

from collections.abc import Iterator

from .c_expressions import NAN_TEST, TYPES, TypedValue, bit_width, write_expression
from .prologue_epilogue import PrologueEpilogue
from .registers import ScalarOperation
from .vector_lanes import Argument

#: Operands whose NaN makes the result NaN, by operation.
NAN_PROPAGATING_OPERANDS = {
    **dict.fromkeys(("add", "subtract", "multiply", "divide"), (0, 1)),
    **dict.fromkeys(("maximum", "minimum"), (1,)),
    **dict.fromkeys(("negative", "absolute", "sqrt", "cast"), (0,)),
}


def is_floating(operation: ScalarOperation) -> bool:
    """Are all operands and the result floats?"""
    return {operation.argument, operation.result} <= {"float", "double"}


class NanTrace:
    """Value numbering of a run, with NaN propagation. A value is a register element; a copy has the same number."""

    def __init__(self) -> None:
        self.value_numbers: dict[tuple[int, int], int] = {}
        #: (register, byte offset, C type) of each value.
        self.places: list[tuple[int, int, str]] = []
        #: For each value, a later value to which its NaN propagates; -1: none.
        self.propagates_to: list[int] = []
        #: Values that must not be NaN.
        self.nan_tested: list[int] = []

    def value(self, register: int, byte: int, c_type: str) -> int:
        key = register, byte
        if key not in self.value_numbers:
            self.value_numbers[key] = len(self.places)
            self.places.append((register, byte, c_type))
            self.propagates_to.append(-1)
        return self.value_numbers[key]

    def copy(self, size: int, source: Argument, to: Argument) -> None:
        for old, new in zip(source[1], to[1], strict=True):
            for offset in range(size):
                if (source[0], old + offset) in self.value_numbers:
                    self.value_numbers[to[0], new + offset] = self.value_numbers[source[0], old + offset]

    def compute(self, operation: ScalarOperation, operands: list[Argument], result: Argument) -> None:
        operand_values = [[self.value(r, byte, operation.argument) for byte in offsets] for r, offsets in operands]
        if NAN_TEST.search(operation.expression) and operands[0] != operands[1]:
            self.nan_tested += operand_values[0]
        result_values = [self.value(result[0], byte, operation.result) for byte in result[1]]
        for j in NAN_PROPAGATING_OPERANDS.get(operation.name.split("_")[0], ()):
            for old, new in zip(operand_values[j], result_values, strict=True):
                self.propagates_to[old] = new

    def nan_sentinels(self) -> dict[tuple[int, str], list[int]]:
        """The last values to which a tested NaN propagates: (register, C type) -> byte offsets."""
        sentinels: dict[tuple[int, str], list[int]] = {}
        for value in {self.last_propagated(value) for value in self.nan_tested}:
            register, byte, c_type = self.places[value]
            sentinels.setdefault((register, c_type), []).append(byte)
        return {key: sorted(offsets) for key, offsets in sorted(sentinels.items())}

    def last_propagated(self, value: int) -> int:
        while self.propagates_to[value] >= 0:
            value = self.propagates_to[value]
        return value


class StraightLineCode(PrologueEpilogue):
    """Emits operations on scalars and elements, singly or as runs."""

    def run_end(self, first: int, targets: set[int]) -> int:
        """The end (exclusive) of the run that begins at ``first``: before an exit, a jump or a jump target."""
        accessed: set[tuple[int, int]] = set()
        k = first
        while k < len(self.program.code) and (k == first or k not in targets) and self.is_unconditional(k):
            *operands, result = ({*self.bytes_of(*argument)} for argument in self.arguments(k))
            accessed = accessed.union(*operands)
            if accessed & result:
                break
            accessed |= result
            k += 1
        return k

    def bytes_of(self, argument: Argument, size: int) -> Iterator[tuple[int, int]]:
        register, offsets = argument
        return ((register, byte + k) for byte in offsets for k in range(size))

    def opcode(self, k: int) -> int:
        """The opcode that an instruction applies to scalars or elements."""
        op, _, a, _, _ = self.program.code[k]
        return self.program.elementwise_operations[a][0] if op == self.control["EACH"] else op

    def operation(self, k: int) -> ScalarOperation | None:
        """The scalar operation of an instruction; None for control and select."""
        return self.layout.operations.get(self.opcode(k))

    def is_unconditional(self, k: int) -> bool:
        """Does the instruction always continue with the next one?"""
        operation = self.operation(k)
        return not operation.divides if operation is not None else self.opcode(k) in self.layout.choices

    def is_copy_instruction(self, k: int) -> bool:
        return self.is_copy(self.opcode(k))

    def arguments(self, k: int) -> list[tuple[Argument, int]]:
        """The operands and the result of an operation, with their element sizes in bytes."""
        op, d, a, b, c = self.program.code[k]
        if op == self.control["EACH"]:
            op, elements = self.program.elementwise_operations[a]
        elif op in self.layout.choices:
            elements = [(register, [0]) for register in (a, b, c, d)]
        else:
            elements = [(register, [0]) for register in ((a, b, d) if self.layout.operations[op].binary else (a, d))]
        if op in self.layout.choices:
            sizes = [1, *[self.layout.choices[op]] * 3]
        else:
            operation = self.layout.operations[op]
            size = bit_width(TYPES[operation.argument][0]) // 8
            sizes = [*[size] * (len(elements) - 1), bit_width(TYPES[operation.result][0]) // 8]
        if self.program.code[k][0] != self.control["EACH"]:
            sizes[-1] = max(sizes[-1], self.program.registers[d][0])  # writes the complete register
        return list(zip(elements, sizes, strict=True))

    def nan_sentinels(self, first: int, last: int) -> dict[tuple[int, str], list[int]]:
        """Values whose NaN test at the end of a run shows whether it met a NaN; empty: no test needed."""
        trace = NanTrace()
        for k in range(first, last):
            operation = self.operation(k)
            *operands, (result, _) = self.arguments(k)
            if operation is None:
                continue
            if self.is_copy_instruction(k):
                trace.copy(operands[0][1], operands[0][0], result)
            elif is_floating(operation):
                trace.compute(operation, [argument for argument, _ in operands], result)
        return trace.nan_sentinels()

    def emit_run(self, first: int, last: int) -> None:
        """Emit a run and the branch behind it."""
        w, sentinels = self.writer, self.nan_sentinels(first, last)
        if sentinels:
            again = w.fresh_name("again")
            w.assume_no_nan = True
            self.emit_operations(first, last)
            w.assume_no_nan = False
            w.branch_if(self.any_nan(sentinels), again, f"at{last}", likely=False)
            w.begin_block(again)
        self.emit_operations(first, last)
        w.branch(f"at{last}")

    def any_nan(self, sentinels: dict[tuple[int, str], list[int]]) -> str:
        """Is one of these values NaN?"""
        w, result = self.writer, ""
        for (register, c_type), offsets in sentinels.items():
            lanes = len(offsets) if len(offsets) > 1 else 0
            value = TypedValue(self.gather_lanes(register, TYPES[c_type][0], offsets), c_type, lanes)
            is_nan = self.any_of(w.assign(f"fcmp uno {value.llvm} {value.text}, {value.text}"), lanes)
            result = w.or_(result, is_nan) if result else is_nan
        return result

    def emit_operations(self, first: int, last: int) -> None:
        """Emit operations in order."""
        for op, d, a, b, c in self.program.code[first:last]:
            if op == self.control["EACH"]:
                self.apply_elementwise(*self.program.elementwise_operations[a])
            elif op in self.layout.choices:
                self.select(self.layout.choices[op], d, a, b, c)
            else:
                self.operate(self.layout.operations[op], d, a, b)

    def operate(self, operation: ScalarOperation, d: int, a: int, b: int) -> None:
        if operation.name.startswith("copy_"):
            self.move(a, d)
            return
        names = {"a": self.read_as(a, operation.argument)}
        if operation.binary:
            names["b"] = self.read_as(b, operation.argument)
        self.write_value(d, write_expression(operation.expression, names, operation.result, self.writer))

    def select(self, nbytes: int, d: int, a: int, b: int, c: int) -> None:
        w, t = self.writer, self.types[d]
        yes, no = (self.as_type(self.read(k), self.types[k], t) for k in (b, c))
        value = w.assign(f"select i1 {w.is_true(self.read_as(a, 'uint8_t'))}, {t} {yes}, {t} {no}")
        self.write(d, value)
