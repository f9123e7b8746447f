"""What is wrong with the arguments of a call, by the JSON Schema of the tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsonschema import FormatChecker, ValidationError

from toolscale.environment.moments import is_date, is_datetime, is_time
from toolscale.records import ToolSpec
from toolscale.validation import Validator

_formats = FormatChecker(formats=())
_formats.checks("date")(lambda value: not isinstance(value, str) or is_date(value))
_formats.checks("date-time")(lambda value: not isinstance(value, str) or is_datetime(value))
_formats.checks("time")(lambda value: not isinstance(value, str) or is_time(value))


class ArgumentCheck:
    """The validator of one tool."""

    def __init__(self, tool: ToolSpec):
        self._validator = Validator(tool.json_schema(), format_checker=_formats)

    def fault(self, arguments: Mapping[str, Any]) -> str | None:
        """Return the first thing that is wrong, by its place, or None."""
        faults = sorted(
            (_place(error.absolute_path), _message(error)) for error in self._validator.iter_errors(arguments)
        )
        if not faults:
            return None
        place, message = faults[0]
        return f"{place}: {message}" if place else message


def _message(error: ValidationError) -> str:
    """Say what is wrong with an argument. JSON Schema knows other times: a time of day here is `HH:MM`."""
    is_time_of_day = error.validator == "format" and error.validator_value == "time"
    return f"{error.message}; write HH:MM, from 00:00 to 23:59" if is_time_of_day else str(error.message)


def _place(path: Any) -> str:
    return ".".join(str(part) for part in path)
