"""Random programs as readable text."""

from __future__ import annotations

from .numpy_operators import OPERATORS
from .program import Program, ProgramBody, ProgramConstant, ProgramIf, ProgramLoop, ProgramNode


def program_text(program: Program) -> str:
    """A program as readable text."""
    lines = [f"inputs {', '.join(f'{v} {v.type.dtype}{list(v.type.shape)}' for v in program.inputs)}"]

    def body(inner: ProgramBody, indent: str) -> None:
        for node in inner.nodes:
            if isinstance(node, ProgramConstant):
                lines.append(f"{indent}{node.output} = {node.array.dtype} {node.array.tolist()}")
            elif isinstance(node, ProgramNode):
                more = f" {node.attributes}" if node.attributes else ""
                lines.append(f"{indent}{node.output} = {OPERATORS[node.operator].onnx} {node.inputs}{more}")
            elif isinstance(node, ProgramIf):
                lines.append(f"{indent}{node.outputs} = If {node.condition}")
                for word, side, results in zip(("then", "else"), (node.then, node.other), node.results, strict=True):
                    lines.append(f"{indent}  {word} gives {results}")
                    body(side, f"{indent}    ")
            else:
                _loop(node, indent)
                body(node.body, f"{indent}    ")

    def _loop(loop: ProgramLoop, indent: str) -> None:
        lines.append(
            f"{indent}{loop.kind} {loop.name}: trip {loop.trip}, cond {loop.initial}, "
            f"number {loop.number}, condition {loop.condition}, keep {loop.keep}"
        )
        for c in loop.carried:
            lines.append(f"{indent}  carried {c.param} {c.param.type}: {c.initial}, {c.result} -> {c.output}")
        for s in loop.sliced:
            lines.append(f"{indent}  sliced {s.param}: {s.outer} axis {s.axis}{' backwards' * s.backwards}")
        for o in loop.scanned:
            lines.append(f"{indent}  scan {o.output}: {o.result} axis {o.axis}{' backwards' * o.backwards}")

    body(program.body, "  ")
    return "\n".join([*lines, f"outputs {program.outputs}"])
