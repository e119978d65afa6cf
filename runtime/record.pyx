"""Dataclasses with negligible import cost.

``dataclass`` generates and compiles the source of each method, which takes 0.3 to 1 ms per class; a short run imports
sixty of them. Here ``dataclass`` only collects the fields, and classes share generic methods. The results are
dataclasses for ``fields``, ``replace`` and ``match``, and for mypy by the ``.pyi``.
"""

from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from operator import attrgetter
from reprlib import recursive_repr

cdef extern from "Python.h":
    int PyObject_GenericSetAttr(object target, object name, object value) except -1


def record(cls=None, /, *, bint eq=True, bint repr=True, bint frozen=False):
    """``dataclass`` with a subset of its options."""
    def decorate(cls):
        cls.__doc__ = cls.__doc__ or cls.__name__  # keeps dataclass from generating it from the signature
        defined = vars(cls).keys() & {"__init__", "__eq__", "__hash__", "__repr__"}
        dataclass(init=False, repr=False, eq=False)(cls)
        methods = {"__init__": _make_init(cls)}
        if repr:
            methods["__repr__"] = _repr
        if eq:
            methods |= _equality_methods([field.name for field in fields(cls) if field.compare], frozen)
        for name in methods.keys() - defined:
            setattr(cls, name, methods[name])
        if frozen:
            cls.__setattr__ = _reject_mutation
            cls.__delattr__ = _reject_mutation
        return cls

    return decorate if cls is None else decorate(cls)


cdef object _make_init(cls):
    cdef list ordered = sorted(fields(cls), key=_keyword_only)
    cdef tuple names = tuple([field.name for field in ordered])
    cdef tuple values = tuple([field.default for field in ordered])
    cdef tuple factories = tuple([field.default_factory for field in ordered])
    cdef Py_ssize_t count = len(names), positional = sum([not field.kw_only for field in ordered])
    cdef bint has_post_init = hasattr(cls, "__post_init__")
    cdef str init_name = f"{cls.__qualname__}.__init__()"
    missing = MISSING

    def __init__(self, *args, **keywords):
        cdef Py_ssize_t k, n_args = len(args), used = 0
        if n_args > positional:
            raise TypeError(f"{init_name} takes {positional} positional arguments but {n_args} were given")
        for k in range(count):
            name = names[k]
            if keywords and name in keywords:
                if k < n_args:
                    raise TypeError(f"{init_name} got multiple values for argument '{name}'")
                value = keywords[name]
                used += 1
            elif k < n_args:
                value = args[k]
            elif values[k] is not missing:
                value = values[k]
            elif factories[k] is not missing:
                value = factories[k]()
            else:
                raise TypeError(f"{init_name} lacks its argument '{name}'")
            PyObject_GenericSetAttr(self, name, value)  # bypasses the class's __setattr__, which may be frozen
        if used < len(keywords):
            name = next(name for name in keywords if name not in names)
            raise TypeError(f"{init_name} got an unexpected keyword argument '{name}'")
        if has_post_init:
            self.__post_init__()

    return __init__


def _keyword_only(field):
    return field.kw_only


cdef dict _equality_methods(list names, bint frozen):
    if not names:
        compared = type
    else:
        compared = attrgetter(*names)

    def __eq__(self, other):
        return compared(self) == compared(other) if type(self) is type(other) else NotImplemented

    def __hash__(self):
        return hash(compared(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


@recursive_repr()
def _repr(self):
    texts = [f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr]
    return f"{type(self).__qualname__}({', '.join(texts)})"


def _reject_mutation(self, str name, *value):
    raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")
