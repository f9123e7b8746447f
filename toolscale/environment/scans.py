"""Which tables a statement may scan."""

from __future__ import annotations

from toolscale.environment.population import grows
from toolscale.records import PopulationSpec, SchemaSpec
from toolscale.records.population import Count, CountBy, TableRows

SMALL = 50
"""A table with fewer rows than this at every scale is small: a statement may read all of it."""


def small_tables(schema: SchemaSpec, population: PopulationSpec) -> frozenset[str]:
    """Return the tables that stay small at every scale, by the largest number of rows that the population can make."""
    most: dict[str, int] = {}
    for batch in population.tables:
        most[batch.table] = most.get(batch.table, 0) + _most(batch, most)
    for plant in population.plant:
        if plant.copy_:
            most[plant.copy_] = SMALL
    return frozenset(name for name in schema.tables if most.get(name, 0) < SMALL and name in most)


def _most(batch: TableRows, most: dict[str, int]) -> int:
    if grows(batch):
        return SMALL
    each = (
        max(map(_largest, batch.count.cases.values()), default=0)
        if isinstance(batch.count, CountBy)
        else _largest(batch.count)
    )
    return each if batch.per is None else min(each * most.get(batch.per, SMALL), SMALL)


def _largest(count: Count) -> int:
    return count if isinstance(count, int) else count[1]
