"""A scalar program as the compiler reads it, and the C structures that its code accesses."""

from __future__ import annotations

from typing import Any

from ..record import record
from .llvm_writer import TYPES, bit_width

#: Register and byte offsets of its elements.
Argument = tuple[int, list[int]]
#: Register, and for each step of a reduction the byte offsets of its elements.
ArgumentSequence = tuple[int, list[list[int]]]


@record
class ScalarOperation:
    """The scalar semantics of an opcode (scalar_ops.h)."""

    name: str
    argument: str
    result: str
    expression: str
    #: Has a second operand, ``b``.
    binary: bool
    #: Traps where b is 0: the engine handles that case.
    divides: bool

    @property
    def copied_bytes(self) -> int:
        """The size of what it copies; 0: it computes."""
        return int(self.name.removeprefix("copy_")) if self.name.startswith("copy_") else 0

    @property
    def is_floating(self) -> bool:
        """Are all operands and the result floats?"""
        return {self.argument, self.result} <= {"float", "double"}


@record
class ProductOrder:
    """Summation order of a small float32 matrix product: sequential from 0 for each element."""

    #: Uses fused multiply-add.
    fused: bool
    #: The operands of each summand, one per result element.
    a: ArgumentSequence
    b: ArgumentSequence
    result: Argument


@record
class ExtremeSearch:
    """Search for the index of each row's extreme (ArgMax, ArgMin), and perhaps the extreme itself (TopK); a NaN is the
    extreme."""

    c_type: str
    greatest: bool
    #: Ties select the last index, else the first.
    last: bool
    #: The elements at each index in the rows, one per result.
    x: ArgumentSequence
    result: Argument
    #: The extremes; only the kernel finds the least number of a row with NaN.
    values: Argument | None = None


@record
class FoldOrder:
    """Order of a sequential reduction (ReduceSum, ReduceMax)."""

    op: int
    #: Block size of NumPy's pairwise sums (pairwise_sum.h), for additions.
    part: int
    #: The initial values, one per result.
    begin: Argument
    #: The numbers that each step adds, one per result.
    x: ArgumentSequence
    result: Argument


@record
class AnyTest:
    """Whether a relation holds for any element (kernels/reduce/any.h)."""

    type: int
    relation: int
    a: int
    b: int
    #: ``b`` is one number.
    is_scalar: bool
    count: int

    @property
    def c_type(self) -> str:
        return ("float", "double", "int32_t", "int64_t", "uint8_t")[self.type]

    @property
    def expression(self) -> str:
        """The relation in C. Booleans are compared with False."""
        return f"a {('<', '<=', '>', '>=', '==', '!=')[self.relation]} {'0' if self.c_type == 'uint8_t' else 'b'}"


@record
class ProgramLayout:
    """Layout of the C structures and their constants (scalar_program.h)."""

    operations: dict[int, ScalarOperation]
    #: Opcodes of control instructions.
    control: dict[str, int]
    #: Opcode of a select -> bytes of its operands.
    choices: dict[int, int]
    #: "struct.field" -> its offset; "struct" -> its size
    offsets: dict[str, int]
    #: Values of statuses and other constants.
    numbers: dict[str, int]


@record
class ProgramDescription:
    """The part of a program that is constant between runs."""

    #: (op, d, a, b, c) of each instruction, registers as numbers
    code: list[tuple[int, int, int, int, int]]
    #: Bytes of each register, and whether its value fills them; if not, it is one number of any type.
    registers: list[tuple[int, bool]]
    #: Registers that the program does not change.
    unchanged: set[int]
    #: Registers of each call of an elementwise kernel; the last is the result.
    calls: list[list[int]]
    #: (bytes, length, index register, index is int64) of each Gather of one element
    loads: list[tuple[int, int, int, bool]]
    #: Description of each loop by compiler_bridge.pyx.
    loops: list[dict[str, Any]]
    #: Register -> its constant integer. Not floats: LLVM folds x * 1, which quiets NaN.
    constants: dict[int, int]
    #: (opcode, arguments) of each operation on several elements; the last argument is the result
    elementwise_operations: list[tuple[int, list[Argument]]]
    #: (registers, result registers, cost, inline evaluation order) of each node computed by its kernels
    nodes: list[tuple[list[int], list[int], int, ProductOrder | ExtremeSearch | FoldOrder | None]]
    any_tests: list[AnyTest]
    #: Offset of each register in memory; registers over 8 bytes are aligned and padded to cache lines.
    register_offsets: list[int]
    layout: ProgramLayout

    def operation_of(self, k: int) -> tuple[int, ScalarOperation | None]:
        """The opcode that an instruction applies to scalars or elements, and its operation; None: control or select."""
        op, _, a, _, _ = self.code[k]
        opcode = self.elementwise_operations[a][0] if op == self.layout.control["EACH"] else op
        return opcode, self.layout.operations.get(opcode)

    def is_fall_through(self, k: int) -> bool:
        """Does the instruction always continue with the next one?"""
        opcode, operation = self.operation_of(k)
        return opcode in self.layout.choices if operation is None else not operation.divides

    def arguments_of(self, k: int) -> list[tuple[Argument, int]]:
        """The operands and the result of an operation, with their element sizes in bytes."""
        op, d, a, b, c = self.code[k]
        opcode, operation = self.operation_of(k)
        if op == self.layout.control["EACH"]:
            arguments = self.elementwise_operations[a][1]
        else:
            registers = (a, b, c, d) if operation is None else (a, b, d) if operation.binary else (a, d)
            arguments = [(register, [0]) for register in registers]
        if operation is None:
            sizes = [1, *[self.layout.choices[opcode]] * 3]
        else:
            sizes = [size_of(operation.argument)] * (len(arguments) - 1) + [size_of(operation.result)]
        if op != self.layout.control["EACH"]:
            sizes[-1] = max(sizes[-1], self.registers[d][0])  # writes the complete register
        return list(zip(arguments, sizes, strict=True))

    def next_instruction_by_loop(self) -> dict[int, int]:
        """Loop -> its NEXT instruction, which ends the body."""
        return {a: k for k, (op, _, a, _, _) in enumerate(self.code) if op == self.layout.control["NEXT"]}

    def innermost_loop_by_instruction(self) -> list[int]:
        """The innermost loop that contains each instruction."""
        innermost, ends = [0] * len(self.code), self.next_instruction_by_loop()
        for number, loop in enumerate(self.loops[1:], 1):
            first = loop["body"] if loop["test"] < 0 else min(loop["body"], loop["test"])
            for k in range(first, ends[number] + 1):
                innermost[k] = number
        return innermost

    def jump_targets(self) -> set[int]:
        """The leaders of basic blocks."""
        jumps = (self.layout.control["BRANCH"], self.layout.control["JUMP"])
        ports = {loop[name] for loop in self.loops for name in ("body", "after", "test")}
        return ports.union(d for op, d, *_ in self.code if op in jumps)


def size_of(c_type: str) -> int:
    """The size of a C type in bytes."""
    return bit_width(TYPES[c_type]) // 8
