"""Evolution: an intent made harder on its structure, with words of the domain and none of its own.

An evolution is a line, `obscure source:richest`, `compose freeze_card`; a chain of them turns an intent into another
intent, which is compiled, recorded and judged like any other. Nothing is carried over from the intent that it came
from.
"""

from toolscale.tasks.evolution.chains import draw_chain, first_lines, is_quiet
from toolscale.tasks.evolution.evolve import OPERATORS, evolve
from toolscale.tasks.evolution.inapplicable import Inapplicable

__all__ = ["OPERATORS", "Inapplicable", "draw_chain", "evolve", "first_lines", "is_quiet"]
