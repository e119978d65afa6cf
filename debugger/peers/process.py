"""A peer as the program sees it: requests with a time limit, and errors that say what became of it."""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import pickle
import select
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ...runtime.child_process import call_command, start_child
from ...runtime.errors import UsageError
from .child import MESSAGE_LENGTH, send_message
from .cpu_usage import CpuUsage, cpu_usage
from .jobs import Job, RuntimeSetup

if TYPE_CHECKING:
    from subprocess import Popen

#: The peers there are, and what to install for them.
PEERS = ("onnxruntime", "openvino")
_DEVICE_EXAMPLES = {"onnxruntime": "onnxruntime:CUDA", "openvino": "openvino:GPU"}
#: Seconds that a runtime may take to start, whatever an answer may take: its imports are long on a busy machine.
_START_TIMEOUT_SECONDS = 60.0
#: So many times its timeout a peer is waited for that gets no processor on a busy machine.
_BUSY_TIMEOUT_FACTOR = 10
#: Seconds between tests whether a peer that does not answer is still there.
_POLL_SECONDS = 1.0
#: A hurried peer is given up when it had so many times as much of a processor as its longest answer took, but not
#: before it had so many seconds; whether it had is asked every so many seconds.
_HURRY_FACTOR, _HURRY_MIN_CPU_SECONDS, _HURRY_POLL_SECONDS = 5, 0.25, 0.1


def parse_peer(text: str) -> tuple[str, str]:
    """A peer as a user writes it, ``onnxruntime`` or ``openvino:GPU``: its name, and its device or nothing.

    Raises:
        UsageError: there is no such peer, or no device behind the colon.
    """
    name, colon, device = text.partition(":")
    if name not in PEERS:
        raise UsageError(f"there is no peer '{name}'; peers are {', '.join(PEERS)}")
    if colon and not device:
        raise UsageError(f"'{text}' names no device: write {name}, or {_DEVICE_EXAMPLES[name]}")
    return name, device


class PeerError(Exception):
    """A peer did not do what it was asked. ``what``: failed, crashed, hung; the text is one line."""

    def __init__(self, what: str, text: str) -> None:
        super().__init__(text)
        self.kind = what
        self.text = text


