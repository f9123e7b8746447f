"""What pyproject.toml cannot say: the wheel holds files that a checkout has beside the package."""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
SHIPPED = ("docs/domains/*.md", "environments/README.md", "environments/*/*.md", "environments/*/*.yaml",
           "environments/*/*.json", "environments/*/*.jsonl")  # fmt: skip
"""Nothing else that somebody left in these folders."""


class BuildWithEnvironments(build_py):
    """Puts the environments, and the page for their authors, into `toolscale/shipped`. An editable install reads those
    of the checkout."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for source, target in self._shipped():
            self.mkpath(str(target.parent))
            self.copy_file(str(source), str(target))

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        shipped = [] if self.editable_mode else [str(target) for _, target in self._shipped()]
        return [*super().get_outputs(include_bytecode), *shipped]

    def _shipped(self) -> list[tuple[Path, Path]]:
        found = sorted(path for pattern in SHIPPED for path in HERE.glob(pattern))
        return [(path, Path(self.build_lib, "toolscale", "shipped", path.relative_to(HERE))) for path in found]


setup(cmdclass={"build_py": BuildWithEnvironments})
