"""Dataclasses that cost nothing to speak of when their module is imported.

``dataclass`` writes each method of each class as text and compiles it: a third of a millisecond to one a class, and a
short run pays that for sixty of them. Here ``dataclass`` finds the fields alone, and classes share methods that know
them. What is made is a dataclass to all that ask (``fields``, ``replace``, ``match``), and to mypy by the ``.pyi``.
"""

from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from operator import attrgetter
from reprlib import recursive_repr

cdef extern from "Python.h":
    int PyObject_GenericSetAttr(object target, object name, object value) except -1


def record(cls=None, /, *, bint eq=True, bint repr=True, bint frozen=False):
    """As ``dataclass``, with those of its options that are used here."""
    def made(cls):
        cls.__doc__ = cls.__doc__ or cls.__name__  # otherwise dataclass writes the signature there
        kept = vars(cls).keys() & {"__init__", "__eq__", "__hash__", "__repr__"}
        dataclass(init=False, repr=False, eq=False)(cls)
        methods = {"__init__": _init(cls)}
        if repr:
            methods["__repr__"] = _repr
        if eq:
            methods |= _equality([field.name for field in fields(cls) if field.compare], frozen)
        for name in methods.keys() - kept:
            setattr(cls, name, methods[name])
        if frozen:
            cls.__setattr__ = _refuse
            cls.__delattr__ = _refuse
        return cls

    return made if cls is None else made(cls)


cdef object _init(cls):
    cdef list ordered = sorted(fields(cls), key=_keyword_only)
    cdef tuple names = tuple([field.name for field in ordered])
    cdef tuple values = tuple([field.default for field in ordered])
    cdef tuple factories = tuple([field.default_factory for field in ordered])
    cdef Py_ssize_t count = len(names), positional = sum([not field.kw_only for field in ordered])
    cdef bint then = hasattr(cls, "__post_init__")
    cdef str called = f"{cls.__qualname__}.__init__()"
    missing = MISSING

    def __init__(self, *args, **keywords):
        cdef Py_ssize_t k, given = len(args), used = 0
        if given > positional:
            raise TypeError(f"{called} takes {positional} positional arguments but {given} were given")
        for k in range(count):
            name = names[k]
            if keywords and name in keywords:
                if k < given:
                    raise TypeError(f"{called} got multiple values for argument '{name}'")
                value = keywords[name]
                used += 1
            elif k < given:
                value = args[k]
            elif values[k] is not missing:
                value = values[k]
            elif factories[k] is not missing:
                value = factories[k]()
            else:
                raise TypeError(f"{called} lacks its argument '{name}'")
            PyObject_GenericSetAttr(self, name, value)  # not the one of the class, which may be frozen
        if used < len(keywords):
            name = next(name for name in keywords if name not in names)
            raise TypeError(f"{called} got an unexpected keyword argument '{name}'")
        if then:
            self.__post_init__()

    return __init__


def _keyword_only(field):
    return field.kw_only


cdef dict _equality(list names, bint frozen):
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
    told = [f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr]
    return f"{type(self).__qualname__}({', '.join(told)})"


def _refuse(self, str name, *value):
    raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")
