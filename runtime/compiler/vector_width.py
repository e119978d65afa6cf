"""Choice of the vector width: the processor's preferred or its maximum width.

Some processors are slower with 512-bit vectors: additions have one more cycle of latency, and divisions are serialized.
LLVM knows these processors and uses 256-bit vectors where a function allows it. Twice as many instructions cost
nothing in latency-bound code.
"""

from __future__ import annotations

from .llvm_writer import bit_width
from .program import ProgramDescription

#: Function attribute that allows the processor's preferred vector width.
PREFERRED = '"min-legal-vector-width"="0"'
#: Spilled vectors do not cross cache lines.
ALIGNED = "alignstack(64)"
#: 256-bit operations that a processor executes within the latency of one.
OPERATIONS_PER_LATENCY = 6


def function_attributes(program: ProgramDescription, types: list[str]) -> str:
    """The attributes of a program's function, with these types of its registers."""
    if max(map(bit_width, types)) <= 128:
        return ""
    return f"{ALIGNED} {PREFERRED}" if is_latency_bound(program) else ALIGNED


def is_latency_bound(program: ProgramDescription) -> bool:
    """Does latency rather than throughput bound the program? False with nodes: shuffles across halves are expensive,
    and kernels read full vectors, not the halves that were written."""
    limit = OPERATIONS_PER_LATENCY * critical_path_length(program)
    return not program.nodes and vector_operation_count(program) <= limit


def vector_operation_count(program: ProgramDescription) -> int:
    """256-bit operations per iteration, without copies."""
    count = 0
    for k in range(len(program.code)):
        _, operation = program.operation_of(k)
        if program.is_fall_through(k) and not (operation and operation.copied_bytes):
            (_, offsets), size = program.arguments_of(k)[-1]
            count += -(-len(offsets) * size // 32)
    return count


def critical_path_length(program: ProgramDescription) -> int:
    """The longest dependency chain of float operations."""
    depth: dict[int, int] = {}
    for k in range(len(program.code)):
        if program.is_fall_through(k):
            *operands, ((result, _), _) = program.arguments_of(k)
            _, operation = program.operation_of(k)
            cost = int(operation is not None and not operation.copied_bytes and operation.is_floating)
            start = max(depth.get(register, 0) for (register, _), _ in operands)
            depth[result] = max(depth.get(result, 0), start + cost)
    return max(depth.values(), default=0)
