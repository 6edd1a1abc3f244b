"""Bounds of numbers in records and settings, told the same way wherever they are checked."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import attrs

C = TypeVar("C", bound=Callable[..., None])

RULE = "json_schema_rule"


def said_as(**rule: Any) -> Callable[[C], C]:
    """Tell with which keywords of JSON Schema (2020-12) a validator can be said, as far as that
    goes; `config schema` has them from here."""

    def mark(check: C) -> C:
        setattr(check, RULE, rule)
        return check

    return mark


@said_as(exclusiveMinimum=0)
def positive(_instance: object, attribute: "attrs.Attribute[Any]", value: float | None) -> None:
    """Refuse numbers that are not finite and above 0; types are the converter's to check."""
    if isinstance(value, int | float) and not 0 < value < math.inf:
        raise ValueError(f"{attribute.name} must be a finite number above 0, not {value:g}")


@said_as(minimum=0)
def not_negative(_instance: object, attribute: "attrs.Attribute[Any]", value: float) -> None:
    """Refuse numbers that are not finite or below 0; types are the converter's to check."""
    if isinstance(value, int | float) and not 0 <= value < math.inf:
        raise ValueError(f"{attribute.name} must be a finite number of at least 0, not {value:g}")
