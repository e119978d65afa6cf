"""The API boundary of loopdbg: error conversion and memory limits.

Public functions, and code inside an :class:`ApiBoundary`, raise only the errors of :mod:`.errors`: exceptions of NumPy,
parsers, SQLite or Python are converted here, and nowhere else. Inside, array allocations are checked against available
memory, so that excessive allocation raises an error instead of killing the process.
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
#: Attribute of exceptions raised by user functions.
_USER_ERROR_MARKER = "_loopdbg_from_user"
#: Attribute of functions that :func:`public_class` does not wrap.
_PUBLIC_MARKER = "_loopdbg_public"
#: Programming errors: internal faults if the arguments are valid.
_INTERNAL_FAULTS = (TypeError, AttributeError, LookupError, NameError, AssertionError, NotImplementedError)
#: Accepted types by annotation name; other names are class names.
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
#: Special methods that users call implicitly.
_PUBLIC_DUNDERS = frozenset({"__init__", "__call__", "__iter__"})


def convert_exception(error: Exception) -> LoopdbgError | None:
    """Convert an exception of Python or a library to a loopdbg error; None if it passes unchanged: loopdbg errors,
    errors of user functions, and a closed pipe, which ends a command line silently."""
    is_internal = type(error).__module__.partition(".")[0] == _PACKAGE
    is_passed = isinstance(error, LoopdbgError | BrokenPipeError | StopIteration)
    if is_internal or is_passed or hasattr(error, _USER_ERROR_MARKER):
        return None
    if isinstance(error, MemoryError) or "can't start new thread" in str(error):
        text = f"out of memory: {one_line(error)}" if str(error) else "out of memory"
        return OutOfMemoryError(text if "are available" in text else text + refusal_text())
    if isinstance(error, OSError):
        prefix = "" if error.filename is None else f"{error.filename}: "
        return LoopdbgError(f"{prefix}{error.strerror or one_line(error)}")
    if isinstance(error, _INTERNAL_FAULTS):
        text = f"internal error: {type(error).__name__}: {one_line(error)}"
        return InternalError(f"{text} (LOOPDBG_TRACEBACK=1 shows where; please report it)")
    return UsageError(one_line(error))


def call_user_function(function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Call a user function; its exceptions pass every boundary unchanged."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        setattr(error, _USER_ERROR_MARKER, True)
        raise


class ApiBoundary:
    """Context manager for work on behalf of a caller; see the module.

    Raises:
        OutOfMemoryError: more memory is needed than available.
        UsageError: a library rejects a value.
        InternalError: an internal fault of loopdbg.
    """

    def __enter__(self) -> None:
        self._allocator = install_guarded_allocator()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        restore_allocator(self._allocator)
        if isinstance(error, Exception):
            converted = convert_exception(error)
            if converted is not None:
                raise converted from error


def public(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Wrap a public function; see the module. An argument of a wrong type raises a :class:`.UsageError` that names it;
    types are checked only after a failure, so that successful calls have no overhead."""

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        allocator = None
        try:
            allocator = install_guarded_allocator()
            result = function(*args, **kwargs)
            if type(result) is GeneratorType:
                return cast(_R, _guard_generator(cast(Any, result), function, args, kwargs))
            return result
        except Exception as error:
            converted = _convert_call_error(error, function, args, kwargs)
            if converted is None:
                raise
            raise converted from error
        finally:
            restore_allocator(allocator)

    return call


def public_without_memory_guard(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """:func:`public` without memory guard, for engine runs of microseconds, which check memory themselves."""

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            converted = _convert_call_error(error, function, args, kwargs)
            if converted is None:
                raise
            raise converted from error

    setattr(call, _PUBLIC_MARKER, True)
    return call


def public_class(cls: _C) -> _C:
    """Make the public methods and properties of a class :func:`public`, except inherited ones."""
    for name, member in list(vars(cls).items()):
        if name.startswith("_") and name not in _PUBLIC_DUNDERS:
            continue
        if isinstance(member, FunctionType) and not hasattr(member, _PUBLIC_MARKER):
            setattr(cls, name, public(member))
        elif isinstance(member, classmethod | staticmethod):
            setattr(cls, name, type(member)(public(member.__func__)))
        elif isinstance(member, property):
            getter = None if member.fget is None else public(member.fget)
            setter = None if member.fset is None else public(member.fset)
            setattr(cls, name, property(getter, setter, member.fdel, member.__doc__))
    return cls


def _convert_call_error(
    error: Exception, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> LoopdbgError | None:
    converted = convert_exception(error)
    # An internal fault in a nested public function may be caused by an argument of this one.
    if (converted is not None and isinstance(error, _INTERNAL_FAULTS)) or isinstance(error, InternalError):
        return _wrong_argument_error(function, args, kwargs) or converted
    return converted


def _guard_generator(
    items: Iterator[_T], function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Iterator[_T]:
    """Iterate over a generator with each step inside the boundary; the caller's code between steps is outside."""
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
    """The error for an argument that does not match its annotation, if any."""
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
        mismatched = [item for item in values if not any(_matches_annotation(item, kind) for kind in kinds)]
        if mismatched:
            return UsageError(
                f"{name}: {parameter} must be {declared.annotation}, not {type(mismatched[0]).__name__}",
                name=parameter,
                expected=str(declared.annotation),
                got=type(mismatched[0]).__name__,
            )
    return None


def _matches_annotation(value: Any, kind: str) -> bool:
    """True if a value matches an annotation name: a class name, or an abstract kind."""
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
