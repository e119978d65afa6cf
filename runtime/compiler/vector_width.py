"""How wide the vectors of code are: as the processor prefers them, or as wide as it has them.

Some processors have vectors of 512 bits but are slower with them: what is added is there a cycle later, and divisions
wait for each other. LLVM knows of which processors that is so, and takes vectors of 256 bits where a function lets
it. Twice as many instructions cost nothing as long as they wait for results anyway.
"""

from __future__ import annotations

from .c_expressions import bit_width
from .straight_line import StraightLineCode, is_floating

#: What a function says that lets LLVM take the vectors that the processor prefers.
PREFERRED = '"min-legal-vector-width"="0"'
#: Vectors that do not fit into registers lie within lines of the cache.
ALIGNED = "alignstack(64)"
#: So many operations on 256 bits a processor does while it waits for the result of one.
OPERATIONS_PER_LATENCY = 6


def function_attributes(runs: StraightLineCode) -> str:
    """Of the function of a program."""
    if max(map(bit_width, runs.types)) <= 128:
        return ""
    return f"{ALIGNED} {PREFERRED}" if is_latency_bound(runs) else ALIGNED


def is_latency_bound(runs: StraightLineCode) -> bool:
    """Do results come later than work ends? Products are made of shuffles, which are dear between two halves, and
    kernels read whole vectors at once, not the halves that were written."""
    return not runs.program.nodes and vector_operation_count(runs) <= OPERATIONS_PER_LATENCY * critical_path_length(
        runs
    )


def vector_operation_count(runs: StraightLineCode) -> int:
    """Operations on 256 bits or less that a program's instructions take, an iteration."""
    return sum(
        -(-len(at) * size // 32) for k in computing_instructions(runs) for (_, at), size in runs.arguments(k)[-1:]
    )


def critical_path_length(runs: StraightLineCode) -> int:
    """The longest chain of operations on floats, each of which waits for the one before."""
    depth: dict[int, int] = {}
    for k in range(len(runs.program.code)):
        if runs.is_unconditional(k):
            *operands, ((result, _), _) = runs.arguments(k)
            operation = runs.operation(k)
            own = int(operation is not None and not runs.is_copy_instruction(k) and is_floating(operation))
            before = max(depth.get(register, 0) for (register, _), _ in operands)
            depth[result] = max(depth.get(result, 0), before + own)
    return max(depth.values(), default=0)


def computing_instructions(runs: StraightLineCode) -> list[int]:
    """Instructions that compute something."""
    return [k for k in range(len(runs.program.code)) if runs.is_unconditional(k) and not runs.is_copy_instruction(k)]
