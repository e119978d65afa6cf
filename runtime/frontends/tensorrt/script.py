"""Runs a script that builds a network, and lowers the network to a graph.

While it runs, ``import tensorrt`` finds the mock (``mock_module``), whether TensorRT is installed or not; afterwards
the process state is restored. The script's output goes to stderr, as stdout may be JSON.
"""

from __future__ import annotations

import contextlib
import dis
import inspect
import os
import sys
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import LoopdbgError, ModelError, TerminationExit, UnsupportedError, one_line
from ...graph import Graph
from ...python_scripts import compile_script, is_script_file, isolated_imports
from ...text import count_text, did_you_mean
from .builder import Builder
from .callbacks import Logger
from .mock_module import mock_tensorrt
from .network import INetworkDefinition
from .network_lowering import lower_network
from .optimization_profile import apply_profiles
from .script_state import NoEngineError, ScriptState, new_script_state
from .script_threads import track_threads

#: The default function.
_BUILD_FUNCTION = "build"
#: Modules for using engines, which are not needed to build the network.
_ENGINE_MODULES = ("pycuda", "cuda", "cupy", "polygraphy", "torch", "nvtx", "onnx_graphsurgeon")


def read(path: str | os.PathLike[str], function: str = "") -> Graph:
    """Run a script and lower the network that it builds.

    ``function``: fills or creates the network; by default ``build``, if the script has it, else the script itself
    creates the network.

    Raises:
        ModelError: the script fails, or builds no network, several, or one that TensorRT would reject.
        UnsupportedError: it needs something that is not supported.
    """
    script = Path(path)
    if function and not function.isidentifier():
        raise ModelError(
            f"{script}:{function}: '{function}' cannot be the name of a function; give {script}:FUNCTION", name=function
        )
    code = compile_script(script)
    function_name = function or (_BUILD_FUNCTION if _BUILD_FUNCTION in _top_level_names(code) else "")
    folder = script.parent

    def is_own_file(file: str) -> bool:
        return is_script_file(file, folder)

    with (
        new_script_state() as state,
        isolated_imports(folder),
        _script_environment(script),
        mock_tensorrt(),
        track_threads(is_own_file) as running_threads,
    ):
        network = _ScriptRun(script, state).build_network(code, function_name)
        running = running_threads()
        if running:
            raise ModelError(
                f"{script}: {running[0]} still runs where the script has ended; join it before", name=str(running[0])
            )
        graph = lower_network(network, script.stem)
    apply_profiles(graph, state.profiles_of(network))
    graph.notes += [note for note in state.notes if note not in graph.notes]
    return graph


def _top_level_names(code: types.CodeType) -> set[str]:
    """The names that the script binds at its top level, including nested statements."""
    return {step.argval for step in dis.get_instructions(code) if step.opname in ("STORE_NAME", "STORE_GLOBAL")}


