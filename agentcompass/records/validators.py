"""Bounds of numbers in records and settings, told the same way wherever they are checked."""

import math
from typing import Any

import attrs


def positive(_instance: object, attribute: "attrs.Attribute[Any]", value: float | None) -> None:
    """Refuse numbers that are not finite and above 0; types are the converter's to check."""
    if isinstance(value, int | float) and not 0 < value < math.inf:
        raise ValueError(f"{attribute.name} must be a finite number above 0, not {value:g}")


def not_negative(_instance: object, attribute: "attrs.Attribute[Any]", value: float) -> None:
    """Refuse numbers that are not finite or below 0; types are the converter's to check."""
    if isinstance(value, int | float) and not 0 <= value < math.inf:
        raise ValueError(f"{attribute.name} must be a finite number of at least 0, not {value:g}")
