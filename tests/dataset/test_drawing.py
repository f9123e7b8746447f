"""What is drawn depends on what is shown, and on no settings of whoever draws it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from toolscale.dataset.describing.charts import draw_bars
from toolscale.dataset.describing.reading import read_dataset

DRAW = """
import sys
from pathlib import Path
from toolscale.dataset.describing.charts import draw_bars
from toolscale.dataset.describing.reading import read_dataset
figures = read_dataset(Path(sys.argv[1])).figures
sys.stdout.buffer.write(draw_bars(figures.tools).encode())
"""
SETTINGS = "axes.facecolor: red\nfont.family: monospace\nsvg.fonttype: path\nlines.linewidth: 9\nsavefig.dpi: 30\n"


def test_a_matplotlibrc_in_the_working_folder_changes_nothing(mock_dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text(SETTINGS)
    command = [sys.executable, "-c", DRAW, str(mock_dataset)]
    figures = read_dataset(mock_dataset).figures
    drawn = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout
    assert drawn == draw_bars(figures.tools).encode()
