"""`python -m toolscale`."""

from __future__ import annotations

from toolscale.cli import run

if __name__ == "__main__":  # worker processes import this module too
    run()
