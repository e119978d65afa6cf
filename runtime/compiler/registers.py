"""The registers of a scalar program in code of LLVM: their types, and how they are read and written."""

from __future__ import annotations

from typing import Any

from ..record import record
from .c_expressions import TYPES, LlvmWriter, TypedValue, bit_width, element_and_lanes, vector_type


class NotCompilable(Exception):
    """A program that is left to the interpreter."""


@record
class ScalarOperation:
    """What an opcode does on single elements (scalar_ops.h)."""

    name: str
    argument: str
    result: str
    expression: str
    #: It has an operand ``b`` besides ``a``.
    binary: bool
    #: The engine does it where b is 0.
    divides: bool


@record
class ProductOrder:
    """How a small product of float32 matrices is summed: each element one summand after the other, from 0 on."""

    #: A summand is added to the sum before it is rounded.
    fused: bool
    #: Register, and of each summand the bytes at which its operands begin, one for each element of the result.
    a: tuple[int, list[list[int]]]
    b: tuple[int, list[list[int]]]
    #: Register, and the bytes at which its elements begin.
    result: tuple[int, list[int]]


@record
class ExtremeSearch:
    """How the places of the extremes of rows are found (ArgMax, ArgMin); a NaN is the extreme."""

    c_type: str
    greatest: bool
    #: Of equal ones the last place counts, else the first.
    last: bool
    #: Register, and of each place in the rows the bytes at which its elements begin, one for each result.
    x: tuple[int, list[list[int]]]
    #: Register, and the bytes at which its elements begin.
    result: tuple[int, list[int]]


@record
class FoldOrder:
    """How numbers are folded into results, one after the other (ReduceSum, ReduceMax)."""

    op: int
    #: So many of them are summed by themselves first, as NumPy's pairwise sums (pairwise_sum.h), where they are added.
    part: int
    #: Register, and the bytes at which it begins, one for each result.
    begin: tuple[int, list[int]]
    #: Register, and of each number the same.
    x: tuple[int, list[list[int]]]
    result: tuple[int, list[int]]


@record
class ProgramDescription:
    """All of a program that does not change from run to run."""

    #: (op, d, a, b, c) of each instruction, registers as numbers
    code: list[tuple[int, int, int, int, int]]
    #: Bytes of each register, and whether its value has all of them: what has not is one number of any type.
    registers: list[tuple[int, bool]]
    #: Registers of each call of a loop over elements; the last one is the result.
    calls: list[list[int]]
    #: (bytes, length, register of the index, as int64) of each Gather of one element
    loads: list[tuple[int, int, int, bool]]
    #: What compiler_bridge.pyx tells of each loop.
    loops: list[dict[str, Any]]
    #: Register -> the integer of the model that it always holds. Not floats: LLVM drops x * 1, which quiets NaN.
    constants: dict[int, int]
    #: (opcode, of each argument its register and the bytes at which its elements begin) of each operation on several
    #: elements; the last argument is the result
    elementwise_operations: list[tuple[int, list[tuple[int, list[int]]]]]
    #: (registers, those of results, cost, how code computes it) of each node that its kernels compute
    nodes: list[tuple[list[int], list[int], int, ProductOrder | ExtremeSearch | FoldOrder | None]]
    #: Where each register is in memory: what has more than 8 bytes begins at a line of the cache, and has whole ones.
    register_offsets: list[int]


@record
class ProgramLayout:
    """What code has to know of the C structures (scalar_program.h)."""

    operations: dict[int, ScalarOperation]
    #: Opcodes of what is no operation.
    control: dict[str, int]
    #: Opcode -> bytes of what is chosen.
    choices: dict[int, int]
    #: "struct.field" -> its offset; "struct" -> its size
    offsets: dict[str, int]
    #: Names of statuses, and other numbers.
    numbers: dict[str, int]


