"""What model calls took, and whether another one may be made: of an attempt, and of a run."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from agentcompass.abilities import PricesCalls
from agentcompass.errors import BudgetExhausted, ModelFailed
from agentcompass.protocols import Conversation, Model
from agentcompass.records.model import Reply, Spent, Usage
from agentcompass.records.request import Budget

log = logging.getLogger(__name__)

RUN_CODE = f"run_{BudgetExhausted.code}"
_UNKNOWN = "cannot be held: a reply did not say what it took"


def why_used_up(budget: Budget, spent: Spent) -> str | None:
    """Why no further call may be made, or None; pure. What cannot be counted bounds nothing."""
    tokens, dollars = budget.max_total_tokens, budget.max_cost_usd
    if tokens is not None and spent.tokens >= tokens:
        return f"is used up: {spent.tokens} of {tokens} tokens"
    if dollars is not None and _exact(spent.cost_usd) >= dollars:
        return f"is used up: {spent.cost_usd:.4g} of {dollars:g} US dollars"
    if tokens is not None and spent.replies_without_usage:
        return f"{_UNKNOWN} in tokens"
    if dollars is not None and spent.replies_without_cost:
        return f"{_UNKNOWN} in US dollars"
    return None


def _exact(dollars: float) -> float:
    """A sum without what floats add to it: three times 0.1 is 0.3, and no less."""
    return round(dollars, 9)


@attrs.define(eq=False, kw_only=True)
class Account:
    """What was spent on one budget, by its name; `refused` once something was not begun for it.

    `replayed` is what calls took once, and nobody pays for again. `answered` and `failed` count the
    calls that harnesses made of their conversations.
    """

    name: str
    code: str
    budget: Budget
    spent: Spent = Spent()
    refused: bool = False
    replayed: bool = False
    answered: int = 0
    failed: int = 0

    @property
    def got_no_answer(self) -> bool:
        """Whether the model was called and every call failed."""
        return self.failed > 0 and self.answered == 0

    @property
    def fault(self) -> str | None:
        """Why nothing more may be spent, or None."""
        why = why_used_up(self.budget, self.spent)
        return None if why is None else f"{self.name} {why}"

    def refuses(self) -> str | None:
        """The fault, for who would spend now, and does not."""
        if (fault := self.fault) is not None and not self.refused:
            self.refused = True
            if self.code == RUN_CODE:  # that of an attempt is an issue of its own
                log.warning("%s: no further model call is made, and nothing more begins", fault)
        return fault

    def record(self) -> dict[str, Any]:
        """What run_info.json says of it: `spent`, `budget_used_up`, or nothing."""
        spent, said = self.spent, {}
        if spent != Spent():
            said["spent"] = {
                "total_tokens": spent.tokens if spent.executions_with_usage else None,
                "cost_usd": _exact(spent.cost_usd) if spent.executions_with_cost else None,
                "replies_without_usage": spent.replies_without_usage,
                "replies_without_cost": spent.replies_without_cost,
                **({"replayed": True} if self.replayed else {}),
            }
        return {**said, "budget_used_up": self.fault} if self.refused else said


def attempt_account(budget: Budget) -> Account:
    """The account of one attempt, its retries included."""
    return Account(name="attempt_budget", code=BudgetExhausted.code, budget=budget)


def run_account(budget: Budget, *, replayed: bool = False) -> Account:
    """The account of all that one run executes itself."""
    return Account(name="run_budget", code=RUN_CODE, budget=budget, replayed=replayed)


@attrs.define(eq=False, kw_only=True)
class ExecutionAllowance:
    """See `records.allowance.Allowance`; what is noted counts in every account."""

    accounts: Sequence[Account]
    model: Model
    _noted: Spent = Spent()

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return any(account.budget != Budget() for account in self.accounts)

    @property
    def fault(self) -> str | None:
        """Why nothing more may be spent, or None."""
        return next(filter(None, (account.fault for account in self.accounts)), None)

    def spent(self, calls: Iterable[Usage]) -> None:
        """Note calls that a program made; what it did not say of them is left out."""
        made = list(calls)
        counts = [*(usage.prompt_tokens for usage in made), *(u.completion_tokens for u in made)]
        self.note(_sums(counts, map(self._cost, made)))

    def note(self, spent: Spent) -> None:
        """Note all that the execution's calls took so far, in place of what was noted before."""
        for account in self.accounts:
            account.spent = account.spent.changed(self._noted, spent)
        self._noted = spent

    def count(self, *, answered: bool) -> None:
        """Note that a call of the conversation has ended."""
        for account in self.accounts:
            account.answered += answered
            account.failed += not answered

    def check(self) -> None:
        """Raise `BudgetExhausted` where nothing more may be spent."""
        for account in self.accounts:
            if (fault := account.refuses()) is not None:
                raise BudgetExhausted(fault, code=account.code)

    def _cost(self, usage: Usage) -> float | None:
        known = self.model.cost(usage) if isinstance(self.model, PricesCalls) else None
        return usage.cost_usd if known is None else known


@attrs.define(eq=False, kw_only=True)
class CountedConversation:
    """A conversation whose calls are counted, and made as long as the budgets last."""

    conversation: Conversation
    allowance: ExecutionAllowance
    _without_usage: int = 0
    _without_cost: int = 0

    async def complete(
        self, messages: Sequence[Mapping[str, Any]], *, tools: Sequence[Mapping[str, Any]] = ()
    ) -> Reply:
        """See `protocols.Conversation`."""
        self.allowance.check()
        try:
            reply = await self._complete(messages, tools)
            usage = reply.usage
            self._without_usage += usage.prompt_tokens is None or usage.completion_tokens is None
            self._without_cost += usage.cost_usd is None
        finally:  # a call that failed may have taken something as well
            self.allowance.note(self._so_far())
        return reply

    def spent(self) -> Mapping[str, Any]:
        """What the calls so far took, as telemetry."""
        return self.conversation.spent()

    async def _complete(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> Reply:
        try:
            reply = await self.conversation.complete(messages, tools=tools)
        except ModelFailed:
            self.allowance.count(answered=False)
            raise
        self.allowance.count(answered=True)
        return reply

    def _so_far(self) -> Spent:
        sums = self.conversation.spent()
        return _sums(
            (sums.get("prompt_tokens"), sums.get("completion_tokens")),
            (sums.get("cost_usd"),),
            replies_without_usage=self._without_usage,
            replies_without_cost=self._without_cost,
        )


def _sums(counts: Iterable[int | None], costs: Iterable[float | None], **without: int) -> Spent:
    """What one execution took, of which any part may be unknown; `without` as in `Spent`."""
    tokens = [count for count in counts if count is not None]
    dollars = [cost for cost in costs if cost is not None]
    return Spent(
        tokens=sum(tokens),
        cost_usd=sum(dollars, 0.0),
        executions_with_usage=int(bool(tokens)),
        executions_with_cost=int(bool(dollars)),
        **without,
    )
