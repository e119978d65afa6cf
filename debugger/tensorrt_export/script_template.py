"""The template around the function that builds the network."""

from __future__ import annotations

from .script_code import ScriptCode, docstring_text

_HELPERS = '''\
def constant(network, array, name):
    """A constant layer's output."""
    array = np.ascontiguousarray(array).reshape(np.shape(array))
    return named(network.add_constant(array.shape, trt.Weights(array)), name)


def named(layer, name, output=0):
    """An output of a layer, both with a name."""
    layer.name = name
    tensor = layer.get_output(output)
    tensor.name = name
    return tensor
'''

_MAIN = """\
if __name__ == "__main__":
    logger = trt.Logger()
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    build(network)
    engine = builder.build_serialized_network(network, builder.create_builder_config())
    with open(__file__.removesuffix(".py") + ".engine", "wb") as file:
        file.write(engine)
"""


def script_text(name: str, code: ScriptCode) -> str:
    """Return a script that builds the network of the model called ``name``."""
    lines = [
        f'"""{docstring_text(name)} as a TensorRT network (TensorRT 10 and later): `build(network)` fills one."""',
        "",
        *(["from pathlib import Path", ""] if code.weights else []),
        "import numpy as np",
        "import tensorrt as trt",
        *(
            ["", 'with np.load(Path(__file__).with_suffix(".npz")) as file:', "    WEIGHTS = dict(file)"]
            if code.weights
            else []
        ),
        "",
        "",
        *_HELPERS.splitlines(),
        "",
        "",
        "def build(network):",
        *code.lines,
        "",
        "",
        *_MAIN.splitlines(),
    ]
    return "\n".join(lines) + "\n"
