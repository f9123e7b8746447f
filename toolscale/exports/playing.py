"""What must be installed beside a host, so that tasks are played there."""

from __future__ import annotations

LIBRARIES = (
    "duckdb", "faker", "google-re2", "httpx2", "jinja2", "jsonschema", "numpy", "openai", "pyarrow", "pydantic",
    "pyyaml", "referencing", "sqlalchemy", "sqlglot", "tenacity", "universal-pathlib",
)  # fmt: skip
"""What `toolscale.session` needs. The package itself pins more, and other versions than hosts allow, so it is installed
there without what it depends on."""
