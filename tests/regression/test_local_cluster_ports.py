"""``sweep --dask local`` opened ports on which whoever reached them could run programs; one was open to the network."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import loopdbg
from text_models import SAMPLES

NEWTON = str(SAMPLES / "newton_sqrt.onnx")
_LISTENS = "0A"


def listening() -> dict[int, bool]:
    """The TCP ports on which this process listens, and whether each is for this machine only."""
    own = set()
    for link in Path("/proc/self/fd").iterdir():
        try:
            own.add(os.readlink(link))
        except OSError:  # that of the listing itself
            continue
    ports = {}
    for table, here in (("tcp", "0100007F"), ("tcp6", "0" * 24 + "01000000")):
        for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == _LISTENS and f"socket:[{words[9]}]" in own:
                address, _, port = words[1].partition(":")
                ports[int(port, 16)] = address == here
    return ports


@pytest.mark.skipif(sys.platform != "linux", reason="ports are listed as Linux does")
def test_a_local_cluster_listens_for_this_machine_only_and_answers_nothing() -> None:
    pytest.importorskip("distributed", reason="a cluster needs distributed")
    from loopdbg.debugger.sweep.dask_cluster import DaskCluster
    from loopdbg.debugger.sweep.job import version_text

    assert version_text()
    before = listening()
    with DaskCluster("local", [], 2) as cluster:
        assert cluster.threads == 2
        assert cluster._local.scheduler_address.startswith("inproc://"), "it has no port at all"
        opened = {port: here for port, here in listening().items() if port not in before}
        assert opened and all(opened.values())
        for port in opened:
            for path in (
                "",
                "status",
                "health",
                "info/main/workers.html",
                "api/v1/get_workers",
                "json/counts.json",
                "statics/",
            ):
                with pytest.raises(urllib.error.HTTPError, match=r"404|405|403"):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=60)
    assert listening() == before


def test_a_local_cluster_gives_the_rows_of_this_process() -> None:
    pytest.importorskip("distributed", reason="a cluster needs distributed")
    asked = {"random": 20, "seed": 3, "max_iterations": 50, "measures": ["err"]}

    def rows(**where: object) -> list[tuple[str, str, str]]:
        done = loopdbg.sweep(NEWTON, **asked, **where)  # type: ignore[arg-type]
        return sorted((row.case, row.status.value, repr(row.measures)) for row in done)

    words = [sys.executable, "-m", "loopdbg", "sweep", NEWTON, "--random", "20", "--seed", "3", "--dask", "local"]
    done = subprocess.run([*words, "-j", "2", "--max-iterations", "50"], capture_output=True, text=True, timeout=300)
    assert "20" in done.stdout and "Traceback" not in done.stderr, done.stderr
    assert rows(dask="local", processes=2) == rows()
