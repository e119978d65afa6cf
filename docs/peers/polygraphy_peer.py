"""TensorRT as a peer of loopdbg (docs/command_peer.md), by NVIDIA's Polygraphy.

pip install polygraphy tensorrt; loopdbg diff model.onnx --against 'cmd:python polygraphy_peer.py {model} {inputs}
{outputs}'. Further words are options of Polygraphy, ``--trt`` by default; with ``--onnxrt`` it runs ONNX Runtime.
"""

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
from polygraphy.comparator import RunResults
from polygraphy.json import save_json


def main(model: str, inputs: Path, outputs: Path, *options: str) -> int:
    manifest = json.loads((inputs / "manifest.json").read_text("utf-8"))
    feeds = {entry["name"]: np.load(inputs / entry["file"]) for entry in manifest["inputs"]}
    save_json([feeds], str(outputs / "feeds.json"))
    command = ["polygraphy", "run", model, *(options or ["--trt"]), "--load-inputs", str(outputs / "feeds.json")]
    command += ["--save-outputs", str(outputs / "results.json"), "--silent"]
    process = subprocess.run(command, check=False)
    if process.returncode:
        return process.returncode
    ((_, iterations),) = RunResults.load(str(outputs / "results.json")).items()
    values = iterations[0]
    entries = [{"name": output, "file": f"{k}.npy"} for k, output in enumerate(values)]
    for entry in entries:
        np.save(outputs / entry["file"], np.asarray(values[entry["name"]]))
    text = json.dumps(
        {"runtime": f"polygraphy {metadata.version('polygraphy')} {' '.join(options)}", "outputs": entries}
    )
    (outputs / "manifest.json").write_text(text, "utf-8")
    return 0


sys.exit(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), *sys.argv[4:]))
