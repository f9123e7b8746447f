"""Two engines that run tools: SQLite executes, DuckDB audits."""
