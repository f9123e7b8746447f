"""Templates of what models and writers are told."""

from __future__ import annotations

from functools import cache

import jinja2


@cache
def prompt_template(package: str, name: str) -> jinja2.Template:
    """Return a template of the folder `prompts` of a package. A value that it lacks is an error, and nothing is
    escaped: it is read as plain text."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader(package, "prompts"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    ).get_template(name)
