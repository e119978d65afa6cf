"""Parent side of a peer: requests with a time limit, and errors that report how the peer failed."""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import pickle
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ...runtime.atomic_file import scratch_folder
from ...runtime.child_process import command_calling_function, start_child
from ...runtime.errors import UsageError
from .child import MESSAGE_LENGTH, send_message
from .command_template import COMMAND, COMMAND_USAGE, command_script_name, split_command
from .cpu_usage import CpuUsage, cpu_usage
from .jobs import Job, RunTimes, RuntimeSetup

if TYPE_CHECKING:
    from subprocess import Popen

#: The supported runtimes, and the packages to install for them.
PEERS = ("onnxruntime", "openvino")
_DEVICE_EXAMPLES = {"onnxruntime": "onnxruntime:CUDA", "openvino": "openvino:GPU"}
#: Start-up timeout in seconds, independent of the answer timeout: imports are slow on a busy machine.
_START_TIMEOUT_SECONDS = 60.0
#: Seconds more that a peer gets which times its program itself.
_COMMAND_GRACE_SECONDS = 5.0
#: Factor of the timeout for a peer that gets no CPU time on a busy machine.
_BUSY_TIMEOUT_FACTOR = 10
#: Seconds between liveness tests of a peer that does not answer.
_POLL_SECONDS = 1.0
#: A hurried peer is given up after this multiple of the CPU time of its longest answer, but not before this minimum;
#: the CPU time is polled at this interval in seconds.
_HURRY_FACTOR, _HURRY_MIN_CPU_SECONDS, _HURRY_POLL_SECONDS = 5, 0.25, 0.1


def is_peer_name(text: str) -> bool:
    """Whether a text names a peer, rather than a file."""
    return text.partition(":")[0] in (*PEERS, COMMAND)


def parse_peer(text: str) -> tuple[str, str]:
    """Parse a peer as a user writes it, ``onnxruntime``, ``openvino:GPU`` or ``cmd:PROGRAM ...``, to its name and its
    device, "" or the command.

    Raises:
        UsageError: unknown peer, no device after the colon, or an invalid command.
    """
    name, colon, device = text.partition(":")
    if name == COMMAND:
        split_command(device)
        return name, device
    if name not in PEERS:
        peers = f"{', '.join(PEERS)}, {COMMAND_USAGE}"
        raise UsageError(f"there is no peer '{name}'; peers are {peers}", name=name, expected=", ".join(PEERS))
    if colon and not device:
        raise UsageError(f"'{text}' names no device: write {name}, or {_DEVICE_EXAMPLES[name]}", name=name, got=text)
    return name, device


