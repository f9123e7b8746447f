"""The process in which DuckDB runs: a program by itself that imports nothing of this package, JSON lines on standard
input and output.

Requests: {"do": "load", ...}, {"do": "control", "sql"} for transactions, {"do": "run", "sql", "binds", "reads"} for
what tools say. Answers: {"rows"} or {"failure": "constraint" | "limit" | "refused", "why"}. DuckDB has no authorizer,
and some of its functions ignore an interrupt; so the settings below come first, and behind them stand the limits of the
process and its parent, which kills it.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import duckdb
from duckdb import Value
from duckdb.sqltypes import BIGINT

ADDRESS_SPACE: Final = 3 << 30
LARGEST: Final = 2**63 - 1
WRITES: Final = frozenset(("INSERT", "UPDATE", "DELETE"))
CHUNK: Final = 256


class RefusedError(Exception):
    """A statement of a kind that tools may not use."""


class OverflowedError(Exception):
    """A whole number beyond 64 bits."""


class TooLargeError(Exception):
    """A result beyond the limit."""


class Worker:
    """One database in memory."""

    def __init__(self, request: dict[str, Any]):
        """Load the rows, then lock the configuration for good."""
        self._cpu_seconds = int(request["cpu_seconds"])
        self._result_bytes = int(request["result_bytes"])
        limit_process(int(request["memory_bytes"]), self._cpu_seconds)
        self._connection = duckdb.connect(
            ":memory:", config={"threads": 1, "memory_limit": f"{request['memory_bytes']}B"}
        )
        run = self._connection.execute
        for text in request["ddl"]:
            run(text)
        for text, rows in request["inserts"]:
            run(text, {"rows": json.dumps(rows)})
        for setting in settings():
            run(setting)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run one request."""
        try:
            if request["do"] == "control":
                self._control(request["sql"])
                return {"rows": []}
            return {"rows": list(self._run(request["sql"], request["binds"], request["reads"]))}
        except RefusedError as error:
            return {"failure": "refused", "why": str(error)}
        except (duckdb.OutOfMemoryException, MemoryError, TooLargeError) as error:
            return {"failure": "limit", "why": str(error)}
        except duckdb.ConstraintException as error:
            return {"failure": "constraint", "why": constraint_kind(str(error))}
        except (duckdb.OutOfRangeException, OverflowedError):
            return {"failure": "constraint", "why": "overflow"}
        except duckdb.ConversionException:
            return {"failure": "constraint", "why": "type"}
        except duckdb.Error as error:
            return {"failure": "refused", "why": str(error)}

    def _control(self, text: str) -> None:
        if text == "BEGIN":
            allow_cpu(self._cpu_seconds)
        self._connection.execute(text)

    def _run(self, text: str, binds: dict[str, Any], reads: bool) -> Iterator[list[Any]]:
        statements = self._connection.extract_statements(text)
        kinds = [statement.type.name for statement in statements]
        if len(kinds) != 1 or not (kinds[0] == "SELECT" if reads else kinds[0] in WRITES):
            raise RefusedError(
                f"{', '.join(kinds) or 'nothing'} where one "
                f"{'SELECT' if reads else 'INSERT, UPDATE or DELETE'} is allowed"
            )
        # A small int would be bound as 32 bits, and `$a * $b` would overflow.
        typed = {name: Value(value, BIGINT) if isinstance(value, int) else value for name, value in binds.items()}
        self._connection.execute(statements[0], typed)
        if reads:
            yield from self._fetch()

    def _fetch(self) -> Iterator[list[Any]]:
        size = 0
        while chunk := self._connection.fetchmany(CHUNK):
            for row in chunk:
                values = [canonical_value(value) for value in row]
                size += sum(len(value) if isinstance(value, str) else 8 for value in values)
                yield values
            if size > self._result_bytes:
                raise TooLargeError(f"a result is larger than {self._result_bytes} bytes")


def settings() -> list[str]:
    """Return what is switched off, in the order that works: the lock last."""
    return [
        "SET python_enable_replacements = false",
        "SET autoinstall_known_extensions = false",
        "SET autoload_known_extensions = false",
        "SET allow_community_extensions = false",
        "SET max_temp_directory_size = '0KB'",
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ]


def limit_process(memory_bytes: int, cpu_seconds: int) -> None:
    """Take from this process what a statement never needs: memory, files, core dumps, endless time."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes + ADDRESS_SPACE, memory_bytes + ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    allow_cpu(cpu_seconds)


def allow_cpu(seconds: int) -> None:
    """Let the process use `seconds` more of processor time."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(usage.ru_utime + usage.ru_stime) + 1 + seconds, hard))


def canonical_value(value: Any) -> Any:
    """Return `value` as SQLite would give it: True as 1, HUGEINT and whole decimals as int."""
    if isinstance(value, Decimal) and value == value.to_integral_value():
        value = int(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) and not -LARGEST - 1 <= value <= LARGEST:
        raise OverflowedError
    if value is None or isinstance(value, int | str):
        return value
    raise RefusedError(f"a value of type {type(value).__name__} in a result; only text and whole numbers are allowed")


def constraint_kind(message: str) -> str:
    """Return the kind of constraint in the words of the SQLite sandbox."""
    if "NOT NULL constraint" in message:
        return "not null"
    return "check" if "CHECK constraint" in message else "unique"


def main() -> None:
    """Answer requests until standard input ends."""
    worker: Worker | None = None
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "load":
            try:
                worker = Worker(request)
                reply: dict[str, Any] = {"rows": []}
            except duckdb.Error as error:
                reply = {"failure": "refused", "why": str(error)}
        elif worker is None:
            reply = {"failure": "refused", "why": "nothing is loaded"}
        else:
            reply = worker.answer(request)
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
