"""Open the basic tools that settings name, and close them all again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from toolscale.basic_tools.base import BasicTool
from toolscale.basic_tools.interpreter import PythonTool
from toolscale.basic_tools.local_search import LocalSearch
from toolscale.basic_tools.settings import BasicToolSettings
from toolscale.basic_tools.web_search import WebSearch


@contextmanager
def open_basic_tools(settings: BasicToolSettings | None = None) -> Iterator[dict[str, BasicTool]]:
    """Give the tools by name, in the order python, local_search, web_search. Raises what their own openings raise.

    The search on the web is left out if no key is set: the same settings serve machines with and without one.
    """
    settings = settings or BasicToolSettings()
    with ExitStack() as stack:
        tools: dict[str, BasicTool] = {}
        if settings.python is not None:
            tools["python"] = stack.enter_context(PythonTool(settings.python))
        if settings.local_search is not None:
            tools["local_search"] = stack.enter_context(LocalSearch(settings.local_search))
        if settings.web_search is not None and os.environ.get(settings.web_search.api_key_env, "").strip():
            tools["web_search"] = WebSearch(settings.web_search)
        yield tools
