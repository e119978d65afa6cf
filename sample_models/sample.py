"""The files and inputs of a sample model, and their reproducible serialization."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

# The earliest time in a zip archive, so that its bytes do not depend on the time of the build.
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class SampleModel:
    """One sample model: its files' bytes by suffix (``.onnx``, or ``.xml`` and ``.bin``), and its inputs."""

    files: Mapping[str, bytes]
    inputs: Mapping[str, Array]

    def all_files(self) -> dict[str, bytes]:
        """The model's files and its sidecar, by suffix."""
        return {**self.files, ".inputs.npz": npz_bytes(self.inputs)}


def npz_bytes(arrays: Mapping[str, Array]) -> bytes:
    """The arrays as an uncompressed ``.npz`` that depends only on them.

    With ``np.savez``, time stamps and flags of the archive depend on the versions of Python and NumPy.
    """
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as members:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy", date_time=ZIP_EPOCH)
            info.create_system = 3  # default: the platform's
            members.writestr(info, member.getvalue())
    return archive.getvalue()


def uniform(seed: int, *shape: int, scale: float = 1.0) -> NDArray[np.float32]:
    """Uniform float32 numbers in [-scale, scale), the same on every machine.

    NumPy guarantees a stable raw stream of bit generators, but not of distributions; so the top 24 bits of each draw
    become a float32 without any rounding, and ``scale`` is one multiplication.
    """
    raw = np.random.PCG64(seed).random_raw(int(np.prod(shape)))
    unit = (raw >> np.uint64(40)).astype(np.float32) / np.float32(2**23) - np.float32(1)
    return (unit * np.float32(scale)).reshape(shape)
