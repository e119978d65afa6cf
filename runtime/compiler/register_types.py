"""The LLVM type of each register of a program."""

from __future__ import annotations

from .llvm_writer import TYPES, bit_width, integer_type, vector_type
from .program import ExtremeSearch, FoldOrder, ProgramDescription


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


def register_types(program: ProgramDescription) -> list[str]:
    """The LLVM type of each register: that of all its operations, or an integer wide enough for them."""
    groups = UnionFind(len(program.registers))
    for source, to in register_copies(program):
        groups.union(source, to)
    group_of = [groups.find(k) for k in range(len(program.registers))]
    used: dict[int, set[str]] = {}
    for register, c_type in used_types(program):
        used.setdefault(group_of[register], set()).add(TYPES[c_type])
    copied: dict[int, set[str]] = {}
    for register, nbytes in element_copied_registers(program):
        copied.setdefault(group_of[register], set()).add(integer_type(nbytes))
    sizes: dict[int, int] = {}
    for group, (nbytes, exact) in zip(group_of, program.registers, strict=True):
        if exact:
            sizes[group] = max(sizes.get(group, 0), nbytes)
    loose = {group_of[k] for registers in program.calls for k in registers if not program.registers[k][1]}
    types = {
        group: register_group_type(
            used.get(group) or copied.get(group, set()),
            max(sizes.get(group, 0), 8 * (group in loose)),
            group not in loose,
        )
        for group in group_of
    }
    return [types[group] for group in group_of]


def register_group_type(used: set[str], nbytes: int, exact: bool) -> str:
    """The type of registers with these uses and this size. ``exact``: the values fill all bytes."""
    single = next(iter(used)) if len(used) == 1 else ""
    if single and bit_width(single) >= 8 * nbytes:
        return single
    fits = single and 8 * nbytes % bit_width(single) == 0
    if exact and (fits or nbytes not in (0, 1, 2, 4, 8)):
        element = single if fits else "i8"
        return vector_type(element, 8 * nbytes // bit_width(element))
    width = max([8 * nbytes, *map(bit_width, used)]) if used or nbytes else 64
    return integer_type(width // 8)


def register_copies(program: ProgramDescription) -> list[tuple[int, int]]:
    """(source, destination) of all copies of registers."""
    layout, moves = program.layout, []
    copies = {op for op, operation in layout.operations.items() if operation.copied_bytes} | {layout.control["BLOCK"]}
    for op, d, a, b, c in program.code:
        if op in layout.choices:
            moves += [(b, d), (c, d)]
        elif op in copies:
            moves.append((a, d))
    for loop in program.loops:
        moves += [*loop["moves"], *loop["init"], *loop["outs"]]
    return moves


def element_copied_registers(program: ProgramDescription) -> list[tuple[int, int]]:
    """(register, element size) of operands that are only copied by element."""
    layout, copies = program.layout, []
    for op, arguments in program.elementwise_operations:
        if op in layout.choices:
            copies += [(register, layout.choices[op]) for register, _ in arguments[1:]]
        elif size := layout.operations[op].copied_bytes:
            copies += [(register, size) for register, _ in arguments]
    return copies


def used_types(program: ProgramDescription) -> list[tuple[int, str]]:
    """(register, C type) of all operands and results of operations other than copies."""
    layout, control = program.layout, program.layout.control
    conditional = [*layout.choices, control["BRANCH"], control["TEST"], control["STOP_IF"]]
    uses: list[tuple[int, str]] = []
    for op, d, a, b, _ in program.code:
        operation = layout.operations.get(op)
        if operation is not None and not operation.copied_bytes:
            uses += [(a, operation.argument), (d, operation.result)]
            if operation.binary:
                uses.append((b, operation.argument))
        elif op in conditional:
            uses.append((a, "uint8_t"))
        elif op == control["ANY"]:
            uses.append((d, "uint8_t"))
        elif op == control["COUNT"]:
            uses.append((d, "int64_t" if b else "int32_t"))
    for op, arguments in program.elementwise_operations:
        operation = layout.operations.get(op)
        if operation is None:
            uses.append((arguments[0][0], "uint8_t"))
        elif not operation.copied_bytes:
            uses += [(register, operation.argument) for register, _ in arguments[:-1]]
            uses.append((arguments[-1][0], operation.result))
    for *_, order in program.nodes:
        if isinstance(order, ExtremeSearch):
            uses += [(order.x[0], order.c_type), (order.result[0], "int64_t")]
            if order.values is not None:
                uses.append((order.values[0], order.c_type))
        elif isinstance(order, FoldOrder):
            operation = layout.operations[order.op]
            uses += [(register, operation.argument) for register, _ in (order.begin, order.x, order.result)]
        elif order is not None:
            uses += [(register, "float") for register, _ in (order.a, order.b, order.result)]
    uses += [(register, test.c_type) for test in program.any_tests for register in (test.a, test.b)]
    uses += [(index, "int64_t" if is_int64 else "int32_t") for _, _, index, is_int64 in program.loads]
    for loop in program.loops:
        uses += [(loop[k], "uint8_t") for k in ("initial", "cond", "cond_in") if loop[k] >= 0]
        for name in ("trip", "iteration"):
            if loop[name] >= 0:
                uses.append((loop[name], "int64_t" if loop[f"{name}_wide"] else "int32_t"))
    return uses
