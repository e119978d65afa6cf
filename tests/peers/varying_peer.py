"""A command as a peer (docs/command_peer.md) whose numbers vary: ``varying_peer.py RUNS MODEL INPUTS OUTPUTS``.

Of a model with a Tanh each run gives other numbers, all of them wrong. Of any other model the first run alone is wrong:
it differs by luck. ``RUNS`` is a file with the operators of each run so far.
It has four operators, and computes by NumPy.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

OPERATORS = {"Abs": np.abs, "Tanh": np.tanh, "Neg": np.negative, "Exp": np.exp}


def main() -> None:
    runs, model, inputs, outputs = map(Path, sys.argv[1:])
    graph = onnx.load(model).graph
    operators = " ".join(node.op_type for node in graph.node)
    before = runs.read_text("utf-8").splitlines() if runs.exists() else []
    runs.write_text("\n".join([*before, operators]), "utf-8")
    manifest = json.loads((inputs / "manifest.json").read_text("utf-8"))
    values = {entry["name"]: np.load(inputs / entry["file"]) for entry in manifest["inputs"]}
    values |= {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    for node in graph.node:
        values[node.output[0]] = OPERATORS[node.op_type](values[node.input[0]])
    is_wrong = "Tanh" in operators or operators not in before
    error = np.float32(10 + len(before) if is_wrong else 0)
    entries = []
    for k, output in enumerate(graph.output):
        np.save(outputs / f"{k}.npy", values[output.name] + error)
        entries.append({"name": output.name, "file": f"{k}.npy"})
    (outputs / "manifest.json").write_text(json.dumps({"outputs": entries}), "utf-8")


main()
