"""Straight-line runs of instructions, executed speculatively without NaN handling, and repeated if a NaN occurred.

Of two NaN operands the first one propagates, so every addition, multiplication and extreme has to test its operands
(``a != a`` in scalar_ops.h). A run omits these tests and tests a few values at its end instead, since NaN propagates.
The predicted branch costs no latency; if it is taken, the instructions run again with all tests. Hence a run must not
write a register that it reads or has written before.
"""

from __future__ import annotations

from .c_expression_lowering import NAN_TEST
from .llvm_writer import TYPES, vector_type
from .operations import emit_operations, lane_count
from .program import Argument, ProgramDescription, ScalarOperation
from .registers import RegisterFile

#: Operands whose NaN makes the result NaN, by operation.
NAN_PROPAGATING_OPERANDS = {
    **dict.fromkeys(("add", "subtract", "multiply", "divide"), (0, 1)),
    **dict.fromkeys(("maximum", "minimum"), (1,)),
    **dict.fromkeys(("negative", "absolute", "sqrt", "cast"), (0,)),
}


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

    def value_number(self, register: int, byte: int, c_type: str) -> int:
        key = register, byte
        if key not in self.value_numbers:
            self.value_numbers[key] = len(self.places)
            self.places.append((register, byte, c_type))
            self.propagates_to.append(-1)
        return self.value_numbers[key]

    def record_copy(self, size: int, source: Argument, to: Argument) -> None:
        for old, new in zip(source[1], to[1], strict=True):
            for offset in range(size):
                if (source[0], old + offset) in self.value_numbers:
                    self.value_numbers[to[0], new + offset] = self.value_numbers[source[0], old + offset]

    def record_operation(self, operation: ScalarOperation, operands: list[Argument], result: Argument) -> None:
        operand_values = [
            [self.value_number(r, byte, operation.argument) for byte in offsets] for r, offsets in operands
        ]
        if NAN_TEST.search(operation.expression) and operands[0] != operands[1]:
            self.nan_tested += operand_values[0]
        result_values = [self.value_number(result[0], byte, operation.result) for byte in result[1]]
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


def run_end(program: ProgramDescription, first: int, targets: set[int]) -> int:
    """The end (exclusive) of the run that begins at ``first``: before an exit, a jump or a jump target."""
    accessed: set[tuple[int, int]] = set()
    k = first
    while k < len(program.code) and (k == first or k not in targets) and program.is_fall_through(k):
        *operands, result = (
            {(register, offset + byte) for offset in offsets for byte in range(size)}
            for (register, offsets), size in program.arguments_of(k)
        )
        accessed = accessed.union(*operands)
        if accessed & result:
            break
        accessed |= result
        k += 1
    return k


def find_nan_sentinels(program: ProgramDescription, first: int, last: int) -> dict[tuple[int, str], list[int]]:
    """Values whose NaN test at the end of a run shows whether it met a NaN; empty: no test needed."""
    trace = NanTrace()
    for k in range(first, last):
        _, operation = program.operation_of(k)
        *operands, (result, _) = program.arguments_of(k)
        if operation is None:
            continue
        if operation.copied_bytes:
            trace.record_copy(operands[0][1], operands[0][0], result)
        elif operation.is_floating:
            trace.record_operation(operation, [argument for argument, _ in operands], result)
    return trace.nan_sentinels()


def emit_straight_line(registers: RegisterFile, first: int, last: int) -> None:
    """Emit a run and the branch behind it."""
    w, sentinels = registers.writer, find_nan_sentinels(registers.program, first, last)
    if sentinels:
        again = w.fresh_name("again")
        w.assume_no_nan = True
        emit_operations(registers, first, last)
        w.assume_no_nan = False
        w.branch_if(any_nan(registers, sentinels), again, f"at{last}", likely=False)
        w.begin_block(again)
    emit_operations(registers, first, last)
    w.branch(f"at{last}")


def any_nan(registers: RegisterFile, sentinels: dict[tuple[int, str], list[int]]) -> str:
    """Is one of these values NaN?"""
    w, result = registers.writer, ""
    for (register, c_type), offsets in sentinels.items():
        element = TYPES[c_type]
        values = registers.gather_lanes(register, element, offsets)
        is_nan = w.any_nan(vector_type(element, lane_count(offsets)), values)
        result = w.or_(result, is_nan) if result else is_nan
    return result
