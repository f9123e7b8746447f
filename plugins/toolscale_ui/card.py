"""The card of a dataset of a run as a page: Markdown without HTML, its plots through a route of ours."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from toolscale_ui.data_folder import DataFolder
from toolscale_ui.rejects import DAG_ID
from toolscale_ui.run_file import RunFile, run_of

PLOT = re.compile(r"(?:[A-Za-z0-9_-]+/)?[A-Za-z0-9_-]+\.png")
"""Images that a card may show; all lie in `plots/`, or one folder deeper."""


class Cards:
    """The cards of all runs below a data folder. Threads may share it: it keeps nothing."""

    def __init__(self, folder: DataFolder):
        self.folder = folder

    def card(self, run: str, domain: str) -> tuple[str, str]:
        """Return the run id and the text of a card. KeyError if there is no such dataset: both names are looked up
        before they make a path."""
        run_id = self._known_run(run).run_id
        text = self.folder.read(f"{self._dataset(run, domain)}/README.md").decode(errors="replace")
        return run_id, text

    def plot(self, run: str, domain: str, name: str) -> bytes:
        """Return an image of a card. KeyError if there is no such dataset, or it may not be shown."""
        self._known_run(run)
        if not PLOT.fullmatch(name):
            raise KeyError(name)
        return self.folder.read(f"{self._dataset(run, domain)}/plots/{name}")

    def _known_run(self, folder: str) -> RunFile:
        file = self.folder.listing()["run"][f"runs/{folder}/run.json"]
        run = self.folder.parsed([file], run_of).get(file.path)
        if not isinstance(run, RunFile) or run.dag_id != DAG_ID:
            raise KeyError(folder)
        return run

    def _dataset(self, run: str, domain: str) -> str:
        listing = self.folder.listing()
        home = f"runs/{run}/{domain}" if domain else f"runs/{run}"
        file = listing["manifest" if domain else "combined"][f"{home}/dataset/manifest.json"]
        return file.path.removesuffix("/manifest.json")


def rendered_card(text: str, run: str, domain: str) -> Markup:
    """Return a card as HTML. What it says is escaped: HTML in it is text, and an image that is no plot of the dataset
    is left out."""
    markdown = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table")
    tokens = markdown.parse(_without_header(text))
    for token in tokens:
        for child in token.children or ():
            _rewrite(child, run, domain)
        if style := token.attrs.pop("style", None):  # the policy of the page allows no inline styles
            token.attrSet("class", "number" if "right" in str(style) else "")
    return Markup(markdown.renderer.render(tokens, markdown.options, {}))


def _rewrite(token: Token, run: str, domain: str) -> None:
    if token.type == "image":
        name = str(token.attrs.get("src", "")).removeprefix("plots/")
        if PLOT.fullmatch(name):
            token.attrSet("src", "plot?" + urlencode({"run": run, "domain": domain, "name": name}, safe="/"))
        else:
            token.type, token.tag, token.content, token.children = "text", "", f"[{token.content}]", None
    elif token.type == "link_open":
        token.attrSet("rel", "noopener noreferrer")


def _without_header(text: str) -> str:
    """Leave out what the Hub reads between two lines of dashes."""
    if not text.startswith("---\n"):
        return text
    _, closed, rest = text[4:].partition("\n---\n")
    return rest if closed else text
