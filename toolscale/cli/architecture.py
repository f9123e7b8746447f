"""A picture of the package, drawn from its imports: docs/understand/architecture.svg."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import mean

WIDTH, ROW, BOX, HIGH, EDGE = 960, 62, 150, 36, 16
AROUND = "dags · plugins · training · eval · research"
"""What imports the package, and is never imported by it."""
HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"\n'
    '     font-family="Helvetica, Arial, sans-serif" font-size="15" text-anchor="middle"\n'
    '     aria-label="The folders of toolscale; each imports from those that stand under it">\n'
    '  <rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>\n'
)


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, those of its functions included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def folder_imports(package: Path) -> dict[str, set[str]]:
    """Return each folder of a package -> the folders that it imports from."""
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    found: dict[str, set[str]] = {folder: set() for folder in sorted(folders)}
    for folder, seen in found.items():
        for path in (package / folder).rglob("*.py"):
            parts = (name.split(".") for name in imported(path))
            seen.update(part[1] for part in parts if part[0] == package.name and len(part) > 1)
        seen.intersection_update(folders - {folder})
    return found


def floors_of(imports: Mapping[str, set[str]]) -> dict[str, int]:
    """Return each folder -> its floor: 1 for one that imports no other, else one above the highest that it imports."""
    floors: dict[str, int] = {}

    def floor(folder: str) -> int:
        if folder not in floors:
            floors[folder] = 1 + max((floor(other) for other in imports[folder]), default=0)
        return floors[folder]

    for folder in imports:
        floor(folder)
    return floors


def direct(imports: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The same without the imports that also lead over another folder."""

    def reached(folder: str) -> set[str]:
        return imports[folder].union(*(reached(other) for other in imports[folder]))

    return {
        folder: {other for other in seen if not any(other in reached(third) for third in seen - {other})}
        for folder, seen in imports.items()
    }


def draw(package: Path) -> str:
    """Return the picture as SVG: one row for each floor, lines to what a folder imports directly."""
    imports = folder_imports(package)
    floors, lines = floors_of(imports), direct(imports)
    files = sorted(path.stem for path in package.glob("*.py") if not path.stem.startswith("__"))
    top = max(floors.values()) + 1
    places: dict[str, tuple[float, int]] = {}
    for floor in range(1, top):
        row = [folder for folder, own in floors.items() if own == floor]
        row.sort(key=lambda folder: (mean([places[other][0] for other in lines[folder]] or [WIDTH / 2]), folder))
        step = (WIDTH - 2 * EDGE) / len(row)
        for number, folder in enumerate(row):
            places[folder] = EDGE + step * (number + 0.5), EDGE + ROW * (top - floor)
    height = EDGE + ROW * top + HIGH + EDGE
    drawn = [HEAD.format(width=WIDTH, height=height), '  <g stroke="#94a3b8" stroke-width="1.2">\n']
    for folder, seen in lines.items():
        (x, y), ends = places[folder], sorted(places[other] for other in seen)
        drawn += [f'    <path d="M{x:.0f} {y + HIGH} L{end:.0f} {low}"/>\n' for end, low in ends]
    drawn.append("  </g>\n")
    drawn += [_box(folder, *place, BOX, "#f1f5f9") for folder, place in places.items()]
    drawn.append(_box(AROUND, WIDTH / 2, EDGE, WIDTH - 2 * EDGE, "#dbeafe"))
    drawn.append(_box(", ".join(files), WIDTH / 2, EDGE + ROW * top, WIDTH - 2 * EDGE, "#fef9c3", size=10))
    return "".join([*drawn, "</svg>\n"])


def _box(text: str, x: float, y: int, width: int, fill: str, size: int = 15) -> str:
    place = f'x="{x - width / 2:.0f}" y="{y}" width="{width}" height="{HIGH}"'
    words = f'<text x="{x:.0f}" y="{y + HIGH // 2 + 5}" font-size="{size}" fill="#0f172a">{text}</text>'
    return f'  <rect {place} rx="6" fill="{fill}" stroke="#475569"/>\n  {words}\n'