class PeerError(Exception):
    """A request to a peer failed. ``kind``: failed, crashed, hung; the text is one line."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text


class Peer:
    """One peer in a child process, which is started on first use and restarted after it died.

    ``name``: the peer, optionally with a device: ``onnxruntime:CUDA``, ``openvino:GPU``; or a command (see
    docs/command_peer.md), which is called ``cmd:`` and the name of its script. ``options``: settings of the runtime by
    its names, which override the defaults (``configuration`` has all). ``libraries``: files with custom operators to
    load.

    Raises:
        UsageError: unknown peer, or it is not installed; on first use: it does not start, or cannot use an option, a
            device or a library.
    """

    def __init__(
        self,
        name: str,
        timeout: float = 60.0,
        module: str = "",
        options: Mapping[str, str] | None = None,
        libraries: Sequence[str] = (),
    ) -> None:
        self._text = name
        name, device = parse_peer(name)
        self.is_command = name == COMMAND
        if not module and not self.is_command and importlib.util.find_spec(name) is None:
            raise UsageError(f"{name} is not installed; install it: pip install {name}", name=name)
        program = split_command(device)[0] if self.is_command else ""
        if program and shutil.which(program) is None:
            raise UsageError(f"there is no program '{program}' to run", name=program)
        if not hasattr(os, "fork"):
            raise UsageError(
                f"{name} is asked in a process of its own, for which this system lacks fork; use Linux or macOS",
                name=name,
            )
        self.name = f"{COMMAND}:{command_script_name(device)}" if self.is_command else name
        #: Known once it has started; of a command, once it has run.
        self.version = ""
        #: The settings in use and other facts that affect its numbers; known once it has started.
        self.configuration: Mapping[str, str] = {}
        #: The precision below float32 that it would choose without settings; empty if there is none.
        self.usual_precision = ""
        self._setup = RuntimeSetup(device, dict(options or {}), tuple(libraries), timeout)
        self.timeout = timeout
        self._grace_seconds = _COMMAND_GRACE_SECONDS if self.is_command else 0.0
        self._module = module or (".external_program" if self.is_command else f".{name}")
        self._process: Popen[bytes] | None = None
        self._log: Any = None
        self._scratch = contextlib.ExitStack()
        #: The temporary files of the process, which is killed at the end.
        self._scratch_folder: Path | None = None
        self._last_model_number = 0
        #: CPU usage before the last request, and the CPU time that the request may take.
        self._cpu_before_request = CpuUsage()
        self._cpu_limit_seconds = math.inf
        self._is_hurried = False
        #: By request, the CPU seconds of the longest answer.
        self._longest_cpu_seconds: dict[str, float] = {}

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def with_options(self, options: Mapping[str, str]) -> Peer:
        """The same peer with other settings, in a process of its own."""
        setup = self._setup
        return Peer(self._text, self.timeout, self._module, {**setup.options, **options}, setup.libraries)

    def open(self, job: Job) -> LoadedModel:
        """Load a model.

        Raises:
            PeerError: the peer refused it, crashed or hung.
        """
        self._start_process()
        self._last_model_number += 1
        self.request("open", self._last_model_number, job)
        return LoadedModel(self, self._last_model_number, self._process)

    @contextlib.contextmanager
    def shortened_timeout(self) -> Iterator[None]:
        """Within the context, give up the peer earlier than its timeout: judge by the CPU time of its past answers, so
        that a busy machine makes no difference."""
        self._is_hurried = True
        try:
            yield
        finally:
            self._is_hurried = False

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None and process.stdout is not None
            # Kill the process group: the peer's child processes, and the watcher of a dead peer (child.py).
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdin.close()
            process.stdout.close()
            self._log.close()
            self._scratch.close()

    def is_same_process(self, process: Popen[bytes] | None) -> bool:
        """True while that process still runs; models loaded in another process are gone."""
        return process is not None and process is self._process

    def _start_process(self) -> None:
        if self._process is not None:
            return
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        command = command_calling_function(f"{__package__}.child", "main")
        self._scratch_folder = self._scratch.enter_context(scratch_folder())
        environment = {"OMP_NUM_THREADS": "1", "TMPDIR": str(self._scratch_folder)}
        self._process = start_child(command, env=environment, stderr=self._log)
        patience, self.timeout = self.timeout, max(self.timeout, _START_TIMEOUT_SECONDS)
        try:
            version, self.configuration, self.usual_precision = self.request("start", 0, (self._module, self._setup))
            self.version = str(version) or self.version
        except PeerError as error:
            self.close()
            if error.text.startswith("OptionError: "):
                raise UsageError(error.text.removeprefix("OptionError: "), name=self.name) from None
            raise UsageError(
                f"{self.name} does not start: {error}; check its installation", name=self.name, got=str(error)
            ) from None
        finally:
            self.timeout = patience

    def request(self, kind: str, number: int, payload: Any) -> Any:
        """Send one request and return its answer.

        Raises:
            PeerError: the peer failed, crashed or hung.
        """
        assert self._process is not None
        assert self._process.stdin is not None
        deadline = time.monotonic() + self.timeout + self._grace_seconds
        self._cpu_before_request = cpu_usage(self._process.pid)
        self._cpu_limit_seconds = self._hurry_limit_seconds(kind) if self._is_hurried and kind != "start" else math.inf
        try:
            send_message(self._process.stdin, (kind, number, payload))
        except OSError:  # it died before; reading the answer reports how
            pass
        except BaseException:
            self.close()
            raise
        try:
            (length,) = MESSAGE_LENGTH.unpack(self._read_bytes(MESSAGE_LENGTH.size, deadline))
            outcome, answer = pickle.loads(self._read_bytes(length, deadline))
        except PeerError:
            raise
        except BaseException:  # Ctrl-C: a late answer must not be mistaken for that of the next request
            self.close()
            raise
        if self._process is not None:
            self._longest_cpu_seconds[kind] = max(
                self._longest_cpu_seconds.get(kind, 0.0), self._cpu_since_request(self._process.pid)
            )
        if outcome == "hung":
            # What its program started may still run.
            self.close()
        if outcome != "done":
            raise PeerError(outcome, str(answer))
        return answer

    def ask_version(self) -> None:
        """Ask for the version of a program, which it tells when it runs."""
        if self.is_command and not self.version:
            self.version = str(self.request("version", 0, None))

    def _hurry_limit_seconds(self, kind: str) -> float:
        """The CPU seconds that a hurried request may take. Before the first answer this is the minimum CPU time for a
        peer to be given up at its timeout."""
        longest = self._longest_cpu_seconds.get(kind)
        return self.timeout / 2 if longest is None else max(_HURRY_MIN_CPU_SECONDS, _HURRY_FACTOR * longest)

    def _cpu_since_request(self, process: int) -> float:
        """CPU seconds since the last request."""
        return cpu_usage(process).seconds - self._cpu_before_request.seconds

    def _read_bytes(self, length: int, deadline: float) -> bytes:
        assert self._process is not None and self._process.stdout is not None
        stream = self._process.stdout.fileno()
        parts = []
        while length:
            wait = deadline - time.monotonic()
            if wait <= -_BUSY_TIMEOUT_FACTOR * self.timeout or (wait <= 0 and not self._is_starved()):
                self.close()
                raise PeerError("hung", f"no answer within {self.timeout:g} s, the timeout")
            if self._cpu_since_request(self._process.pid) > self._cpu_limit_seconds:
                self.close()
                raise PeerError("hung", f"no answer within {self._cpu_limit_seconds:.3g} s of a processor")
            # A process that the peer started may hold the pipe open after the peer's death.
            has_ended = self._process.poll() is not None
            glance = _HURRY_POLL_SECONDS if self._cpu_limit_seconds < math.inf else _POLL_SECONDS
            pause = min(wait, glance) if wait > 0 else glance
            if not select.select([stream], [], [], 0 if has_ended else pause)[0]:
                if has_ended:
                    raise self._crash_error()
                continue
            part = os.read(stream, min(length, 1 << 20))
            if not part:
                raise self._crash_error()
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def _is_starved(self) -> bool:
        """Whether the peer is runnable but had less than half of its time on a CPU, which is no hang."""
        assert self._process is not None
        usage = cpu_usage(self._process.pid)
        return usage.is_runnable and usage.seconds - self._cpu_before_request.seconds < self.timeout / 2

    def _crash_error(self) -> PeerError:
        assert self._process is not None
        status = self._process.wait()
        self._log.seek(0)
        lines = self._log.read()[-2000:].decode("utf-8", "replace").strip().splitlines()
        self.close()
        if status < 0:
            try:
                reason = signal.Signals(-status).name
            except ValueError:
                reason = f"signal {-status}"
        else:
            reason = f"exit status {status}"
        message = " ".join(lines[-1].split())[:300] if lines else ""
        return PeerError("crashed", f"{reason}: {message}" if message else reason)


class LoadedModel:
    """A model that a peer has loaded."""

    def __init__(self, peer: Peer, number: int, process: Popen[bytes] | None) -> None:
        self._peer = peer
        self._number = number
        self._process = process

    @property
    def is_alive(self) -> bool:
        """False once the process that loaded it is gone."""
        return self._peer.is_same_process(self._process)

    def hold(self, values: Mapping[str, Any]) -> None:
        """Set inputs that stay the same from run to run."""
        self._peer.request("hold", self._number, dict(values))

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """Return the outputs in order.

        Raises:
            PeerError: the peer failed, crashed or hung.
        """
        answer: list[Any] = self._peer.request("run", self._number, dict(feeds))
        self._peer.ask_version()
        return answer

    def measure(self, feeds: Mapping[str, Any], seconds: float) -> RunTimes:
        """Run it for about ``seconds`` and return the times; the outputs are dropped.

        Raises:
            PeerError: the peer failed, crashed or hung.
        """
        answer: RunTimes = self._peer.request("measure", self._number, (dict(feeds), seconds))
        return answer

    def close(self) -> None:
        """Unload the model; a peer that fails to has given its results before."""
        if self.is_alive:
            with contextlib.suppress(PeerError):
                self._peer.request("close", self._number, None)
