"""The command language, for scripts, the command line and the screen."""

from . import commands as commands  # registers them
from . import leaving as leaving
from . import plot as plot
from . import repro as repro
