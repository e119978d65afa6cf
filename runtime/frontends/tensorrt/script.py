"""A script that builds a network -> Graph. Opening it runs it.

While it runs, ``import tensorrt`` finds what is here (``standin``), whether TensorRT is installed or not; afterwards
everything is as it was. What the script prints goes to stderr: stdout may be JSON.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import os
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import LoopdbgError, ModelError, TerminationExit, UnsupportedError, one_line
from ...graph import Graph
from ...python_scripts import compile_script, import_from_folder, is_script_file
from ...text import count_text, did_you_mean
from .builder import Builder
from .callbacks import Logger
from .mock_module import mock_tensorrt
from .network import INetworkDefinition
from .network_lowering import lower_network
from .opt_profile_shapes import apply_profiles
from .script_state import NoEngineError, ScriptState, new_script_state
from .script_threads import track_threads

#: What is called where no function is named.
_BUILD_FUNCTION = "build"
#: Modules that scripts use engines with: without them the part that builds the network still makes sense.
_ENGINE_MODULES = ("pycuda", "cuda", "cupy", "polygraphy", "torch", "nvtx", "onnx_graphsurgeon")


def read(path: str | os.PathLike[str], function: str = "") -> Graph:
    """Run a script and lower the network that it builds.

    ``function``: what fills or makes the network; else ``build``, if the script has such a function, else the script
    itself makes one.

    Raises:
        ModelError: the script fails, or builds no network or several, or one that TensorRT would refuse.
        UnsupportedError: it needs something that is not here.
    """
    script = Path(path)
    if function and not function.isidentifier():
        raise ModelError(f"{script}:{function}: '{function}' cannot be the name of a function; give {script}:FUNCTION")
    tree, code = compile_script(script)
    called = function or (_BUILD_FUNCTION if _BUILD_FUNCTION in _top_level_names(tree) else "")
    folder = script.parent

    def own(file: str) -> bool:
        return is_script_file(file, folder)

    with (
        new_script_state() as made,
        import_from_folder(folder),
        _script_environment(script),
        mock_tensorrt(),
        track_threads(own) as left,
    ):
        network = _ScriptRun(script, made).build_network(code, called)
        running = left()
        if running:
            raise ModelError(f"{script}: {running[0]} still runs where the script has ended; join it before")
        graph = lower_network(network, script.stem)
    apply_profiles(graph, made.profiles_of(network))
    graph.notes += [note for note in made.notes if note not in graph.notes]
    return graph


def _top_level_names(tree: ast.Module) -> set[str]:
    """The names that the script itself binds, wherever at its top level."""
    found: set[str] = set()
    for node in ast.walk(ast.Module([_without_bodies(one) for one in tree.body], [])):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def _without_bodies(node: ast.stmt) -> ast.stmt:
    """A function or class by its name alone."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return ast.copy_location(ast.ClassDef(node.name, [], [], [ast.Pass()], []), node)
    return node


