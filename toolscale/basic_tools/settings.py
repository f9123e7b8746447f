"""Which basic tools are offered, where they look, what they cost and where they stop."""

from __future__ import annotations

from pydantic import Field

from toolscale.records.base import Record


class PythonSettings(Record):
    """The interpreter. A charge is fixed by default: training must repeat bit for bit, and a clock does not."""

    price_per_call: float | None = Field(default=0.0000083, ge=0)
    """US dollars for one call; none: `price_per_second` for each second of processor time, as measured."""
    latency_per_call: float | None = Field(default=1.0, ge=0)
    """Seconds that one call counts as; none: the seconds that it took."""
    price_per_second: float = Field(default=0.0000083, ge=0)
    """US dollars, as in the paper's table of prices."""
    cpu_s: int = Field(default=5, ge=1)
    """Processor time, whole seconds."""
    wall_s: float = Field(default=60.0, gt=0)
    """Seconds until a call is stopped, even if its code sleeps. Long enough that a busy machine changes no result:
    sixteen calls that use up `cpu_s` take 40 s on two cores."""
    memory_bytes: int = Field(default=512 << 20, ge=128 << 20)
    """Bytes of address space."""
    stdout_bytes: int = Field(default=8_000, ge=1)
    """Bytes of the output that are given back; the rest is cut, and a note says so."""
    output_bytes: int = Field(default=1 << 20, ge=1)
    """Code that prints more than this is stopped."""
    file_bytes: int = Field(default=8 << 20, ge=0)
    """Bytes of one file."""
    scratch_bytes: int = Field(default=32 << 20, ge=1 << 16)
    """Bytes of all files together."""
    scratch_files: int = Field(default=256, ge=16)
    open_files: int = Field(default=64, ge=16)
    code_chars: int = Field(default=100_000, ge=1)
    executable: str | None = None
    """A Python 3.11 or later whose standard library the code gets; none: the one that runs this."""
    parallel: int = Field(default=16, ge=1)
    """Calls that run at once; further ones wait."""
    remember: int = Field(default=0, ge=0)
    """Results that are kept. The same code then gets the same result at the same charge, and is not run again: for
    training, where the samples of a task run the same code."""


class LocalSearchSettings(Record):
    """Full-text search over a folder of passages."""

    corpus: str
    """A folder with `*.jsonl` files (id, title, text), `*.md` and `*.txt`."""
    cache: str | None = None
    """A folder for the index, so that the next process need not build it; none: it is kept in memory."""
    results: int = Field(default=5, ge=1, le=50)
    excerpt_chars: int = Field(default=600, ge=40)
    query_chars: int = Field(default=1_000, ge=1)
    price_per_call: float = Field(default=0.000004, ge=0)
    """US dollars: twenty tokens at 0.2 dollars a million, the rate at which the paper charges a query."""
    latency_per_call: float | None = Field(default=0.1, ge=0)
    """Seconds that one call counts as; none: the seconds that it took."""


class WebSearchSettings(Record):
    """A search engine on the web with the interface of Tavily: POST {base_url}/search."""

    base_url: str = "https://api.tavily.com"
    api_key_env: str = "TAVILY_API_KEY"
    """The environment variable that holds the key. Without a key the tool is not offered."""
    results: int = Field(default=5, ge=1, le=20)
    excerpt_chars: int = Field(default=600, ge=40)
    query_chars: int = Field(default=400, ge=1)
    price_per_call: float = Field(default=0.01, ge=0)
    """US dollars for a search that was answered."""
    latency_per_call: float | None = Field(default=None, ge=0)
    """Seconds that one call counts as; none: the seconds that it took."""
    timeout_s: float = Field(default=20.0, gt=0)
    """Seconds for one attempt."""
    deadline_s: float = Field(default=60.0, gt=0)
    """Seconds for all attempts together."""
    attempts: int = Field(default=4, ge=1)
    body_bytes: int = Field(default=2 << 20, ge=1)
    """A search whose answer is longer fails."""


class BasicToolSettings(Record):
    """The settings of each tool. A tool whose settings are None is not offered."""

    python: PythonSettings | None = PythonSettings()
    local_search: LocalSearchSettings | None = None
    web_search: WebSearchSettings | None = None
