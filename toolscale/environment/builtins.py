"""Tools and tables that every domain has without declaring them: the hand-over to a person, the calculator, and the
form of an answer."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, DecimalException, localcontext

from toolscale.records import ColumnSpec, Exec, NewId, Return, SchemaSpec, TableSpec, ToolSpec, WorldSpec

HANDOVERS = "handovers"
TRANSFER = "transfer_to_human"
CALCULATE = "calculate"
FINAL_ANSWER = "final_answer"
"""Takes the answer of a task that is answered by a form. Its parameters are the task's own (tasks/form.py)."""
BUILT_IN = (TRANSFER, CALCULATE, FINAL_ANSWER)

_OPERATORS: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_LENGTH, _DIGITS, _DECIMALS = 200, 30, 6


def with_handovers(schema: SchemaSpec, world: WorldSpec) -> SchemaSpec:
    """Return the schema with the table of hand-overs, if the domain names reasons for them."""
    if not world.transfer_reasons:
        return schema
    columns = {
        "handover_id": ColumnSpec(type="text", pk=True),
        "reason": ColumnSpec(type="text", values=tuple(world.transfer_reasons)),
        "created_at": ColumnSpec(type="datetime"),
    }
    return SchemaSpec(
        tables={
            **schema.tables,
            HANDOVERS: TableSpec(description="Conversations handed over to a person.", columns=columns),
        }
    )


def transfer_tool(world: WorldSpec) -> ToolSpec | None:
    """Return the tool that hands the conversation over to a person, or None if the domain names no reasons."""
    if not world.transfer_reasons:
        return None
    meanings = " ".join(f"{code}: {meaning}" for code, meaning in world.transfer_reasons.items())
    reason = {"type": "string", "enum": list(world.transfer_reasons), "description": meanings}
    return ToolSpec(
        name=TRANSFER,
        description="Hand the conversation over to a person, with the reason. Only where the policy says so.",
        parameters={"reason": reason},
        steps=(
            NewId.model_validate({"new_id": "handover_id", "prefix": "ho_", "from": ["reason"]}),
            Exec(
                exec=f"INSERT INTO {HANDOVERS} (handover_id, reason, created_at) VALUES (:handover_id, :reason, :now)"
            ),
        ),
        returns={
            "handover": Return(
                row=f"SELECT handover_id, reason, created_at FROM {HANDOVERS} WHERE handover_id = :handover_id"
            )
        },
    )


def calculate_tool() -> ToolSpec:
    """Return the spec of the calculator. It is run by `calculate`, never by an engine."""
    return ToolSpec(
        name=CALCULATE,
        description="Work out an arithmetic expression with + - * / and brackets, such as (1240.50 - 85) / 3.",
        parameters={
            "expression": {"type": "string", "maxLength": _LENGTH, "description": "Numbers, + - * / and brackets."}
        },
        returns={"result": Return(value="SELECT ''")},
    )


def calculate(expression: str) -> tuple[str | None, str | None]:
    """Return (the result as text, None) or (None, what is wrong with the expression).

    Decimal arithmetic, so that 0.1 + 0.2 is 0.3; at most six decimals, rounded half up. The text is parsed, never
    evaluated.
    """
    if len(expression) > _LENGTH:
        return None, f"The expression is longer than {_LENGTH} characters"
    try:
        tree = ast.parse(expression.strip().replace(",", "").replace("$", ""), mode="eval")
        with localcontext() as context:
            context.prec = _DIGITS
            value = _value(tree.body)
            if value.adjusted() > _DIGITS - _DECIMALS - 2:
                return None, "The result is too large"
            rounded = value.quantize(Decimal(1).scaleb(-_DECIMALS), rounding=ROUND_HALF_UP)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None, f"Cannot read {expression!r}: use numbers, + - * / and brackets"
    except DecimalException:
        return None, f"Cannot work out {expression!r}: it divides by zero or is too large"
    text = format(rounded, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return ("0" if text == "-0" else text), None


def _value(node: ast.expr) -> Decimal:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return Decimal(repr(node.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        value = _value(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    raise ValueError(ast.dump(node))