def shuffle_mask(lanes: list[int]) -> str:
    """Which lanes a shuffle takes; -1: any."""
    return f"<{len(lanes)} x i32> <{', '.join('i32 poison' if lane < 0 else f'i32 {lane}' for lane in lanes)}>"


class UnionFind:
    """Registers between which values move as they are: they get one type."""

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
    """The integer type of so many bytes."""
    if nbytes not in (1, 2, 4, 8):
        raise NotCompilable(f"{nbytes} bytes")
    return f"i{8 * nbytes}"


class RegisterFile:
    """Those of one program, and the C structures that it stands in."""

    def __init__(self, program: ProgramDescription, layout: ProgramLayout) -> None:
        self.program, self.layout = program, layout
        self.writer = LlvmWriter()
        self.control = layout.control
        self.types = self.type_registers()
        #: Where each register is in memory.
        self.register_offsets = program.register_offsets

    def type_registers(self) -> list[str]:
        """A type of LLVM for each register: that of all operations on it, or an integer that has room for them."""
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
        room: dict[int, int] = {}
        for k, (nbytes, exact) in enumerate(program.registers):
            if exact:
                room[groups.find(k)] = max(room.get(groups.find(k), 0), nbytes)
        loose = {groups.find(k) for registers in program.calls for k in registers if not program.registers[k][1]}
        return [
            self.type_of(used.get(g) or copied.get(g, set()), max(room.get(g, 0), 8 * (g in loose)), g not in loose)
            for g in map(groups.find, range(count))
        ]

    def type_of(self, used: set[str], room: int, exact: bool) -> str:
        """The type of registers that are used as these, of so many bytes. ``exact``: their values have all of them."""
        only = next(iter(used)) if len(used) == 1 else ""
        if only and bit_width(only) >= 8 * room:
            return only
        if exact and (room not in (0, 1, 2, 4, 8) or (only and 8 * room % bit_width(only) == 0)):
            element = only if only and 8 * room % bit_width(only) == 0 else "i8"
            return vector_type(element, 8 * room // bit_width(element))
        wide = max([8 * room, *map(bit_width, used)]) if used or room else 64
        return integer_type(wide // 8)

    def is_copy(self, op: int) -> bool:
        return op in self.layout.operations and self.layout.operations[op].name.startswith("copy_")

    def moved_registers(self) -> list[tuple[int, int]]:
        found = []
        for op, d, a, b, c in self.program.code:
            if op in self.layout.choices:
                found += [(b, d), (c, d)]
            elif self.is_copy(op) or op == self.control["BLOCK"]:
                found.append((a, d))
        for loop in self.program.loops:
            found += [*loop["moves"], *loop["init"], *loop["outs"]]
        return found

    def copied_registers(self) -> list[tuple[int, int]]:
        """(register, bytes of an element) of what is only moved about element by element."""
        sizes = dict(self.layout.choices)
        for op, operation in self.layout.operations.items():
            if operation.name.startswith("copy_"):
                sizes[op] = int(operation.name.removeprefix("copy_"))
        moved = [
            (op, arguments[1:] if op in self.layout.choices else arguments)
            for op, arguments in self.program.elementwise_operations
        ]
        return [(register, sizes[op]) for op, arguments in moved if op in sizes for register, _ in arguments]

    def used_types(self) -> list[tuple[int, str]]:
        """(register, C type) of all that operations read and write, but for what only copies."""
        found: list[tuple[int, str]] = []
        for op, d, a, b, _ in self.program.code:
            operation = self.layout.operations.get(op)
            if operation is not None and not operation.name.startswith("copy_"):
                found += [(a, operation.argument), (d, operation.result)]
                if operation.binary:
                    found.append((b, operation.argument))
            elif op in self.layout.choices or op in (
                self.control["BRANCH"],
                self.control["TEST"],
                self.control["STOP_IF"],
            ):
                found.append((a, "uint8_t"))
            elif op == self.control["COUNT"]:
                found.append((d, "int64_t" if b else "int32_t"))
        for op, arguments in self.program.elementwise_operations:
            operation = self.layout.operations.get(op)
            if operation is None:
                found.append((arguments[0][0], "uint8_t"))
            elif not operation.name.startswith("copy_"):
                found += [(register, operation.argument) for register, _ in arguments[:-1]]
                found.append((arguments[-1][0], operation.result))
        for *_, order in self.program.nodes:
            if isinstance(order, ExtremeSearch):
                found += [(order.x[0], order.c_type), (order.result[0], "int64_t")]
            elif isinstance(order, FoldOrder):
                operation = self.layout.operations[order.op]
                found += [(register, operation.argument) for register, _ in (order.begin, order.x, order.result)]
            elif order is not None:
                found += [(register, "float") for register, _ in (order.a, order.b, order.result)]
        found += [(index, "int64_t" if wide else "int32_t") for _, _, index, wide in self.program.loads]
        for loop in self.program.loops:
            found += [(loop[k], "uint8_t") for k in ("initial", "cond", "cond_in") if loop[k] >= 0]
            for name in ("trip", "iteration"):
                if loop[name] >= 0:
                    found.append((loop[name], "int64_t" if loop[f"{name}_wide"] else "int32_t"))
        return found

    def read_as(self, k: int, c_type: str) -> TypedValue:
        """What a register holds, as a C type."""
        return TypedValue(self.as_type(self.read(k), self.types[k], TYPES[c_type][0]), c_type)

    def write_value(self, k: int, value: TypedValue) -> None:
        self.write(k, self.as_type(value.text, value.llvm, self.types[k]))

    def read(self, k: int) -> str:
        if k in self.program.constants and self.types[k].startswith("i"):
            return str(self.program.constants[k])
        room = self.storage_type(k)
        return self.resize_vector(self.writer.assign(f"load {room}, ptr %r{k}"), room, self.types[k])

    def write(self, k: int, text: str) -> None:
        room = self.storage_type(k)
        if room != self.types[k]:
            text = self.writer.opaque(room, self.resize_vector(text, self.types[k], room))
        self.writer.emit(f"store {room} {text}, ptr %r{k}")

    def storage_type(self, k: int) -> str:
        """What a register is between blocks: LLVM takes vectors of other sizes than powers of two apart there."""
        element, lanes = element_and_lanes(self.types[k])
        room = vector_type(element, lanes and 1 << (lanes - 1).bit_length())
        return room if bit_width(room) > 128 else self.types[k]

    def resize_vector(self, text: str, old: str, new: str) -> str:
        """The first lanes of a vector, or more behind them that hold anything."""
        lanes, wanted = element_and_lanes(old)[1], element_and_lanes(new)[1]
        if lanes == wanted:
            return text
        return self.writer.assign(
            f"shufflevector {old} {text}, {old} poison, {shuffle_mask([k if k < lanes else -1 for k in range(wanted)])}"
        )

    def as_type(self, text: str, old: str, new: str) -> str:
        """The same bits as another type, cut or with zeros above."""
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
        """What a field of a structure holds."""
        return self.writer.assign(f"load {llvm}, ptr {self.address(base, self.layout.offsets[name])}")

    def set_field(self, base: str, name: str, llvm: str, text: str) -> None:
        self.writer.emit(f"store {llvm} {text}, ptr {self.address(base, self.layout.offsets[name])}")

    def load(self, name: str, llvm: str = "i64") -> str:
        return self.writer.assign(f"load {llvm}, ptr %{name}")

    def store(self, name: str, text: str | int, llvm: str = "i64") -> None:
        self.writer.emit(f"store {llvm} {text}, ptr %{name}")

    def fetch_add(self, where: str, by: int | str) -> str:
        """Add to an int64 in memory; returns what it was."""
        before = self.writer.assign(f"load i64, ptr {where}")
        self.writer.emit(f"store i64 {self.writer.add(before, by)}, ptr {where}")
        return before
