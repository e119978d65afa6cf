"""Choice of the vector width: the processor's preferred or its maximum width.

Some processors are slower with 512-bit vectors: additions have one more cycle of latency, and divisions are serialized.
LLVM knows these processors and uses 256-bit vectors where a function allows it. Twice as many instructions cost
nothing in latency-bound code.
"""

from __future__ import annotations

from .c_expressions import bit_width
from .straight_line import StraightLineCode, is_floating

#: Function attribute that allows the processor's preferred vector width.
PREFERRED = '"min-legal-vector-width"="0"'
#: Spilled vectors do not cross cache lines.
ALIGNED = "alignstack(64)"
#: 256-bit operations that a processor executes within the latency of one.
OPERATIONS_PER_LATENCY = 6


def function_attributes(runs: StraightLineCode) -> str:
    """The attributes of a program's function."""
    if max(map(bit_width, runs.types)) <= 128:
        return ""
    return f"{ALIGNED} {PREFERRED}" if is_latency_bound(runs) else ALIGNED


def is_latency_bound(runs: StraightLineCode) -> bool:
    """Does latency rather than throughput bound the program? False with nodes: shuffles across halves are expensive,
    and kernels read full vectors, not the halves that were written."""
    return not runs.program.nodes and vector_operation_count(runs) <= OPERATIONS_PER_LATENCY * critical_path_length(
        runs
    )


def vector_operation_count(runs: StraightLineCode) -> int:
    """256-bit operations per iteration."""
    return sum(
        -(-len(lanes) * size // 32) for k in computing_instructions(runs) for (_, lanes), size in runs.arguments(k)[-1:]
    )


def critical_path_length(runs: StraightLineCode) -> int:
    """The longest dependency chain of float operations."""
    depth: dict[int, int] = {}
    for k in range(len(runs.program.code)):
        if runs.is_unconditional(k):
            *operands, ((result, _), _) = runs.arguments(k)
            operation = runs.operation(k)
            cost = int(operation is not None and not runs.is_copy_instruction(k) and is_floating(operation))
            start = max(depth.get(register, 0) for (register, _), _ in operands)
            depth[result] = max(depth.get(result, 0), start + cost)
    return max(depth.values(), default=0)


def computing_instructions(runs: StraightLineCode) -> list[int]:
    """Instructions that compute, not only copy."""
    return [k for k in range(len(runs.program.code)) if runs.is_unconditional(k) and not runs.is_copy_instruction(k)]
