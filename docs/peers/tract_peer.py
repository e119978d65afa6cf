"""tract as a peer of loopdbg (docs/command_peer.md).

pip install tract; loopdbg diff model.onnx --against 'cmd:python tract_peer.py {model} {inputs} {outputs}'

tract has no Loop: of a model with one, only the comparison iteration by iteration works (``--lockstep``).
"""

import json
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import tract


def main(model_path: str, inputs: Path, outputs: Path) -> None:
    manifest = json.loads((inputs / "manifest.json").read_text("utf-8"))
    feeds = {entry["name"]: np.load(inputs / entry["file"]) for entry in manifest["inputs"]}
    model = tract.onnx().load(model_path)
    names = [model.input_name(k) for k in range(model.input_count())]
    results = [model.output_name(k) for k in range(model.output_count())]
    for k, name in enumerate(names):
        dtype = feeds[name].dtype
        word = "bool" if dtype.kind == "b" else f"{dtype.kind}{8 * dtype.itemsize}"
        model.set_input_fact(k, ",".join([*map(str, feeds[name].shape), word]))
    values = model.into_model().into_runnable().run([feeds[name] for name in names])
    entries = [{"name": name, "file": f"{k}.npy"} for k, name in enumerate(manifest["outputs"] or results)]
    for entry, value in zip(entries, values, strict=True):
        np.save(outputs / entry["file"], value.to_numpy())
    text = json.dumps({"runtime": f"tract {metadata.version('tract')}", "outputs": entries})
    (outputs / "manifest.json").write_text(text, "utf-8")


try:
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
except tract.TractError as error:
    # What follows is a stack trace.
    sys.exit(str(error).partition("Stack backtrace")[0])
