"""Dataclasses with negligible import cost.

``dataclass`` generates and compiles the source of each method, which takes 0.3 to 1 ms per class; a short run imports
eighty of them. Here classes share generic methods, and ``dataclass`` only collects the fields, which takes 0.1 ms, when
something asks for them. The results are dataclasses for ``fields``, ``replace`` and ``match``, and for mypy by the
``.pyi``.
"""

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, fields
from operator import attrgetter
from reprlib import recursive_repr

cdef extern from "Python.h":
    int PyObject_GenericSetAttr(object target, object name, object value) except -1


cdef class _RecordField:
    """What the methods of a record need of a field."""

    cdef str name
    cdef object default, default_factory
    cdef bint kw_only, compare

    def __init__(self, str name, default, bint kw_only):
        self.name, self.default, self.default_factory = name, default, MISSING
        self.kw_only, self.compare = kw_only, True
        if isinstance(default, Field):
            self.default, self.default_factory, self.compare = default.default, default.default_factory, default.compare
            if default.kw_only is not MISSING:
                self.kw_only = default.kw_only


cdef class _FieldsOnDemand:
    """``__dataclass_fields__`` of a class, until something asks for it. ``defaults``: what ``field`` returned."""

    cdef object cls
    cdef dict defaults

    def __get__(self, instance, owner):
        for name, default in self.defaults.items():
            setattr(self.cls, name, default)
        dataclass(init=False, repr=False, eq=False)(self.cls)
        return self.cls.__dataclass_fields__


def record(cls=None, /, *, bint eq=True, bint repr=True, bint frozen=False):
    """``dataclass`` with a subset of its options."""
    def decorate(cls):
        cls.__doc__ = cls.__doc__ or cls.__name__  # keeps dataclass from generating it from the signature
        defined = vars(cls).keys() & {"__init__", "__eq__", "__hash__", "__repr__"}
        record_fields = _collect_fields(cls)
        positional = [entry for entry in record_fields if not _keyword_only(entry)]
        cls.__match_args__ = tuple([(<_RecordField>entry).name for entry in positional])
        methods = {"__init__": _make_init(cls, record_fields)}
        if repr:
            methods["__repr__"] = _repr
        if eq:
            names = [(<_RecordField>entry).name for entry in record_fields if (<_RecordField>entry).compare]
            methods |= _equality_methods(names, frozen)
        for name in methods.keys() - defined:
            setattr(cls, name, methods[name])
        if frozen:
            cls.__setattr__ = _reject_mutation
            cls.__delattr__ = _reject_mutation
        return cls

    return decorate if cls is None else decorate(cls)


cdef list _collect_fields(cls):
    """The fields of a class, including those that it inherits; their defaults become attributes of the class."""
    cdef dict record_fields = {}
    cdef bint kw_only = False
    cdef _FieldsOnDemand on_demand = _FieldsOnDemand()
    on_demand.cls, on_demand.defaults = cls, {}
    for base in reversed(cls.__mro__[1:]):
        record_fields |= vars(base).get("__record_fields__", {})
    for name, annotation in cls.__annotations__.items():
        if "ClassVar" in str(annotation):
            continue
        if "KW_ONLY" in str(annotation):
            kw_only = True
            continue
        default = vars(cls).get(name, MISSING)
        record_fields[name] = _RecordField(name, default, kw_only)
        if isinstance(default, Field):
            on_demand.defaults[name] = default
            if default.default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, default.default)
    cls.__record_fields__, cls.__dataclass_fields__ = record_fields, on_demand
    return list(record_fields.values())


cdef object _make_init(cls, list record_fields):
    cdef list ordered = sorted(record_fields, key=_keyword_only)
    cdef tuple names = tuple([(<_RecordField>field).name for field in ordered])
    cdef tuple values = tuple([(<_RecordField>field).default for field in ordered])
    cdef tuple factories = tuple([(<_RecordField>field).default_factory for field in ordered])
    cdef Py_ssize_t count = len(names), positional = sum([not (<_RecordField>field).kw_only for field in ordered])
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


def _keyword_only(_RecordField field):
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
