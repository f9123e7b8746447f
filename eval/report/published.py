"""What others published. Never mixed with what was measured here: other models, other judges, other dates."""

from __future__ import annotations

from dataclasses import dataclass

SOURCE = "ToolOrchestra, arXiv 2511.21689, table 1: HLE (text), FRAMES, tau2; cents and minutes over HLE and FRAMES"
NOTE = (
    "They cannot be computed again: the code that made the costs was not released, and there is one sample each, "
    "without an interval."
)


@dataclass(frozen=True)
class Published:
    """One row of the paper's table. None: it has no figure there."""

    tools: str
    model: str
    hle: float
    frames: float
    tau2: float | None
    cents: float
    minutes: float


ROWS = (
    Published("none", "Qwen3-8B", 3.2, 24.2, None, 0.2, 0.6),
    Published("none", "GPT-5", 23.4, 66.3, None, 6.2, 4.1),
    Published("none", "Claude Opus 4.1", 11.7, 58.2, None, 27.4, 8.2),
    Published("basic", "Qwen3-8B", 4.7, 26.5, 40.7, 1.3, 2.2),
    Published("basic", "Qwen3-235B", 14.0, 39.5, 52.9, 12.3, 10.2),
    Published("basic", "GPT-5", 35.1, 74.0, 77.7, 30.2, 19.8),
    Published("basic", "Claude Opus 4.1", 19.8, 63.5, 46.0, 76.2, 32.5),
    Published("all", "Qwen3-8B, untrained", 30.6, 68.9, 72.3, 27.6, 18.3),
    Published("all", "Qwen3-235B", 32.8, 74.2, 75.6, 29.7, 21.2),
    Published("all", "GPT-5", 21.2, 57.5, 62.3, 17.8, 13.6),
    Published("all", "Claude Opus 4.1", 34.6, 72.8, 76.8, 52.5, 25.6),
    Published("all", "Orchestrator-8B", 37.1, 76.3, 80.2, 9.2, 8.2),
)  # fmt: skip
