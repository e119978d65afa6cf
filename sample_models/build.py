"""Write the sample models and their inputs.

``python sample_models/build.py`` writes to this folder; ``--output DIR`` elsewhere; ``--large-only`` only models that
are too large for the repository. The output is reproducible. Requires only numpy and onnx.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import lesson_models
import onnx_models
import openvino_models
import tensorrt_models

HERE = Path(__file__).resolve().parent
#: The folder of the models of the lessons, which is part of the package.
LESSONS = "lessons"

SAMPLES = onnx_models.SAMPLES | openvino_models.SAMPLES | tensorrt_models.SAMPLES

# Listed in .gitignore: every other file must stay below COMMITTED_BYTES.
LARGE = frozenset({"lstm"})
COMMITTED_BYTES = 200_000


def build(output: Path, names: list[str]) -> list[Path]:
    """Write the named samples into ``output``, which is created if necessary, and return the paths written.

    Raises:
        ValueError: a sample is too large to be committed.
    """
    (output / LESSONS).mkdir(parents=True, exist_ok=True)
    written = []
    jobs = [(output, name, SAMPLES[name]) for name in names]
    if set(names) - LARGE:
        jobs += [(output / LESSONS, name, make) for name, make in lesson_models.SAMPLES.items()]
    for folder, name, make in jobs:
        for suffix, content in make().all_files().items():
            path = folder / f"{name}{suffix}"
            if name not in LARGE and len(content) > COMMITTED_BYTES:
                raise ValueError(f"{path.name} has {len(content)} bytes: add {name!r} to LARGE and to .gitignore")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            written.append(path)
    return written


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Write the sample models and their inputs.")
    parser.add_argument("--output", type=Path, default=HERE, metavar="DIR", help="where to write (default: here)")
    parser.add_argument("--large-only", action="store_true", help="only the models that are not committed")
    options = parser.parse_args()
    names = [name for name in SAMPLES if name in LARGE or not options.large_only]
    written = build(options.output, names)
    print(f"wrote {len(written)} files of sample models to {options.output}")


if __name__ == "__main__":
    main()
