"""Words of no trade, by what they do in a request. The lists, and what each is, stand in `vocabulary.yaml`."""

from __future__ import annotations

from importlib.resources import files

import yaml

_LISTS = yaml.safe_load(files("toolscale.verify.wording").joinpath("vocabulary.yaml").read_text(encoding="utf-8"))


def _words(name: str) -> frozenset[str]:
    return frozenset(_LISTS[name].split())


PLAIN = _words("plain")
CAREFUL = _words("careful")
TELLING = _words("telling")
STARTERS = _words("starters")
GOING_ON = _words("going_on")
WISHING = _words("wishing")
ACTS = _words("acts")
WIDENING = _words("widening")
JOINING = _words("joining")
NEGATIONS = _words("negations")
UP = _words("up")
DOWN = _words("down")
FORBIDDEN = _words("forbidden")
FILLING = _words("filling")
HARMLESS = _words("harmless")
BETWEEN = _words("between")
DOING = _words("doing")
LACKING = _words("lacking")
