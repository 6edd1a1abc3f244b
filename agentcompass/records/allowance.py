"""What a program that calls the model itself asks before it goes on, and tells of its calls."""

from collections.abc import Iterable
from typing import Protocol

from agentcompass.records.model import Usage


class Allowance(Protocol):
    """What one execution may still spend on its model, as its attempt and its run have it."""

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        ...

    @property
    def fault(self) -> str | None:
        """Why nothing more may be spent, or None."""
        ...

    def spent(self, calls: Iterable[Usage]) -> None:
        """Note all that the execution's calls took so far, in place of what was noted before."""
        ...

    def check(self) -> None:
        """Raise `BudgetExhausted` where nothing more may be spent."""
        ...
