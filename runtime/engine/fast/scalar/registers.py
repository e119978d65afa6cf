"""The registers of a scalar program in code of LLVM: their types, and how they are read and written."""

from __future__ import annotations

from typing import Any

from ....record import record
from .expressions import TYPES, Value, Writer, bits


class Unfit(Exception):
    """A program that is left to the interpreter."""


@record
class Operation:
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
class Description:
    """All of a program that does not change from run to run."""

    #: (op, d, a, b, c) of each instruction, registers as numbers
    code: list[tuple[int, int, int, int, int]]
    #: Bytes of each register, and whether it is a value of the model: what is not has any type.
    registers: list[tuple[int, bool]]
    #: Registers of each call of a loop over elements; the last one is the result.
    calls: list[list[int]]
    #: (bytes, length, register of the index, as int64) of each Gather of one element
    loads: list[tuple[int, int, int, bool]]
    #: What machine_code.pyx tells of each loop.
    loops: list[dict[str, Any]]
    #: Register -> the integer of the model that it always holds. Not floats: LLVM drops x * 1, which quiets NaN.
    constants: dict[int, int]


@record
class Layout:
    """What code has to know of the C structures (scalar_program.h)."""

    operations: dict[int, Operation]
    #: Opcodes of what is no operation.
    control: dict[str, int]
    #: Opcode -> bytes of what is chosen.
    choices: dict[int, int]
    #: "struct.field" -> its offset; "struct" -> its size
    offsets: dict[str, int]
    #: Names of statuses, and other numbers.
    numbers: dict[str, int]


class Groups:
    """Registers between which values move as they are: they get one type."""

    def __init__(self, count: int) -> None:
        self.parent = list(range(count))

    def of(self, k: int) -> int:
        while self.parent[k] != k:
            self.parent[k] = self.parent[self.parent[k]]
            k = self.parent[k]
        return k

    def join(self, a: int, b: int) -> None:
        self.parent[self.of(a)] = self.of(b)


def integer(nbytes: int) -> str:
    """The integer type of so many bytes."""
    if nbytes not in (1, 2, 4, 8):
        raise Unfit(f"{nbytes} bytes")
    return f"i{8 * nbytes}"


class Registers:
    """Those of one program, and the C structures that it stands in."""

    def __init__(self, program: Description, layout: Layout) -> None:
        self.program, self.layout = program, layout
        self.w = Writer()
        self.control = layout.control
        self.types = self.type_registers()

    def type_registers(self) -> list[str]:
        """A type of LLVM for each register: that of all operations on it, or an integer that has room for them."""
        program, count = self.program, len(self.program.registers)
        groups = Groups(count)
        for source, to in self.moved():
            groups.join(source, to)
        used: dict[int, set[str]] = {}
        for register, c_type in self.used():
            used.setdefault(groups.of(register), set()).add(TYPES[c_type][0])
        room: dict[int, int] = {}
        for k, (nbytes, is_value) in enumerate(program.registers):
            if is_value:
                room[groups.of(k)] = max(room.get(groups.of(k), 0), nbytes)
        for registers in program.calls:
            for k in registers:
                if not program.registers[k][1]:
                    room[groups.of(k)] = 8
        return [self.type_of(used.get(groups.of(k), set()), room.get(groups.of(k), 0)) for k in range(count)]

    def type_of(self, used: set[str], room: int) -> str:
        if len(used) == 1 and bits(next(iter(used))) >= 8 * room:
            return next(iter(used))
        wide = max([8 * room, *map(bits, used)]) if used or room else 64
        return integer(wide // 8)

    def moved(self) -> list[tuple[int, int]]:
        found = []
        for op, d, a, b, c in self.program.code:
            if op in self.layout.choices:
                found += [(b, d), (c, d)]
            elif op in self.layout.operations and self.layout.operations[op].name.startswith("copy_"):
                found.append((a, d))
        for loop in self.program.loops:
            found += [*loop["moves"], *loop["init"], *loop["outs"]]
        return found

    def used(self) -> list[tuple[int, str]]:
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
        found += [(index, "int64_t" if wide else "int32_t") for _, _, index, wide in self.program.loads]
        for loop in self.program.loops:
            found += [(loop[k], "uint8_t") for k in ("initial", "cond", "cond_in") if loop[k] >= 0]
            for name in ("trip", "iteration"):
                if loop[name] >= 0:
                    found.append((loop[name], "int64_t" if loop[f"{name}_wide"] else "int32_t"))
        return found

    def get(self, k: int, c_type: str) -> Value:
        """What a register holds, as a C type."""
        return Value(self.as_type(self.read(k), self.types[k], TYPES[c_type][0]), c_type)

    def put(self, k: int, value: Value) -> None:
        self.write(k, self.as_type(value.text, value.llvm, self.types[k]))

    def read(self, k: int) -> str:
        if k in self.program.constants and self.types[k].startswith("i"):
            return str(self.program.constants[k])
        return self.w.let(f"load {self.types[k]}, ptr %r{k}")

    def write(self, k: int, text: str) -> None:
        self.w.do(f"store {self.types[k]} {text}, ptr %r{k}")

    def as_type(self, text: str, old: str, new: str) -> str:
        """The same bits as another type, cut or with zeros above."""
        w = self.w
        if old == new:
            return text
        if old in ("float", "double"):
            text, old = w.let(f"bitcast {old} {text} to i{bits(old)}"), f"i{bits(old)}"
        if bits(old) != bits(new):
            code = "zext" if bits(old) < bits(new) else "trunc"
            text, old = w.let(f"{code} {old} {text} to i{bits(new)}"), f"i{bits(new)}"
        return text if old == new else w.let(f"bitcast {old} {text} to {new}")

    def move(self, source: int, to: int) -> None:
        self.write(to, self.as_type(self.read(source), self.types[source], self.types[to]))

    # -- memory

    def at(self, base: str, offset: int | str) -> str:
        return self.w.let(f"getelementptr i8, ptr {base}, i64 {offset}")

    def field(self, base: str, name: str, llvm: str) -> str:
        """What a field of a structure holds."""
        return self.w.let(f"load {llvm}, ptr {self.at(base, self.layout.offsets[name])}")

    def set_field(self, base: str, name: str, llvm: str, text: str) -> None:
        self.w.do(f"store {llvm} {text}, ptr {self.at(base, self.layout.offsets[name])}")

    def load(self, name: str, llvm: str = "i64") -> str:
        return self.w.let(f"load {llvm}, ptr %{name}")

    def store(self, name: str, text: str | int, llvm: str = "i64") -> None:
        self.w.do(f"store {llvm} {text}, ptr %{name}")

    def increase(self, where: str, by: int | str) -> str:
        """Add to an int64 in memory; returns what it was."""
        before = self.w.let(f"load i64, ptr {where}")
        self.w.do(f"store i64 {self.w.add(before, by)}, ptr {where}")
        return before
