"""The card of a dataset as a page: Markdown without HTML, its plots through a route of ours."""

from __future__ import annotations

from urllib.parse import urlencode

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from toolscale_ui.datasets import PLOT


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
