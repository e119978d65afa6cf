"""Optimized bindings: for a range of shapes, for a block of iterations, to memory instead of its copy."""

from ..baseline.binder cimport NodeBinder, call_native
from ..baseline.memory cimport Memory
from ..baseline.state cimport *
from .fusion.group_region cimport request_grouping
from .node_regions cimport add_node_region, init_node
from .shape_ranges.range_bindings cimport MAX_CACHED_BINDINGS, RangeBindings
from .optimizer_state cimport *
from .copy_elision.elided_calls cimport detach_readers, restore_copies, elide_copies, materialize_inputs, materialize_slot

from ...ops.primitive_types import NoNativeKernel
from ...plan import shape_range_binding
from ...plan.binding_result import DynamicExtentBuffer
from ...plan.copy_elision import bind_with_capacity
from ..baseline import binder as canonical_value


cdef class OptimizingBinder(NodeBinder):
    """Binds and runs the nodes of a plan, optimized."""

    def __init__(self, Memory memory not None, RangeBindings range_bindings not None):
        self.range_bindings, self.hoisted, self.batched = range_bindings, [], set()
        self.views = [()] * memory.ncode
        NodeBinder.__init__(self, memory)
        for pc, instruction in enumerate(self.plan.code):
            init_node(self.s, pc, instruction.once)
            if instruction.hoisted is not None:
                self.hoisted.append(pc)
            if instruction.once >= 0 or instruction.hoisted is not None:
                add_node_region(self.s, optimizer_node(self.s, pc))

    cdef set dependency_slots(self, object instruction):
        """Include the inputs of a hoisted computation."""
        return set(instruction.inputs if instruction.hoisted is None else (*instruction.inputs, *instruction.hoisted.inputs))

    cdef int set_edited(self, bint user_edited) except -1:
        """Set whether the user edited this execution. Then no node uses results for a block of iterations: the edit may
        affect their inputs."""
        if self.s.user_edited != user_edited:
            self.s.user_edited = user_edited
            self.s.generation += 1
            for pc in self.hoisted:
                self.range_bindings.drop_bindings(pc)
                unbind_node(self.s.code + <int>pc)

    cdef int bind_node(self, int pc) except -1:
        """Bind the node at pc for its present inputs. 0: it has to run in Python."""
        instruction = self.plan.code[pc]
        bound = False
        if instruction.hoisted is not None and not self.s.user_edited:
            previous = self.range_bindings.last_bound[pc]
            try:
                bound = self.bind_variant(pc, instruction.hoisted)
            except NoNativeKernel:
                pass
            except Exception:
                # Bind it unhoisted below.
                if canonical_value.strict_binding:
                    raise
            if not bound:
                self.range_bindings.last_bound[pc] = previous
        if bound:
            self.batched.add(pc)
        else:
            self.batched.discard(pc)
            if not self.bind_variant(pc, instruction):
                return 0
        self.update_copy_elision(instruction, optimizer_node(self.s, pc), self.was_elided)
        return 1

    cdef int bind_variant(self, int pc, object instruction) except -1:
        """Bind the node at pc: for the present shapes, or if they changed, for a range of them."""
        varied = None
        inputs = self.input_descriptors(instruction)
        if inputs is None:
            return 0
        if all([i is None or self.s.slots[<int>i.slot].spec for i in inputs]):
            varied = self.range_bindings.varied(pc, instruction, inputs)
        if varied is None:
            bound = bind_with_capacity(instruction.op, inputs)
        else:
            symbolic, bound, appended = varied
            ranged, bound = bound, shape_range_binding.with_current_extents(bound, inputs)
        if bound.inspected_inputs:
            self.range_bindings.remember_input_integers(pc, inputs, bound.inspected_inputs)
        if any([isinstance(out, DynamicExtentBuffer) and not self.range_bindings.has_specs_for(out)
                for slot, out in zip(instruction.outputs, bound.outputs) if slot >= 0]):
            return 0
        if not self.allocate_results(instruction, bound):
            return 0
        self.range_bindings.cache_current_binding(pc)
        try:
            self.install_binding(pc, instruction, bound)
            # Without a source yet, keep the one of the last binding.
            self.views[pc] = bound.views if varied is None else ranged.views or self.views[pc]
            if varied is not None:
                self.range_bindings.vary(pc, instruction, symbolic, ranged, appended, self.keep[pc], {}, {})
                self.keep[pc] = None
                return self.range_bindings.adapt_to_extent(pc)
            self.range_bindings.allocate_maximum_results(pc)
            return 1
        except BaseException:
            self.unbind(pc)     # the binding may be incomplete for lack of memory
            raise

    cdef int release_binding(self, int pc) except -1:
        """Free the present binding of a node."""
        cdef OptimizerNode *n = optimizer_node(self.s, pc)
        NodeBinder.release_binding(self, pc)
        if n != NULL:
            n.varying = NULL
            n.counts = n.elided = n.through = 0

    cdef int install_binding(self, int pc, object instruction, object bound, int around=0) except -1:
        """Convert a KernelBinding to C, with extra calls around its own for results of dynamic length."""
        cdef Instr *ins = self.s.code + pc
        cdef OptimizerNode *n = optimizer_node(self.s, pc)
        cdef int k
        if n == NULL:
            return NodeBinder.install_binding(self, pc, instruction, bound)
        dynamic = [(slot, out) for slot, out in zip(instruction.outputs, bound.outputs)
                     if slot >= 0 and isinstance(out, DynamicExtentBuffer)]
        NodeBinder.install_binding(self, pc, instruction, bound, len(dynamic))
        n.counts = len(dynamic)
        if dynamic:
            ins.follows = SETS_OUTPUTS
        for k, (slot, out) in enumerate(dynamic):
            self.range_bindings.count(n, k, slot, out)
        request_grouping(self.s, instruction.inside)
        return 0

    cdef int run_node(self, int pc) except -1:
        cdef OptimizerNode *n = optimizer_node(self.s, pc)
        NodeBinder.run_node(self, pc)
        if n.once >= 0:
            n.done = self.s.loops[n.once].entries

    cdef int run_cached_binding(self, int pc) except -1:
        """Run a node with the cached binding that fits, after growing its memory if needed."""
        cdef Instr *ins = self.s.code + pc
        cdef OptimizerNode *n = optimizer_node(self.s, pc)
        cdef bint was_native = ins.kind == NATIVE
        instruction = self.plan.code[pc]
        self.was_elided = n.elided and n.varying != NULL and not n.region.stale
        # Readers of a node that keeps a binding for a range stay bound to its sources.
        if n.varying == NULL or n.region.stale or not self.native_enabled:
            self.restore_input_copies(instruction, n)
        if n.region.stale:
            self.range_bindings.drop_bindings(pc)
        if not self.native_enabled:
            return 0
        if n.varying != NULL or n.cache != NULL:
            if n.varying == NULL:
                self.release_binding(pc)       # useless now: a cached binding may replace it
            if self.range_bindings.adapt_to_extent(pc):
                if (n.elided or not n.looks or not materialize_inputs(self.s, n)) and call_native(self.s, ins):
                    return 1
                self.range_bindings.drop_bindings(pc)
            self.restore_input_copies(instruction, n)
            self.range_bindings.cache_current_binding(pc)
        return was_native and self.range_bindings.allocate_maximum_results(pc) and call_native(self.s, ins)

    cdef int on_python_fallback(self, int pc) except -1:
        self.range_bindings.cache_current_binding(pc)
        return self.update_copy_elision(self.plan.code[pc], optimizer_node(self.s, pc), False)

    cdef int is_reusable_binding(self, int pc) except -1:
        """Is the node bound for a range, with few cached bindings?"""
        cdef OptimizerNode *n = optimizer_node(self.s, pc)
        return n.varying != NULL and n.varying.low < n.varying.high and n.ncached < MAX_CACHED_BINDINGS

    cdef int restore_input_copies(self, object instruction, OptimizerNode *n) except -1:
        """Before a node is bound or run in Python: restore the copies that it and its readers read."""
        cdef int slot
        if not fast(self.s).elision_active:
            return 0
        restore_copies(self.s, n)
        for slot in instruction.outputs:
            if slot >= 0:
                detach_readers(self.s, slot, n.region.stale)
        for slot in instruction.inputs:
            if slot >= 0:
                materialize_slot(self.s, slot)

    cdef int update_copy_elision(self, object instruction, OptimizerNode *n, bint elided) except -1:
        """After a node was bound, or before it runs in Python: one bound for a range materializes what it reads and
        elides its own copies as before (``elided``); otherwise the producers of its inputs restore theirs."""
        cdef int slot
        if n.varying != NULL and n.varying.copies and elided:
            elide_copies(self.s, n)
        for slot in instruction.inputs if fast(self.s).elision_active and (n.varying == NULL or not n.looks) else ():
            if slot >= 0 and self.s.writer[slot] >= 0:
                restore_copies(self.s, optimizer_node(self.s, self.s.writer[slot]))
