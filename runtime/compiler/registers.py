"""Registers of a scalar program in LLVM IR: types, loads and stores."""

from __future__ import annotations

from typing import Any

from ..record import record
from .c_expressions import TYPES, LlvmWriter, TypedValue, bit_width, element_and_lanes, vector_type


class NotCompilable(Exception):
    """The program needs the interpreter."""


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


@record
class ProductOrder:
    """Summation order of a small float32 matrix product: sequential from 0 for each element."""

    #: Uses fused multiply-add.
    fused: bool
    #: Register, and for each summand the byte offsets of its operands, one per result element.
    a: tuple[int, list[list[int]]]
    b: tuple[int, list[list[int]]]
    #: Register, and the byte offsets of its elements.
    result: tuple[int, list[int]]


@record
class ExtremeSearch:
    """Search for the index of each row's extreme (ArgMax, ArgMin); a NaN is the extreme."""

    c_type: str
    greatest: bool
    #: Ties select the last index, else the first.
    last: bool
    #: Register, and for each index in the rows the byte offsets of its elements, one per result.
    x: tuple[int, list[list[int]]]
    #: Register, and the byte offsets of its elements.
    result: tuple[int, list[int]]


@record
class FoldOrder:
    """Order of a sequential reduction (ReduceSum, ReduceMax)."""

    op: int
    #: Block size of NumPy's pairwise sums (pairwise_sum.h), for additions.
    part: int
    #: Register and byte offsets of the initial values, one per result.
    begin: tuple[int, list[int]]
    #: Register, and for each number its byte offsets.
    x: tuple[int, list[list[int]]]
    result: tuple[int, list[int]]


@record
class ProgramDescription:
    """The part of a program that is constant between runs."""

    #: (op, d, a, b, c) of each instruction, registers as numbers
    code: list[tuple[int, int, int, int, int]]
    #: Bytes of each register, and whether its value fills them; if not, it is one number of any type.
    registers: list[tuple[int, bool]]
    #: Registers of each call of an elementwise kernel; the last is the result.
    calls: list[list[int]]
    #: (bytes, length, index register, index is int64) of each Gather of one element
    loads: list[tuple[int, int, int, bool]]
    #: Description of each loop by compiler_bridge.pyx.
    loops: list[dict[str, Any]]
    #: Register -> its constant integer. Not floats: LLVM folds x * 1, which quiets NaN.
    constants: dict[int, int]
    #: (opcode, arguments as (register, byte offsets of its elements)) of each operation on several elements; the last
    #: argument is the result
    elementwise_operations: list[tuple[int, list[tuple[int, list[int]]]]]
    #: (registers, result registers, cost, inline evaluation order) of each node computed by its kernels
    nodes: list[tuple[list[int], list[int], int, ProductOrder | ExtremeSearch | FoldOrder | None]]
    #: Offset of each register in memory; registers over 8 bytes are aligned and padded to cache lines.
    register_offsets: list[int]


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


def shuffle_mask(lanes: list[int]) -> str:
    """The mask of a shuffle; -1: undefined lane."""
    return f"<{len(lanes)} x i32> <{', '.join('i32 poison' if lane < 0 else f'i32 {lane}' for lane in lanes)}>"


class UnionFind:
    """Disjoint sets of registers connected by copies: each set gets one type."""

    def __init__(self, count: int) -> None:
        self.parent = list(range(count))

    def find(self, k: int) -> int:
        while self.parent[k] != k:
            self.parent[k] = self.parent[self.parent[k]]
            k = self.parent[k]
        return k

    def union(self, a: int, b: int) -> None:
        self.parent[self.find(a)] = self.find(b)


def integer_type(nbytes: int) -> str:
    """The integer type of a size in bytes."""
    if nbytes not in (1, 2, 4, 8):
        raise NotCompilable(f"{nbytes} bytes")
    return f"i{8 * nbytes}"


