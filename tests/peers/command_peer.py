"""A command as a peer (docs/command_peer.md) that may compute another operator than the model has.

``command_peer.py OP=OTHER MODEL INPUTS OUTPUTS [PROGRAM...]``: with a program, that one runs the changed model;
without, loopdbg does. ``none`` for ``OP=OTHER`` changes nothing; ``exit``, ``crash``, ``hang``, ``silent`` fail.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx


def replace_operator(graph: onnx.GraphProto, old: str, new: str) -> None:
    for node in graph.node:
        if node.op_type == old:
            node.op_type = new
        for attribute in node.attribute:
            if attribute.HasField("g"):
                replace_operator(attribute.g, old, new)


def write_model(fault: str, model: str, folder: Path) -> str:
    """The path of the changed model."""
    if fault == "none":
        return model
    proto = onnx.load(model)
    replace_operator(proto.graph, *fault.split("="))
    path = folder / "changed.onnx"
    onnx.save(proto, path)
    return str(path)


def run(model: str, inputs: Path, outputs: Path) -> None:
    import loopdbg

    manifest = json.loads((inputs / "manifest.json").read_text("utf-8"))
    feeds = {entry["name"]: np.load(inputs / entry["file"]) for entry in manifest["inputs"]}
    results = loopdbg.load(model).run(feeds)
    # In another order than that of the model.
    names = sorted(results, reverse=True)
    for k, name in enumerate(names):
        np.save(outputs / f"{k}.npy", results[name])
    entries = [{"name": name, "file": f"{k}.npy"} for k, name in enumerate(names)]
    (outputs / "manifest.json").write_text(json.dumps({"runtime": "faulty 1.0", "outputs": entries}), "utf-8")


def main() -> int:
    fault, model, inputs, outputs, *program = sys.argv[1:]
    if fault == "exit":
        print("no kernel for the operator Foo", file=sys.stderr)
        return 3
    if fault == "crash":
        os.kill(os.getpid(), signal.SIGABRT)
    if fault == "hang":
        time.sleep(600)
    if fault == "silent":
        return 0
    model = write_model(fault, model, Path(outputs))
    if program:
        return subprocess.run([*program, model, inputs, outputs], check=False).returncode
    run(model, Path(inputs), Path(outputs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
