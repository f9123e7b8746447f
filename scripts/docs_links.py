"""A hook of mkdocs: links from a page to files that are no page of the site become the path of the file.

On the site there is no `training/README.md` to go to; where the pages lie in a repository, the same links lead to it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s#:]+)(#[^)]*)?\)")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Return the text of a page with such links replaced; a file that is not there stays, and mkdocs warns."""
    folder = Path(page.file.abs_src_path).parent

    def told(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(folder / link[2]))
        inside = target.is_relative_to(config.docs_dir) and not target.is_dir()
        if inside or not target.exists():
            return link[0]
        path = f"`{target.relative_to(ROOT).as_posix()}`"
        return path if target.name in link[1] else f"{link[1]} ({path})"

    return LINK.sub(told, markdown)