class Peer:
    """One peer in a child process; it is started when first needed, and anew after it died.

    ``name``: its name, or with a device behind a colon: ``onnxruntime:CUDA``, ``openvino:GPU``. ``options``: settings
    of the runtime by its own names; some are given unless they say otherwise (``configuration`` has all).
    ``libraries``: files with operators that it loads.

    Raises:
        UsageError: there is no such peer, or it is not installed; when it is first used, that it does not start, or
            an option, a device or a library that it cannot use.
    """

    def __init__(
        self,
        name: str,
        timeout: float = 60.0,
        module: str = "",
        options: Mapping[str, str] | None = None,
        libraries: Sequence[str] = (),
    ) -> None:
        name, device = parse_peer(name)
        if not module and importlib.util.find_spec(name) is None:
            raise UsageError(f"{name} is not installed; install it: pip install {name}")
        if not hasattr(os, "fork"):
            raise UsageError(
                f"{name} is asked in a process of its own, for which this system lacks fork; use Linux or macOS"
            )
        self.name = name
        self.version = ""
        #: What it is told to be, and what else decides its numbers; known once it has started.
        self.configuration: Mapping[str, str] = {}
        self._setup = RuntimeSetup(device, dict(options or {}), tuple(libraries))
        self.timeout = timeout
        self._module = module or f".{name}"
        self._process: Popen[bytes] | None = None
        self._log: Any = None
        self._last_model_number = 0
        #: What the process had of a processor before the last request, and how much of it that may take.
        self._cpu_before_request = CpuUsage()
        self._cpu_limit_seconds = math.inf
        self._is_hurried = False
        #: By request, the seconds of a processor that the longest answer took.
        self._longest_cpu_seconds: dict[str, float] = {}

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def open(self, job: Job) -> LoadedModel:
        """Load a model.

        Raises:
            PeerError: the peer refused it, crashed or hung.
        """
        self._start()
        self._last_model_number += 1
        self.request("open", self._last_model_number, job)
        return LoadedModel(self, self._last_model_number, self._process)

    @contextlib.contextmanager
    def hurry(self) -> Iterator[None]:
        """Meanwhile it is given up sooner than its timeout says: judged by how long its answers took until now, and by
        what it has of a processor, so that a busy machine does not make it slower."""
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
            # Its group: what the peer started as well. One that has died left its watcher there (child.py).
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdin.close()
            process.stdout.close()
            self._log.close()

    def is_process(self, process: Popen[bytes] | None) -> bool:
        """True while that process still runs: what was loaded in another is gone."""
        return process is not None and process is self._process

    def _start(self) -> None:
        if self._process is not None:
            return
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        command = call_command(f"{__package__}.child", "main")
        self._process = start_child(command, env={"OMP_NUM_THREADS": "1"}, stderr=self._log)
        patience, self.timeout = self.timeout, max(self.timeout, _START_TIMEOUT_SECONDS)
        try:
            version, self.configuration = self.request("start", 0, (self._module, self._setup))
            self.version = str(version)
        except PeerError as error:
            self.close()
            if error.text.startswith("OptionError: "):
                raise UsageError(error.text.removeprefix("OptionError: ")) from None
            raise UsageError(f"{self.name} does not start: {error}; check its installation") from None
        finally:
            self.timeout = patience

    def request(self, what: str, number: int, given: Any) -> Any:
        """One request and its answer.

        Raises:
            PeerError: the peer failed, crashed or hung.
        """
        assert self._process is not None
        assert self._process.stdin is not None
        deadline = time.monotonic() + self.timeout
        self._cpu_before_request = cpu_usage(self._process.pid)
        self._cpu_limit_seconds = self._hurry_limit_seconds(what) if self._is_hurried and what != "start" else math.inf
        try:
            send_message(self._process.stdin, (what, number, given))
        except OSError:  # it died before; the answer that is missing tells how
            pass
        except BaseException:
            self.close()
            raise
        try:
            (length,) = MESSAGE_LENGTH.unpack(self._read_bytes(MESSAGE_LENGTH.size, deadline))
            outcome, answer = pickle.loads(self._read_bytes(length, deadline))
        except PeerError:
            raise
        except BaseException:  # Ctrl-C: an answer that comes later must not be taken for that of the next request
            self.close()
            raise
        if self._process is not None:
            self._longest_cpu_seconds[what] = max(
                self._longest_cpu_seconds.get(what, 0.0), self._cpu_since_request(self._process.pid)
            )
        if outcome == "failed":
            raise PeerError("failed", " ".join(str(answer).split())[:600])
        return answer

    def _hurry_limit_seconds(self, what: str) -> float:
        """How many seconds of a processor a request may take in a hurry. Before the first answer this is what a peer
        has to have had in any case, to be given up at its timeout."""
        longest = self._longest_cpu_seconds.get(what)
        return self.timeout / 2 if longest is None else max(_HURRY_MIN_CPU_SECONDS, _HURRY_FACTOR * longest)

    def _cpu_since_request(self, process: int) -> float:
        """Seconds of a processor since the last request."""
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
            # What the peer started may hold the pipe open when the peer is gone.
            over = self._process.poll() is not None
            glance = _HURRY_POLL_SECONDS if self._cpu_limit_seconds < math.inf else _POLL_SECONDS
            pause = min(wait, glance) if wait > 0 else glance
            if not select.select([stream], [], [], 0 if over else pause)[0]:
                if over:
                    raise self._crash_error()
                continue
            part = os.read(stream, min(length, 1 << 20))
            if not part:
                raise self._crash_error()
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def _is_starved(self) -> bool:
        """Whether the peer would run, and had less than half of its time on a processor: that is no hang."""
        assert self._process is not None
        now = cpu_usage(self._process.pid)
        return now.is_runnable and now.seconds - self._cpu_before_request.seconds < self.timeout / 2

    def _crash_error(self) -> PeerError:
        assert self._process is not None
        status = self._process.wait()
        self._log.seek(0)
        said = self._log.read()[-2000:].decode("utf-8", "replace").strip().splitlines()
        self.close()
        if status < 0:
            try:
                how = signal.Signals(-status).name
            except ValueError:
                how = f"signal {-status}"
        else:
            how = f"exit status {status}"
        last = " ".join(said[-1].split())[:300] if said else ""
        return PeerError("crashed", f"{how}: {last}" if last else how)


class LoadedModel:
    """A model that a peer has loaded."""

    def __init__(self, peer: Peer, number: int, process: Popen[bytes] | None) -> None:
        self._peer = peer
        self._number = number
        self._process = process

    @property
    def is_alive(self) -> bool:
        """False once the process that had it is gone."""
        return self._peer.is_process(self._process)

    def hold(self, values: Mapping[str, Any]) -> None:
        """Inputs that stay what they are from run to run."""
        self._peer.request("hold", self._number, dict(values))

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """The outputs in order.

        Raises:
            PeerError: the peer failed, crashed or hung.
        """
        answer: list[Any] = self._peer.request("run", self._number, dict(feeds))
        return answer

    def close(self) -> None:
        """Let go of it."""
        if self.is_alive:
            self._peer.request("close", self._number, None)
