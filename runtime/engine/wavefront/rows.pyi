from ...graph import Array
from ...kernels.stream import Stream
from ..plain.loops import Loops
from ..plain.scans import Scans

def read_rows(loops: Loops, slot: int, stream: Stream) -> None: ...
def make_rows(scans: Scans, index: int, k: int, stream: Stream) -> Array | None: ...
