"""The command language, for scripts, the command line and the screen."""

# Each registers its commands; the help lists them in this order.
from . import moving as moving  # isort: skip
from . import commands as commands
from . import leaving as leaving
from . import plot as plot
from . import repro as repro
