"""What a page of rejects shows, as it stands in its URL: bookmarked and shared as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

SORTS = ("run", "candidate", "intent", "gate", "shard")
"""The columns that a table can be sorted by; anything else in a URL is the default."""

FILTERS = ("domain", "gate", "intent", "evolution", "run_id")
"""What a person can choose."""

PAGE_ROWS = 50
"""Rows of one page."""

MOST_PAGES = 1_000_000


@dataclass(frozen=True)
class Query:
    """One page of one selection. `dag_id`, `task_id` and `map_index` are there on the tabs of Airflow: they bind a page
    to a run or to a task."""

    dag_id: str = ""
    run_id: str = ""
    task_id: str = ""
    map_index: int | None = None
    domain: str = ""
    gate: str = ""
    intent: str = ""
    evolution: str = ""
    sort: str = "run"
    order: str = "desc"
    page: int = 1

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> Query:
        """Read a query string; what is not understood is left at its default.

        Airflow leaves `{MAP_INDEX}` as it is where a task is not mapped: then there is no index.
        """
        texts = {name: parameters.get(name, "") for name in ("dag_id", "task_id", *FILTERS)}
        index = parameters.get("map_index", "")
        sort = parameters.get("sort", "")
        page = parameters.get("page", "")
        return cls(
            **texts,
            map_index=int(index) if index.isdecimal() and len(index) < 10 else None,
            sort=sort if sort in SORTS else "run",
            order="asc" if parameters.get("order") == "asc" else "desc",
            page=min(max(int(page), 1), MOST_PAGES) if page.isdecimal() and len(page) < 10 else 1,
        )

    @property
    def bound(self) -> bool:
        """Whether the page is a tab of a run or of a task."""
        return bool(self.dag_id)

    @property
    def filtered(self) -> bool:
        """Whether a person narrowed the selection."""
        return any(self.chosen.values())

    @property
    def chosen(self) -> dict[str, str]:
        """The filters that a person can change here, with their values: on a tab the run is given."""
        return {name: getattr(self, name) for name in FILTERS if not (self.bound and name == "run_id")}

    def with_(self, **changes: Any) -> Query:
        """Return the query with some parts changed, on its first page unless a page is named."""
        return replace(self, **{"page": 1, **changes})

    def cleared(self) -> Query:
        """Return the query without what a person chose."""
        return self.with_(**dict.fromkeys(self.chosen, ""))

    def everywhere(self) -> Query:
        """Return the same selection for the page in the navigation, which any run can be chosen on."""
        return replace(self, dag_id="")

    def sorted_by(self, column: str) -> Query:
        """Return the query that a click on a column's header leads to: ascending first, then the other way round."""
        return self.with_(sort=column, order="desc" if self.sort == column and self.order == "asc" else "asc")

    def text(self, **more: Any) -> str:
        """Return the query string: only what differs from the default, then `more`."""
        default = asdict(Query())
        values = {name: value for name, value in asdict(self).items() if value != default[name]}
        return urlencode(values | more, quote_via=quote)