class _ScriptRun:
    """One run of a script."""

    def __init__(self, path: Path, made: ScriptState) -> None:
        self.path, self.state = path, made

    def build_network(self, code: types.CodeType, called: str) -> INetworkDefinition:
        """Run the script, and the function that is called, if any; returns what it built."""
        # What is called is asked for as from another module: the script's own main part is not wanted then.
        module = types.ModuleType("__main__" if not called else self._module_name())
        module.__file__ = str(self.path)
        returned: Any = None
        target: INetworkDefinition | None = None
        with _registered_module(module):
            try:
                exec(code, module.__dict__)
                if called:
                    function = self._find_function(module, called)
                    target, arguments = self._arguments(function, called)
                    returned = function(**arguments)
            except NoEngineError as error:
                if not self.state.built_networks and not (target is not None and _is_nonempty(target)):
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
                told = f"{type(error).__name__}: {one_line(error)}{_spelling_hint(error)}"
                raise ModelError(f"{self._error_location(error)}: {told}") from None
        if isinstance(returned, INetworkDefinition):
            return returned
        return self._choose_network(called, target, _defined_functions(module))

    def _module_name(self) -> str:
        stem = self.path.stem
        return stem if stem not in sys.modules else f"{stem}_script"

    # -- the function

    def _find_function(self, module: types.ModuleType, name: str) -> Any:
        found = module.__dict__.get(name)
        if callable(found):
            return found
        own = _defined_functions(module)
        have = f"it has {', '.join(map(repr, own))}" if own else "it has no function"
        what = "has no function" if found is None else "calls something else than a function"
        raise ModelError(f"{self.path} {what} '{name}'{did_you_mean(name, own) or f'; {have}'}")

    def _arguments(self, function: Any, name: str) -> tuple[INetworkDefinition | None, dict[str, Any]]:
        """What a building function is called with: by the names of its parameters, one that is alone is the network."""
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
        given = {"network": network, "builder": builder, "config": config, "builder_config": config, "logger": logger}
        names = [p.name for p in needed]
        if len(names) == 1 and names[0] not in given:
            given = {names[0]: network}
        unknown = [one for one in names if one not in given]
        if unknown or any(p.kind is p.POSITIONAL_ONLY for p in needed):
            raise ModelError(
                f"{self.path}: {name}({', '.join(names)}) needs '{(unknown or names)[0]}', which nobody here can give:"
                f" a function that builds takes network, and builder, config and logger if it wants them"
            )
        return network, {one: given[one] for one in names}

    # -- what it built

    def _choose_network(
        self, called: str, target: INetworkDefinition | None, functions: list[str]
    ) -> INetworkDefinition:
        networks = [network for network in self.state.networks if _is_nonempty(network)]
        if target is not None and target in networks:
            return target
        if len(networks) == 1:
            return networks[0]
        if not networks:
            what = f"'{called}'" if called else "the script"
            hint = (
                "it has to add layers to the network that it is given"
                if target is not None
                else "write build(network), or let it call trt.Builder(logger).create_network() and add layers"
            )
            if functions and not called:
                hint += f"; or name one of its functions, as in {self.path}:{functions[-1]}"
            raise ModelError(f"{self.path}: {what} builds no network; {hint}")
        told = "; ".join(
            f"'{network.name}' of line {network.script_location.line}, {count_text(len(network.layers), 'layer')}"
            for network in networks
        )
        raise ModelError(
            f"{self.path} builds {len(networks)} networks: {told}; write a function for each, and give"
            f" {self.path}:FUNCTION"
        )

    # -- what went wrong

    def _check_exit_code(self, error: SystemExit) -> None:
        """A script may end itself when all is well."""
        if error.code in (None, 0):
            return
        told = f"({error.code!r})" if not isinstance(error.code, str) else f": {one_line(error)}"
        raise ModelError(f"{self._error_location(error)}: the script ended itself with sys.exit{told}") from None

    def _missing_module_error(self, error: ModuleNotFoundError) -> ModelError:
        name = error.name or str(error)
        top = name.partition(".")[0]
        told = f"{self._error_location(error)}: the script needs the module '{name}', which is not installed; "
        if top == "tensorrt":
            return UnsupportedError(f"{told}of TensorRT only the module 'tensorrt' is here, without plugins")
        if top in _ENGINE_MODULES:
            return UnsupportedError(
                f"{told}install it, or import it where the engine is used: only what builds the network is needed here"
            )
        return ModelError(f"{told}install it where loopdbg is installed, or put it beside the script")

    def _with_location(self, error: LoopdbgError) -> LoopdbgError:
        """An error of ours; those of the API tell their line already."""
        at = self._traceback_lines(error)
        if not at or any(error.what.startswith(f"{file}:") for file, _, _ in at):
            return error
        return type(error).at(self._error_location(error), error)

    def _traceback_lines(self, error: BaseException) -> list[tuple[str, int, str]]:
        """The lines of the script's own files that an error came through: file, line, function."""
        found = []
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_filename == str(self.path) or is_script_file(code.co_filename, self.path.parent):
                found.append((code.co_filename, trace.tb_lineno, code.co_name))
            trace = trace.tb_next
        return found

    def _error_location(self, error: BaseException) -> str:
        """Where in the script: its innermost line, and how it came there."""
        lines = self._traceback_lines(error)
        if not lines:
            return str(self.path)
        file, line, _ = lines[-1]
        calls = [f"{'' if one == file else f'{Path(one).name}:'}{number}" for one, number, _ in reversed(lines[:-1])]
        name = lines[-1][2]
        inside = f" in {name}" if not name.startswith("<") else ""
        called = f" (called from line {', '.join(calls[:3])}{'...' if len(calls) > 3 else ''})" if calls else ""
        return f"{file}:{line}{inside}{called}"


def _defined_functions(module: types.ModuleType) -> list[str]:
    """The functions that a script defines."""
    return [
        name
        for name, value in module.__dict__.items()
        if isinstance(value, types.FunctionType) and value.__module__ == module.__name__
    ]


def _spelling_hint(error: BaseException) -> str:
    """What may have been meant by a name that is not there."""
    if isinstance(error, AttributeError) and error.name and error.obj is not None:
        return did_you_mean(error.name, [one for one in dir(error.obj) if not one.startswith("_")])
    return ""


def _is_nonempty(network: INetworkDefinition) -> bool:
    return bool(network.layers or network.inputs)


@contextlib.contextmanager
def _registered_module(module: types.ModuleType) -> Iterator[None]:
    """The module is known by its name while it runs: dataclasses and pickles ask for it."""
    before = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module
    try:
        yield
    finally:
        if before is None:
            sys.modules.pop(module.__name__, None)
        else:
            sys.modules[module.__name__] = before


@contextlib.contextmanager
def _script_environment(script: Path) -> Iterator[None]:
    """What a script finds around it: its name as the only argument, stderr to print to."""
    arguments, folder = sys.argv, os.getcwd()
    sys.argv = [str(script)]
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        sys.argv = arguments
        if os.getcwd() != folder:
            os.chdir(folder)
