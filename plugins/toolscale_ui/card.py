"""The card of a dataset of a run as a page: Markdown without HTML and without images."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from toolscale_ui.data_folder import DataFolder
from toolscale_ui.rejects import DAG_ID
from toolscale_ui.run_file import RunFile, run_of


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


def rendered_card(text: str) -> Markup:
    """Return a card as HTML. What it says is escaped: HTML in it is text, and of an image its words are left."""
    markdown = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table")
    tokens = markdown.parse(_without_header(text))
    for token in tokens:
        for child in token.children or ():
            _rewrite(child)
        if style := token.attrs.pop("style", None):  # the policy of the page allows no inline styles
            token.attrSet("class", "number" if "right" in str(style) else "")
    return Markup(markdown.renderer.render(tokens, markdown.options, {}))


def _rewrite(token: Token) -> None:
    if token.type == "image":
        token.type, token.tag, token.content, token.children = "text", "", f"[{token.content}]", None
    elif token.type == "link_open":
        token.attrSet("rel", "noopener noreferrer")


def _without_header(text: str) -> str:
    """Leave out what the Hub reads between two lines of dashes."""
    if not text.startswith("---\n"):
        return text
    _, closed, rest = text[4:].partition("\n---\n")
    return rest if closed else text
