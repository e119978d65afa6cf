"""What every sample model has: files and inputs, and how both become the same bytes each time."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

# The earliest moment a zip archive can state, so that the time of a build never shows in its bytes.
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
    """The arrays as an uncompressed ``.npz`` that depends on nothing but them.

    ``np.savez`` leaves the archive's time stamps and flags to the versions of Python and NumPy.
    """
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as members:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy", date_time=ZIP_EPOCH)
            info.create_system = 3  # otherwise the platform's
            members.writestr(info, member.getvalue())
    return archive.getvalue()


def uniform(seed: int, *shape: int, scale: float = 1.0) -> NDArray[np.float32]:
    """Float32 numbers spread evenly over [-scale, scale), the same on every machine.

    NumPy promises that a bit generator's raw stream stays as it is, but not that its distributions do; so
    the top 24 bits of each draw become a float32 without any rounding, and ``scale`` is one multiplication.
    """
    raw = np.random.PCG64(seed).random_raw(int(np.prod(shape)))
    unit = (raw >> np.uint64(40)).astype(np.float32) / np.float32(2**23) - np.float32(1)
    return (unit * np.float32(scale)).reshape(shape)
