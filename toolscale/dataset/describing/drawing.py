"""The settings that everything is drawn with, wherever it is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def own_settings() -> Iterator[None]:
    """Draw with the settings that matplotlib comes with. Otherwise a `matplotlibrc` in the working folder or in the
    home would change what is drawn."""
    import matplotlib as mpl  # loads for half a second: not for those who draw nothing

    with mpl.rc_context({name: value for name, value in mpl.rcParamsDefault.items() if name != "backend"}):
        yield
