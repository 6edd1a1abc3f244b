"""The conversation of terminus2: what the model is asked with, and summing up when it is full."""

from collections.abc import Sequence
from typing import Any

import attrs

from agentcompass.errors import ContextTooLong
from agentcompass.harnesses import _terminus_prompts as prompts
from agentcompass.harnesses._mini_history import assistant_message
from agentcompass.harnesses._sums import Sums
from agentcompass.harnesses._terminus_config import TerminusConfig
from agentcompass.harnesses._trajectory import Trajectory, now
from agentcompass.protocols import Conversation
from agentcompass.records.model import Reply

_CHARACTERS = 4  # of a token, where nobody has counted
_TAIL = 1000  # characters of the screen in the shortest summary
_EMPTY = "(an empty reply)"  # no server takes a message without content
_SHORTENED = 3  # times, before all of the history is given up

Messages = list[dict[str, Any]]


@attrs.define(eq=False, kw_only=True)
class Chat:
    """The messages so far; every call is counted and recorded, also those that sum up."""

    conversation: Conversation
    config: TerminusConfig
    sums: Sums
    trajectory: Trajectory
    task: str
    messages: Messages = attrs.field(factory=list)
    _used: int = attrs.field(init=False, default=0)

    @property
    def last_prompt(self) -> str:
        """What the last reply was asked for with: another message where it was summed up."""
        return str(self.messages[-2]["content"])

    async def say(self, prompt: str, screen: str) -> tuple[Reply, str]:
        """The reply to the next message, and when it was asked for; history has both then.

        `screen` is what the terminal shows, for a model that has to go on from a summary. Raises
        `ContextTooLong` where it does not fit even then, and `ModelFailed`.
        """
        if self._is_nearly_full(prompt):
            prompt = await self._sum_up(screen)
        try:
            return await self._exchange(prompt)
        except ContextTooLong:
            if not self.config.enable_summarize or not self.messages:
                raise
        return await self._exchange(await self._sum_up(screen))

    async def _exchange(self, prompt: str) -> tuple[Reply, str]:
        asked = [*self.messages, {"role": "user", "content": prompt}]
        reply, started_at = await self._ask(asked)
        answer = assistant_message(
            reply.message, (), with_reasoning=self.config.interleaved_thinking
        )
        answer["content"] = answer["content"] or _EMPTY
        self.messages = [*asked, answer]
        usage = reply.usage
        self._used = (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
        return reply, started_at

    async def _ask(self, messages: Sequence[dict[str, Any]]) -> tuple[Reply, str]:
        self.sums.called()
        started_at = now()
        reply = await self.conversation.complete(messages)
        self.sums.replied(reply)
        if reply.finish_reason == "context_length":  # the reply was cut off where it was full
            self.trajectory.add_step(reply, started_at=started_at)
            raise ContextTooLong("the conversation has filled the model's context")
        return reply, started_at

    def _is_nearly_full(self, prompt: str) -> bool:
        limit, spare = self.config.context_limit, self.config.proactive_summarization_threshold
        if not (limit and spare and self.messages and self.config.enable_summarize):
            return False
        said = sum(len(str(message["content"])) for message in self.messages)
        used = self._used or said // _CHARACTERS
        return limit - used - len(prompt) // _CHARACTERS < spare

    async def _sum_up(self, screen: str) -> str:
        """Replace the history by what is known of it; the message to go on with."""
        self.sums.telemetry["n_summaries"] += 1
        first, history = self.messages[0], self.messages
        for _ in range(_SHORTENED):
            try:
                return await self._hand_over(first, history, screen)
            except ContextTooLong:
                if len(history) <= 2:
                    break
                history = _shorter(history)
        try:
            summary = await self._aside([], prompts.short(self.task, screen[-_TAIL:]))
        except ContextTooLong:
            summary = ""
        self._restart([])
        return f"{first['content']}\n\n{prompts.resumed(summary, screen)}"

    async def _hand_over(self, first: dict[str, Any], history: Messages, screen: str) -> str:
        summary = await self._aside(history, prompts.SUMMARY)
        question = prompts.questions(self.task, summary, screen)
        asked = await self._aside([], question)
        noted = [*_pair(prompts.SUMMARY, summary)]
        answered = await self._aside([*history, *noted], prompts.answers(asked))
        self._restart(_pair(f"{first['content']}\n\n{question}", asked))
        return prompts.handed_over(answered, screen)

    async def _aside(self, messages: Messages, prompt: str) -> str:
        """A call beside the conversation, which has its own step in the trajectory."""
        reply, started_at = await self._ask([*messages, {"role": "user", "content": prompt}])
        self.trajectory.add_step(reply, started_at=started_at, user_content=prompt)
        return str(reply.message.get("content") or "")

    def _restart(self, messages: Messages) -> None:
        self.messages, self._used = messages, 0


def _pair(asked: str, answered: str) -> Messages:
    return [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]


def _shorter(history: Messages) -> Messages:
    """The first message and the older half of the rest, ending with the model's word."""
    return history[: max(2, len(history) // 4 * 2)]
