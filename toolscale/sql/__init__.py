"""The SQL of the tools: a portable subset, compiled for SQLite and DuckDB, with all that can be known before it
runs."""