class _ScriptRun:
    """One run of a script."""

    def __init__(self, path: Path, state: ScriptState) -> None:
        self.path, self.state = path, state

    def build_network(self, code: types.CodeType, function_name: str) -> INetworkDefinition:
        """Run the script, and the function to call, if any; returns the network."""
        # To call a function, the script is run as an imported module, without its main part.
        module = types.ModuleType("__main__" if not function_name else self._module_name())
        module.__file__ = str(self.path)
        returned: Any = None
        target: INetworkDefinition | None = None
        with _temporarily_registered_module(module):
            try:
                exec(code, module.__dict__)
                if function_name:
                    function = self._find_function(module, function_name)
                    target, arguments = self._function_arguments(function, function_name)
                    returned = function(**arguments)
            except NoEngineError as error:
                if not self.state.built_networks and not (target is not None and _has_content(target)):
                    raise
                self.state.note(f"The script was left where it uses an engine: {error.what}.")
            except LoopdbgError as error:
                raise self._with_location(error) from None
            except TerminationExit:
                raise
            except SystemExit as error:
                self._check_exit_code(error)
            except KeyboardInterrupt as error:
                raise ModelError(f"{self._error_location(error)}: interrupted while the script ran") from None
            except ModuleNotFoundError as error:
                raise self._missing_module_error(error) from None
            except BaseException as error:
                problem = f"{type(error).__name__}: {one_line(error)}{_spelling_hint(error)}"
                raise ModelError(f"{self._error_location(error)}: {problem}") from None
        if isinstance(returned, INetworkDefinition):
            return returned
        return self._choose_network(function_name, target, _defined_functions(module))

    def _module_name(self) -> str:
        stem = self.path.stem
        return stem if stem not in sys.modules else f"{stem}_script"

    # -- the function

    def _find_function(self, module: types.ModuleType, name: str) -> Any:
        value = module.__dict__.get(name)
        if callable(value):
            return value
        functions = _defined_functions(module)
        available = f"it has {', '.join(map(repr, functions))}" if functions else "it has no function"
        problem = "has no function" if value is None else "calls something else than a function"
        raise ModelError(
            f"{self.path} {problem} '{name}'{did_you_mean(name, functions) or f'; {available}'}",
            name=name,
            expected=available,
        )

    def _function_arguments(self, function: Any, name: str) -> tuple[INetworkDefinition | None, dict[str, Any]]:
        """The arguments of a build function, by parameter name; a single parameter is the network."""
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            parameters = []
        needed = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        if not needed:
            return None, {}
        logger = Logger()
        builder = Builder(logger)
        network = builder.create_network(0)
        config = builder.create_builder_config()
        known = {"network": network, "builder": builder, "config": config, "builder_config": config, "logger": logger}
        names = [p.name for p in needed]
        if len(names) == 1 and names[0] not in known:
            known = {names[0]: network}
        unknown = [parameter for parameter in names if parameter not in known]
        if unknown or any(p.kind is p.POSITIONAL_ONLY for p in needed):
            raise ModelError(
                f"{self.path}: {name}({', '.join(names)}) needs '{(unknown or names)[0]}', which loopdbg does not have:"
                f" a function that builds takes network, and builder, config and logger if it wants them"
            )
        return network, {parameter: known[parameter] for parameter in names}

    # -- the network

    def _choose_network(
        self, function_name: str, target: INetworkDefinition | None, functions: list[str]
    ) -> INetworkDefinition:
        networks = [network for network in self.state.networks if _has_content(network)]
        if target is not None and target in networks:
            return target
        if len(networks) == 1:
            return networks[0]
        if not networks:
            builder = f"'{function_name}'" if function_name else "the script"
            hint = (
                "it has to add layers to the network that it is given"
                if target is not None
                else "write build(network), or let it call trt.Builder(logger).create_network() and add layers"
            )
            if functions and not function_name:
                hint += f"; or name one of its functions, as in {self.path}:{functions[-1]}"
            raise ModelError(f"{self.path}: {builder} builds no network; {hint}")
        networks_text = "; ".join(
            f"'{network.name}' of line {network.script_location.line}, {count_text(len(network.layers), 'layer')}"
            for network in networks
        )
        raise ModelError(
            f"{self.path} builds {len(networks)} networks: {networks_text}; write a function for each, and give"
            f" {self.path}:FUNCTION"
        )

    # -- errors

    def _check_exit_code(self, error: SystemExit) -> None:
        """Raise unless the script exited successfully."""
        if error.code in (None, 0):
            return
        status = f"({error.code!r})" if not isinstance(error.code, str) else f": {one_line(error)}"
        raise ModelError(f"{self._error_location(error)}: the script ended itself with sys.exit{status}") from None

    def _missing_module_error(self, error: ModuleNotFoundError) -> ModelError:
        name = error.name or str(error)
        top = name.partition(".")[0]
        start = f"{self._error_location(error)}: the script needs the module '{name}', which is not installed; "
        if top == "tensorrt":
            return UnsupportedError(f"{start}of TensorRT only the module 'tensorrt' is here, without plugins", name=top)
        if top in _ENGINE_MODULES:
            return UnsupportedError(
                f"{start}install it, or import it where the engine is used: only what builds the network is needed"
                " here",
                name=top,
            )
        return ModelError(f"{start}install it where loopdbg is installed, or put it next to the script", name=top)

    def _with_location(self, error: LoopdbgError) -> LoopdbgError:
        """Add the script's line to an error; errors of the API already have it."""
        lines = self._traceback_lines(error)
        if not lines or any(error.what.startswith(f"{file}:") for file, _, _ in lines):
            return error
        return type(error).with_location(self._error_location(error), error)

    def _traceback_lines(self, error: BaseException) -> list[tuple[str, int, str]]:
        """The traceback lines of an error in the script's own files: (file, line, function)."""
        steps = ((frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__))
        return [
            (code.co_filename, line, code.co_name)
            for code, line in steps
            if code.co_filename == str(self.path) or is_script_file(code.co_filename, self.path.parent)
        ]

    def _error_location(self, error: BaseException) -> str:
        """The innermost line of an error in the script, and its callers."""
        lines = self._traceback_lines(error)
        if not lines:
            return str(self.path)
        file, line, _ = lines[-1]
        calls = [f"{'' if path == file else f'{Path(path).name}:'}{number}" for path, number, _ in reversed(lines[:-1])]
        name = lines[-1][2]
        function = f" in {name}" if not name.startswith("<") else ""
        callers = f" (called from line {', '.join(calls[:3])}{'...' if len(calls) > 3 else ''})" if calls else ""
        return f"{file}:{line}{function}{callers}"


def _defined_functions(module: types.ModuleType) -> list[str]:
    """The names of the functions that a script defines."""
    return [
        name
        for name, value in module.__dict__.items()
        if isinstance(value, types.FunctionType) and value.__module__ == module.__name__
    ]


def _spelling_hint(error: BaseException) -> str:
    """A suggestion for a missing attribute."""
    if isinstance(error, AttributeError) and error.name and error.obj is not None:
        return did_you_mean(error.name, [name for name in dir(error.obj) if not name.startswith("_")])
    return ""


def _has_content(network: INetworkDefinition) -> bool:
    return bool(network.layers or network.inputs)


@contextlib.contextmanager
def _temporarily_registered_module(module: types.ModuleType) -> Iterator[None]:
    """Register the module in ``sys.modules`` while it runs, which dataclasses and pickle need."""
    previous = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module
    try:
        yield
    finally:
        if previous is None:
            sys.modules.pop(module.__name__, None)
        else:
            sys.modules[module.__name__] = previous


@contextlib.contextmanager
def _script_environment(script: Path) -> Iterator[None]:
    """Set up a script's process state: its name as the only argument, and stdout redirected to stderr."""
    arguments, sys.argv = sys.argv, [str(script)]
    try:
        with contextlib.redirect_stdout(sys.stderr), contextlib.chdir(os.getcwd()):
            yield
    finally:
        sys.argv = arguments
