"""The text of reward.json or reward.txt as named numbers, or the reason why it is none. Pure."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentcompass.errors import EvaluationFailed

JSON_NAME = "reward.json"
TEXT_NAME = "reward.txt"
MAIN_KEY = "reward"

_SPACE = " \t\r\n"
# float() would take 1_0 for 10, and digits of other scripts; nan and inf are refused by name
_NUMBER = re.compile(
    r"[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|nan|inf(?:inity)?)",
    re.ASCII | re.IGNORECASE,
)


class RewardInvalid(EvaluationFailed):
    """A verifier wrote something that is no reward; the task has no verdict, which is not 0."""

    code = "reward_invalid"


def rewards_from_json(data: bytes) -> dict[str, float]:
    """A flat object of finite numbers, at least one."""
    text = _text(data, JSON_NAME)
    try:
        # every number as a float, however long or not finite, to be refused by name below
        value = json.loads(text, object_pairs_hook=_object, parse_int=float, parse_constant=float)
    except (ValueError, RecursionError) as error:
        raise RewardInvalid(f"{JSON_NAME} is not JSON: {error}") from error
    if not isinstance(value, Mapping):
        raise RewardInvalid(f"{JSON_NAME} is not an object of numbers: {_show(value)}")
    if not value:
        raise RewardInvalid(f"{JSON_NAME} is an object without a number")
    return {name: _number(item, f"{JSON_NAME}.{name}") for name, item in value.items()}


def reward_from_text(data: bytes) -> dict[str, float]:
    """One finite number, with white space around it if need be."""
    text = _text(data, TEXT_NAME)
    if not _NUMBER.fullmatch(text):
        raise RewardInvalid(f"{TEXT_NAME} is not a number: {_show(text)}")
    return {MAIN_KEY: _finite(float(text), TEXT_NAME)}


def main_reward(rewards: Mapping[str, float]) -> float:
    """The reward that counts: the one called `reward`, else the only one."""
    if MAIN_KEY in rewards:
        return rewards[MAIN_KEY]
    if len(rewards) == 1:
        return next(iter(rewards.values()))
    raise RewardInvalid(f"{JSON_NAME} has {', '.join(sorted(rewards))}, but no {MAIN_KEY!r}")


def _text(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig").strip(_SPACE)
    except UnicodeDecodeError as error:
        raise RewardInvalid(f"{name} is not text: {error}") from error
    if not text:
        raise RewardInvalid(f"{name} is empty")
    return text


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _number(value: Any, name: str) -> float:
    if not isinstance(value, float):
        raise RewardInvalid(f"{name} is not a number: {_show(value)}")
    return _finite(value, name)


def _finite(value: float, name: str) -> float:
    if not math.isfinite(value):
        raise RewardInvalid(f"{name} is not finite: {value}")
    return value


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
