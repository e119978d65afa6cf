"""The boundary between loopdbg and its callers: what a call may raise, and how much memory it may take.

A public function, or a piece of work inside a :class:`Boundary`, raises nothing but the errors of :mod:`.errors`: what
NumPy, a parser, SQLite or Python itself raises is converted here, and nowhere else. Meanwhile arrays get memory only
where the system has it, so that a command that needs too much fails with an error, and its process is not killed.
"""

from __future__ import annotations

import functools
import inspect
import operator
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Real
from types import FunctionType, GeneratorType, TracebackType
from typing import Any, ParamSpec, TypeVar, cast

from .errors import InternalError, LoopdbgError, OutOfMemoryError, UsageError, one_line
from .kernels.memory_guard import install_guarded_allocator, refusal_text, restore_allocator

_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")
_C = TypeVar("_C", bound=type)

_PACKAGE = __name__.partition(".")[0]
#: Set on an exception that a function of the user raised.
_USER_ERROR_MARKER = "_loopdbg_from_user"
#: Set on a function that :func:`public_class` leaves as it is.
_PUBLIC_MARKER = "_loopdbg_public"
#: Raised by calls that have no sense in our code: where the arguments are right, the fault is ours.
_INTERNAL_FAULTS = (TypeError, AttributeError, LookupError, NameError, AssertionError, NotImplementedError)
#: What an argument may be, by the name of its annotation; other names are those of classes.
_ANNOTATION_TYPES: dict[str, type | tuple[type, ...]] = {
    "None": type(None),
    "bool": bool,
    "float": Real,
    "str": str,
    "Path": os.PathLike,
    "Mapping": Mapping,
    "dict": dict,
    "Sequence": Sequence,
    "list": list,
}
#: Special methods that users call without knowing it.
_PUBLIC_DUNDERS = frozenset({"__init__", "__call__", "__iter__"})


def convert_exception(error: Exception) -> LoopdbgError | None:
    """An exception of Python or of a library as one of ours; None where it passes as it is: our own, one of a function
    of the user, and a closed pipe, which ends a command line quietly."""
    ours = type(error).__module__.partition(".")[0] == _PACKAGE
    passes = isinstance(error, LoopdbgError | BrokenPipeError | StopIteration)
    if ours or passes or hasattr(error, _USER_ERROR_MARKER):
        return None
    if isinstance(error, MemoryError) or "can't start new thread" in str(error):
        text = f"out of memory: {one_line(error)}" if str(error) else "out of memory"
        return OutOfMemoryError(text if "are available" in text else text + refusal_text())
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"{error.filename}: "
        return LoopdbgError(f"{where}{error.strerror or one_line(error)}")
    if isinstance(error, _INTERNAL_FAULTS):
        text = f"internal error: {type(error).__name__}: {one_line(error)}"
        return InternalError(f"{text} (LOOPDBG_TRACEBACK=1 shows where; please report it)")
    return UsageError(one_line(error))


def call_user(function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Call a function that the user gave: what it raises passes every boundary as it is."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        setattr(error, _USER_ERROR_MARKER, True)
        raise


class ApiBoundary:
    """``with Boundary():`` around work for a caller: see the module.

    Raises:
        OutOfMemoryError: it needs more memory than is available.
        UsageError: a value or a text that a library refuses.
        InternalError: a fault of loopdbg.
    """

    def __enter__(self) -> None:
        self._allocator = install_guarded_allocator()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        restore_allocator(self._allocator)
        if isinstance(error, Exception):
            known = convert_exception(error)
            if known is not None:
                raise known from error


def public(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function as callers see it: see the module. An argument of a wrong type is a :class:`.UsageError` that names
    it; types are looked at once something went wrong, so a call that succeeds pays nothing for that."""

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        allocator = None
        try:
            allocator = install_guarded_allocator()
            found = function(*args, **kwargs)
            if type(found) is GeneratorType:
                return cast(_R, _guard_generator(cast(Any, found), function, args, kwargs))
            return found
        except Exception as error:
            known = _convert_call_error(error, function, args, kwargs)
            if known is None:
                raise
            raise known from error
        finally:
            restore_allocator(allocator)

    return call


def public_run(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """As :func:`public`, for what runs an engine, which asks for memory itself: a run may take microseconds."""

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            known = _convert_call_error(error, function, args, kwargs)
            if known is None:
                raise
            raise known from error

    setattr(call, _PUBLIC_MARKER, True)
    return call


def public_class(cls: _C) -> _C:
    """A class whose public methods and properties are :func:`public`; those that it inherits are as they were."""
    for name, member in list(vars(cls).items()):
        if name.startswith("_") and name not in _PUBLIC_DUNDERS:
            continue
        if isinstance(member, FunctionType) and not hasattr(member, _PUBLIC_MARKER):
            setattr(cls, name, public(member))
        elif isinstance(member, classmethod | staticmethod):
            setattr(cls, name, type(member)(public(member.__func__)))
        elif isinstance(member, property):
            getter, setter = (None if part is None else public(part) for part in (member.fget, member.fset))
            setattr(cls, name, property(getter, setter, member.fdel, member.__doc__))
    return cls


def _convert_call_error(
    error: Exception, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> LoopdbgError | None:
    known = convert_exception(error)
    # A fault that a public function met below this one may come from an argument of this one.
    if (known is not None and isinstance(error, _INTERNAL_FAULTS)) or isinstance(error, InternalError):
        return _wrong_argument_error(function, args, kwargs) or known
    return known


def _guard_generator(
    items: Iterator[_T], function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Iterator[_T]:
    """The items of a generator, each of which is made as by a call of the function that gave it; what the caller does
    between two of them is not part of that."""
    try:
        while True:
            try:
                with ApiBoundary():
                    item = next(items)
            except StopIteration:
                return
            except InternalError as error:
                raise _wrong_argument_error(function, args, kwargs) or error from error.__cause__
            yield item
    finally:
        cast(Any, items).close()


def _wrong_argument_error(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> UsageError | None:
    """Which argument is not what its annotation says."""
    signature = inspect.signature(function)
    name = function.__name__
    try:
        bound = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        return UsageError(f"{name}: {one_line(error)}")
    for parameter, value in bound.items():
        declared = signature.parameters[parameter]
        if declared.annotation is declared.empty:  # self and cls
            continue
        values = value.values() if declared.kind is declared.VAR_KEYWORD else (value,)
        kinds = [kind.partition("[")[0] for kind in str(declared.annotation).split(" | ")]
        wrong = [one for one in values if not any(_matches_annotation(one, kind) for kind in kinds)]
        if wrong:
            return UsageError(f"{name}: {parameter} must be {declared.annotation}, not {type(wrong[0]).__name__}")
    return None


def _matches_annotation(value: Any, kind: str) -> bool:
    """Whether a value is what an annotation's name says: the name of a class, or of a kind that many classes are."""
    if kind == "Any":
        return True
    if kind == "Callable":
        return callable(value)
    if kind == "int":
        try:
            return operator.index(value) is not None
        except TypeError:
            return False
    if kind in _ANNOTATION_TYPES:
        return isinstance(value, _ANNOTATION_TYPES[kind])
    return any(cls.__name__ == kind for cls in type(value).__mro__)
