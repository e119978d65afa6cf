"""The command language of scripts, the command line and the screen."""

# Each module registers its commands; the help lists them in this order.
from . import step_commands as step_commands  # isort: skip
from . import commands as commands
from . import coverage_command as coverage_command
from . import export_commands as export_commands
from . import plot_command as plot_command
from . import profile_command as profile_command
from . import repro_command as repro_command
