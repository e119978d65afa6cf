"""Access control for files that commands name.

A terminal user may name any file. A client of a server (an agent or a page) may name files in one folder that the
server's command line allows; without one, no files.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ....runtime.errors import UsageError
from .arguments import parse_path


@dataclass(frozen=True)
class FileAccess:
    """``folder``: the allowed folder; None: no files; ``unrestricted``: any file may be named."""

    folder: Path | None = None
    unrestricted: bool = False

    def resolve_path(self, name: str | Path, command: str) -> Path:
        """The path of a file or folder in a command; a relative path is in the allowed folder.

        Args:
            name: the user's path; ``~`` is the home folder only with unrestricted access.
            command: for the message.

        Raises:
            UsageError: it is not allowed, including by ``..`` or a symbolic link.
        """
        if self.unrestricted:
            return parse_path(str(name))
        if self.folder is None:
            raise UsageError(
                f"{command} reads or writes files: this server may not; start it with a folder that clients may use",
                name=command,
            )
        try:
            folder = self.folder.resolve()
            path = (folder / name).resolve()
        except (OSError, ValueError, RuntimeError):  # a link to itself, a name with a zero byte
            raise UsageError(f"{command}: {name} is no file name", name=str(name)) from None
        if not path.is_relative_to(folder):
            raise UsageError(
                f"{command}: {name} is outside {self.folder}, where this server may read and write files",
                name=str(name),
                expected=f"a file in {self.folder}",
            )
        return path


#: For users with access to the machine.
UNRESTRICTED_ACCESS = FileAccess(unrestricted=True)
#: For clients of a server without an allowed folder.
NO_ACCESS = FileAccess()


def folder_access(folder: str | Path | None) -> FileAccess:
    """The access of clients of a server with an allowed ``folder``."""
    return FileAccess(Path(folder)) if folder else NO_ACCESS