class RegisterFile:
    """Registers of one program, with access to its C structures."""

    def __init__(self, program: ProgramDescription, layout: ProgramLayout) -> None:
        self.program, self.layout = program, layout
        self.writer = LlvmWriter()
        self.control = layout.control
        self.types = self.type_registers()
        self.register_offsets = program.register_offsets

    def type_registers(self) -> list[str]:
        """The LLVM type of each register: that of all its operations, or an integer wide enough for them."""
        program, count = self.program, len(self.program.registers)
        groups = UnionFind(count)
        for source, to in self.moved_registers():
            groups.union(source, to)
        used: dict[int, set[str]] = {}
        for register, c_type in self.used_types():
            used.setdefault(groups.find(register), set()).add(TYPES[c_type][0])
        copied: dict[int, set[str]] = {}
        for register, nbytes in self.copied_registers():
            copied.setdefault(groups.find(register), set()).add(integer_type(nbytes))
        sizes: dict[int, int] = {}
        for k, (nbytes, exact) in enumerate(program.registers):
            if exact:
                sizes[groups.find(k)] = max(sizes.get(groups.find(k), 0), nbytes)
        loose = {groups.find(k) for registers in program.calls for k in registers if not program.registers[k][1]}
        return [
            self.type_of(
                used.get(group) or copied.get(group, set()),
                max(sizes.get(group, 0), 8 * (group in loose)),
                group not in loose,
            )
            for group in map(groups.find, range(count))
        ]

    def type_of(self, used: set[str], nbytes: int, exact: bool) -> str:
        """The type of registers with these uses and this size. ``exact``: the values fill all bytes."""
        single = next(iter(used)) if len(used) == 1 else ""
        if single and bit_width(single) >= 8 * nbytes:
            return single
        if exact and (nbytes not in (0, 1, 2, 4, 8) or (single and 8 * nbytes % bit_width(single) == 0)):
            element = single if single and 8 * nbytes % bit_width(single) == 0 else "i8"
            return vector_type(element, 8 * nbytes // bit_width(element))
        width = max([8 * nbytes, *map(bit_width, used)]) if used or nbytes else 64
        return integer_type(width // 8)

    def is_copy(self, op: int) -> bool:
        return op in self.layout.operations and self.layout.operations[op].name.startswith("copy_")

    def moved_registers(self) -> list[tuple[int, int]]:
        moves = []
        for op, d, a, b, c in self.program.code:
            if op in self.layout.choices:
                moves += [(b, d), (c, d)]
            elif self.is_copy(op) or op == self.control["BLOCK"]:
                moves.append((a, d))
        for loop in self.program.loops:
            moves += [*loop["moves"], *loop["init"], *loop["outs"]]
        return moves

    def copied_registers(self) -> list[tuple[int, int]]:
        """(register, element size) of operands that are only copied by element."""
        sizes = dict(self.layout.choices)
        for op, operation in self.layout.operations.items():
            if operation.name.startswith("copy_"):
                sizes[op] = int(operation.name.removeprefix("copy_"))
        copies = [
            (op, arguments[1:] if op in self.layout.choices else arguments)
            for op, arguments in self.program.elementwise_operations
        ]
        return [(register, sizes[op]) for op, arguments in copies if op in sizes for register, _ in arguments]

    def used_types(self) -> list[tuple[int, str]]:
        """(register, C type) of all operands and results of operations other than copies."""
        uses: list[tuple[int, str]] = []
        for op, d, a, b, _ in self.program.code:
            operation = self.layout.operations.get(op)
            if operation is not None and not operation.name.startswith("copy_"):
                uses += [(a, operation.argument), (d, operation.result)]
                if operation.binary:
                    uses.append((b, operation.argument))
            elif op in self.layout.choices or op in (
                self.control["BRANCH"],
                self.control["TEST"],
                self.control["STOP_IF"],
            ):
                uses.append((a, "uint8_t"))
            elif op == self.control["COUNT"]:
                uses.append((d, "int64_t" if b else "int32_t"))
        for op, arguments in self.program.elementwise_operations:
            operation = self.layout.operations.get(op)
            if operation is None:
                uses.append((arguments[0][0], "uint8_t"))
            elif not operation.name.startswith("copy_"):
                uses += [(register, operation.argument) for register, _ in arguments[:-1]]
                uses.append((arguments[-1][0], operation.result))
        for *_, order in self.program.nodes:
            if isinstance(order, ExtremeSearch):
                uses += [(order.x[0], order.c_type), (order.result[0], "int64_t")]
            elif isinstance(order, FoldOrder):
                operation = self.layout.operations[order.op]
                uses += [(register, operation.argument) for register, _ in (order.begin, order.x, order.result)]
            elif order is not None:
                uses += [(register, "float") for register, _ in (order.a, order.b, order.result)]
        uses += [(index, "int64_t" if is_int64 else "int32_t") for _, _, index, is_int64 in self.program.loads]
        for loop in self.program.loops:
            uses += [(loop[k], "uint8_t") for k in ("initial", "cond", "cond_in") if loop[k] >= 0]
            for name in ("trip", "iteration"):
                if loop[name] >= 0:
                    uses.append((loop[name], "int64_t" if loop[f"{name}_wide"] else "int32_t"))
        return uses

    def read_as(self, k: int, c_type: str) -> TypedValue:
        """Read a register as a C type."""
        return TypedValue(self.as_type(self.read(k), self.types[k], TYPES[c_type][0]), c_type)

    def write_value(self, k: int, value: TypedValue) -> None:
        self.write(k, self.as_type(value.text, value.llvm, self.types[k]))

    def read(self, k: int) -> str:
        if k in self.program.constants and self.types[k].startswith("i"):
            return str(self.program.constants[k])
        storage = self.storage_type(k)
        return self.resize_vector(self.writer.assign(f"load {storage}, ptr %r{k}"), storage, self.types[k])

    def write(self, k: int, text: str) -> None:
        storage = self.storage_type(k)
        if storage != self.types[k]:
            text = self.writer.opaque(storage, self.resize_vector(text, self.types[k], storage))
        self.writer.emit(f"store {storage} {text}, ptr %r{k}")

    def storage_type(self, k: int) -> str:
        """The type of a register between blocks, with a power of two of lanes: LLVM splits other vectors."""
        element, lanes = element_and_lanes(self.types[k])
        storage = vector_type(element, lanes and 1 << (lanes - 1).bit_length())
        return storage if bit_width(storage) > 128 else self.types[k]

    def resize_vector(self, text: str, old: str, new: str) -> str:
        """Truncate a vector, or extend it with undefined lanes."""
        lanes, new_lanes = element_and_lanes(old)[1], element_and_lanes(new)[1]
        if lanes == new_lanes:
            return text
        mask = shuffle_mask([k if k < lanes else -1 for k in range(new_lanes)])
        return self.writer.assign(f"shufflevector {old} {text}, {old} poison, {mask}")

    def as_type(self, text: str, old: str, new: str) -> str:
        """Reinterpret the bits as another type, truncated or zero-extended."""
        w = self.writer
        if old == new:
            return text
        if element_and_lanes(old)[1] or element_and_lanes(new)[1]:
            if bit_width(old) != bit_width(new):
                raise NotCompilable(f"{old} as {new}")
            return w.assign(f"bitcast {old} {text} to {new}")
        if old in ("float", "double"):
            text, old = w.assign(f"bitcast {old} {text} to i{bit_width(old)}"), f"i{bit_width(old)}"
        if bit_width(old) != bit_width(new):
            code = "zext" if bit_width(old) < bit_width(new) else "trunc"
            text, old = w.assign(f"{code} {old} {text} to i{bit_width(new)}"), f"i{bit_width(new)}"
        return text if old == new else w.assign(f"bitcast {old} {text} to {new}")

    def move(self, source: int, to: int) -> None:
        self.write(to, self.as_type(self.read(source), self.types[source], self.types[to]))

    # -- memory

    def address(self, base: str, offset: int | str) -> str:
        return self.writer.assign(f"getelementptr i8, ptr {base}, i64 {offset}")

    def field(self, base: str, name: str, llvm: str) -> str:
        """Load a field of a structure."""
        return self.writer.assign(f"load {llvm}, ptr {self.address(base, self.layout.offsets[name])}")

    def set_field(self, base: str, name: str, llvm: str, text: str) -> None:
        self.writer.emit(f"store {llvm} {text}, ptr {self.address(base, self.layout.offsets[name])}")

    def load(self, name: str, llvm: str = "i64") -> str:
        return self.writer.assign(f"load {llvm}, ptr %{name}")

    def store(self, name: str, text: str | int, llvm: str = "i64") -> None:
        self.writer.emit(f"store {llvm} {text}, ptr %{name}")

    def fetch_add(self, address: str, increment: int | str) -> str:
        """Add to an int64 in memory; return the previous value."""
        previous = self.writer.assign(f"load i64, ptr {address}")
        self.writer.emit(f"store i64 {self.writer.add(previous, increment)}, ptr {address}")
        return previous
