"""What is fast, for the engine."""

from ..plain.accelerator cimport Accelerator
from ..plain.memory cimport Memory
from ..plain.state cimport State
from .binding cimport FastBinder
from .fusion.fuser cimport Fuser
from .ranges.varying cimport Growing
from .fast_state cimport FastState
from .views.views cimport Views

cdef class Fast(Accelerator):
    cdef Memory memory
    cdef State *s
    cdef FastState *f
    cdef Growing growing
    cdef readonly FastBinder binder
    cdef readonly Views views
    cdef Fuser fuser

    cdef int load(self) except -1
    cdef int begin_turns(self) except -1
    cdef int look_for_groups(self, int index) except -1
    cdef int make_programs(self) except -1
