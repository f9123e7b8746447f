"""From text to one syntax tree: exactly one statement, no comments, no quoted names, `:let.column` flattened."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.sqlite import SQLite
from sqlglot.errors import SqlglotError
from sqlglot.parsers.sqlite import SQLiteParser

from toolscale.sql.report import Report, shorten

LONGEST_TEXT = 20_000
DEEPEST_NESTING = 40

_TOKENS = re.compile(
    r"""(?P<string>'(?:[^']|'')*')
      | (?P<comment>--|/\*|\*/)
      | (?P<end>;)
      | (?P<bind>:[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?)
      | (?P<paren>[()])
      | (?P<odd>['":`\[\]\\@$?\#{}]|[^\x20-\x7e\n\r\t])""",
    re.VERBOSE,
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_FIRST_WORD = re.compile(r"\s*\(?\s*([A-Za-z]+)")


class PortableSql(SQLite):
    """SQLite's grammar, in which a function keeps the name that the author gave it: nothing is translated behind our
    back."""

    class Parser(SQLiteParser):
        """Knows no function but CAST."""

        FUNCTIONS: ClassVar[Any] = {}
        FUNCTION_PARSERS: ClassVar[Any] = {"CAST": SQLiteParser.FUNCTION_PARSERS["CAST"]}


_DIALECT = PortableSql()


def parse_statement(text: str, report: Report, *, is_write: bool = False) -> exp.Expr | None:
    """Parse one SELECT (or UNION ALL of them), or one statement that changes rows; or report why not and return
    None."""
    flat = _flatten(text, report)
    if flat is None:
        return None
    wanted, verbs, roots = _WRITES if is_write else _READS
    first = _FIRST_WORD.match(flat)
    word = first[1].upper() if first else ""
    remedy = f"write {wanted}"
    if word == "REPLACE":
        remedy = "REPLACE INTO deletes rows unseen; write an UPDATE, or a DELETE and an INSERT"
    tree = _parse(flat, text, report) if word in verbs else None
    if word not in verbs or (tree is not None and not isinstance(tree, roots)):
        report.add(f"{shorten(text)!r} is not {wanted}", remedy)
        return None
    return tree


_READS = ("a SELECT", ("SELECT", "WITH"), (exp.Select, exp.SetOperation))
_WRITES = (
    "an INSERT, an UPDATE or a DELETE",
    ("INSERT", "UPDATE", "DELETE", "WITH"),
    (exp.Insert, exp.Update, exp.Delete),
)


def _parse(flat: str, text: str, report: Report) -> exp.Expr | None:
    try:
        trees = sqlglot.parse(flat, dialect=_DIALECT)
    except SqlglotError as error:
        details = getattr(error, "errors", None) or [{}]
        near = details[0].get("highlight") or ""
        problem = details[0].get("description") or str(error).splitlines()[0]
        problem = "something is missing" if "Required keyword" in problem else problem.partition(" but got <")[0]
        shown = f"{shorten(text)!r} cannot be parsed" + (f" near {near!r}" if near else "")
        report.add(f"{shown}: {problem.rstrip('.')}", "write SQL of the portable subset")
        return None
    except RecursionError:
        report.add(f"{shorten(text)!r} is nested too deeply", "split it into several steps")
        return None
    if len(trees) != 1 or trees[0] is None:
        report.add(f"{shorten(text)!r} is not exactly one statement", "write one statement")
        return None
    return trees[0]


def _flatten(text: str, report: Report) -> str | None:
    """Return the text with `:let.column` as `:let__column`, or None after reporting what must not stand in it."""
    before = len(report.issues)
    if not text.strip():
        report.add("the SQL is empty", "write one statement")
    if len(text) > LONGEST_TEXT:
        report.add(f"the SQL has {len(text)} characters", f"keep it below {LONGEST_TEXT}")
    parts: list[str] = []
    seen: set[str | None] = set()
    start = depth = deepest = 0
    for token in _TOKENS.finditer(text):
        parts.append(text[start : token.start()])
        start = token.end()
        found = token[0]
        if token.lastgroup == "bind":
            found = found.replace(".", "__")
        elif token.lastgroup == "paren":
            depth += 1 if found == "(" else -1
            deepest = max(deepest, depth)
        elif token.lastgroup not in seen:
            _judge(token, text, report)
            if token.lastgroup != "string":
                seen.add(token.lastgroup)  # one word about each kind of mistake
        parts.append(found)
    if deepest > DEEPEST_NESTING:
        report.add(f"parentheses are nested {deepest} deep", f"keep them below {DEEPEST_NESTING}")
    return None if len(report.issues) > before else "".join([*parts, text[start:]])


def _judge(token: re.Match[str], text: str, report: Report) -> None:
    found = token[0]
    if token.lastgroup == "string":
        if _CONTROL.search(found):
            report.add(f"{shorten(found)!r} holds a control character", "write printable text")
    elif token.lastgroup == "comment":
        report.add(f"a comment {found!r} stands in {shorten(text)!r}", "put comments into the YAML file (# ...)")
    elif token.lastgroup == "end":
        rest = text[token.end() :].strip()
        if rest:
            report.add(
                f"a second statement {shorten(rest)!r} follows ';'",
                "write one statement; further ones are steps of their own",
            )
        else:
            report.add(f"{shorten(text)!r} ends in ';'", "leave the ';' out")
    elif found in '"`[]':
        report.add(
            f"{found!r} quotes a name in {shorten(text)!r}", "names are plain: [a-z_][a-z0-9_]*; texts stand in '...'"
        )
    elif found == "'":
        report.add(
            f"a text in {shorten(text)!r} has no closing quote", "close it with ' (and write '' for a quote inside)"
        )
    else:
        report.add(f"{found!r} must not stand in {shorten(text)!r}", "parameters are written :name, lets :name.column")
