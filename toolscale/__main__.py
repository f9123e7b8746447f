"""`python -m toolscale`."""

from __future__ import annotations

import sys

from toolscale.cli import main

if __name__ == "__main__":  # worker processes import this module too
    sys.exit(main())
