"""Where the files may be that a command names.

At a terminal a person may name any. Behind a server, the client names them: an agent, or whoever has a page open. It
may name files in one folder that the command line of the server allows, and without one none.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ....runtime.errors import UsageError
from .arguments import parse_path


@dataclass(frozen=True)
class FileAccess:
    """``folder``: the one that files have to be in, or None for nowhere; ``everywhere``: any file may be named."""

    folder: Path | None = None
    unrestricted: bool = False

    def resolve_path(self, name: str | Path, command: str) -> Path:
        """The path of a file or folder that a command names; a relative one is in the folder where there is one.

        Args:
            name: what was typed; ``~`` is the home folder only where any file may be named.
            command: for the message.

        Raises:
            UsageError: it may not be named here, also by way of ``..`` or a symbolic link.
        """
        if self.unrestricted:
            return parse_path(str(name))
        if self.folder is None:
            raise UsageError(
                f"{command} reads or writes files: this server may not; start it with a folder that clients may use"
            )
        try:
            folder = self.folder.resolve()
            path = (folder / name).resolve()
        except (OSError, ValueError, RuntimeError):  # a link to itself, a name with a zero byte
            raise UsageError(f"{command}: {name} is no file name") from None
        if not path.is_relative_to(folder):
            raise UsageError(f"{command}: {name} is outside {self.folder}, where this server may read and write files")
        return path


#: For whoever has the whole machine anyway.
UNRESTRICTED_ACCESS = FileAccess(unrestricted=True)
#: For clients of a server that was started without a folder for them.
NO_ACCESS = FileAccess()


def folder_access(folder: str | Path | None) -> FileAccess:
    """What a client may use of a server that was started with ``folder``."""
    return FileAccess(Path(folder)) if folder else NO_ACCESS
