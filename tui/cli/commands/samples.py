"""``loopdbg samples``: writes the sample models of the package, and their inputs, into a folder."""

from __future__ import annotations

import argparse
import shlex
import textwrap
from collections.abc import Sequence
from pathlib import Path

from ....runtime.errors import UsageError
from ....runtime.text import count_text
from .. import terminal
from ..command import Command

#: The sample models in the package, which are those of the checkout in one.
SAMPLES_FOLDER = Path(__file__).parents[3] / "sample_models"
_FILE_SUFFIXES = (".onnx", ".xml", ".bin", ".npz")
#: TensorRT networks, whose models are scripts.
_NETWORKS_FOLDER = SAMPLES_FOLDER / "trt"
_WIDTH = 80


class SamplesCommand(Command):
    """Writes the samples; a file that the user changed is kept."""

    name = "samples"
    summary = """\
Write the small sample models, one for each feature of loops, and their inputs
into a folder. A file there that was changed is kept."""
    examples = """\
  loopdbg samples              into ./sample_models
  loopdbg samples DIR          into DIR, which is created
  loopdbg samples DIR --force  changed files too"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg samples [DIR] [--force]"
        parser.add_argument(
            "folder", metavar="DIR", nargs="?", type=Path, default=Path("sample_models"), help="where to write"
        )
        parser.add_argument("--force", action="store_true", help="overwrite files that were changed")

    def run(self, options: argparse.Namespace) -> int:
        from ....runtime.atomic_file import write_bytes

        folder: Path = options.folder
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"'{folder}' is no folder; name another one")
        written, kept = [], []
        for source in sample_files():
            name = source.relative_to(SAMPLES_FOLDER)
            target, content = folder / name, source.read_bytes()
            if target.exists():
                if target.is_file() and target.read_bytes() == content:
                    continue
                if not options.force:
                    kept.append(name)
                    continue
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UsageError(f"cannot create '{target.parent}': {error.strerror}; name another folder") from None
            write_bytes(target, content)
            written.append(name)
        _print_report(folder, written, kept)
        return 0


def sample_files() -> list[Path]:
    """The files of the samples: models, their inputs, and scripts; without what builds them and the lessons."""
    files = [path for path in SAMPLES_FOLDER.iterdir() if path.suffix in _FILE_SUFFIXES]
    # The script that a model was written from, whose lines its nodes name.
    files += [path for path in SAMPLES_FOLDER.glob("*.py") if path.with_suffix(".onnx") in files]
    files += [path for path in _NETWORKS_FOLDER.iterdir() if path.suffix in (".py", *_FILE_SUFFIXES)]
    return sorted(files)


def _is_model(name: Path) -> bool:
    return name.suffix in (".onnx", ".xml") or (name.suffix == ".py" and name.parent.name == _NETWORKS_FOLDER.name)


def _print_report(folder: Path, written: Sequence[Path], kept: Sequence[Path]) -> None:
    if written:
        terminal.out(f"wrote {count_text(len(written), 'file')} into {folder}; the models among them:")
        models = [str(name) for name in written if _is_model(name)]
        for line in textwrap.wrap("  ".join(models), _WIDTH - 2, break_on_hyphens=False):
            terminal.out(f"  {line}")
    else:
        terminal.out(f"nothing to write: the sample models are already in {folder}")
    for name in kept:
        terminal.err(f"kept, because it was changed: {folder / name} (--force overwrites it)")
    terminal.out(f"next: loopdbg {shlex.quote(str(folder / 'newton_sqrt.onnx'))}")
