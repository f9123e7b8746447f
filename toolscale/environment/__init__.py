"""A domain folder becomes a world that can be reset and called."""

from toolscale.environment.admission import admit
from toolscale.environment.admission_file import ensure_admitted, read_admission, write_admission
from toolscale.environment.environment import Environment, load_environment, populate
from toolscale.environment.population import Rows
from toolscale.environment.prompt import system_message, with_dialogue
from toolscale.environment.registry import discover
from toolscale.environment.world import Toolbox, World

__all__ = [
    "Environment",
    "Rows",
    "Toolbox",
    "World",
    "admit",
    "discover",
    "ensure_admitted",
    "load_environment",
    "populate",
    "read_admission",
    "system_message",
    "with_dialogue",
    "write_admission",
]
