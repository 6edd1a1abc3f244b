"""One question, one answer: no tools are run and no loop is made."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs

from agentcompass.errors import HarnessFailed, ModelFailed
from agentcompass.harnesses._base import PlainAgent
from agentcompass.harnesses._media import image_part
from agentcompass.harnesses._parameters import parameter
from agentcompass.harnesses._sums import PROTOCOLS, Sums
from agentcompass.harnesses._trajectory import Trajectory, now
from agentcompass.protocols import AgentContext, Conversation, Session
from agentcompass.records.model import Reply
from agentcompass.records.task import RunResult, TaskInput

Message = Mapping[str, Any]


@attrs.frozen(kw_only=True)
class OpenAIChatConfig:
    """What is said beside the task; temperature and the like are model parameters."""

    system_prompt: str | None = parameter(None, "A system message that stands for the task's own.")


class OpenAIChatHarness:
    """Asks the model once with the task's prompt or messages, its pictures and its tools.

    The answer is the text of the reply, or its tool calls where there is no text.
    """

    id: ClassVar[str] = "openai_chat"
    description: ClassVar[str] = "One request to the model; its reply is the answer"
    Config: ClassVar[type[Any]] = OpenAIChatConfig
    needs_model: ClassVar[bool] = True
    protocols: ClassVar[Sequence[str]] = PROTOCOLS
    default_run_timeout_seconds: ClassVar[float | None] = None

    def __init__(self, config: OpenAIChatConfig) -> None:
        self.config = config

    def start(self, session: Session, context: AgentContext) -> "ChatAgent":
        """An agent for one execution."""
        if context.conversation is None:
            raise HarnessFailed("openai_chat needs a model")
        return ChatAgent(
            session=session,
            conversation=context.conversation,
            given=context.prepared.input,
            system_prompt=self.config.system_prompt,
        )


@attrs.frozen(kw_only=True, eq=False)
class ChatAgent(PlainAgent):
    """One request."""

    session: Session
    conversation: Conversation
    given: TaskInput
    system_prompt: str | None

    async def run(self, result: RunResult) -> None:
        """Ask and keep the answer; raises `ModelFailed` with code `model_empty_output`."""
        sums, trajectory = Sums.of(result), Trajectory()
        result.trajectory = trajectory.record
        messages = await self._messages()
        sums.called()
        started_at = now()
        reply = await self.conversation.complete(messages, tools=self.given.tools)
        sums.replied(reply)
        trajectory.add_step(reply, started_at=started_at, **_asked(messages, self.given.tools))
        result.final_answer = _answer(reply)

    async def _messages(self) -> list[Message]:
        messages = list(self.given.messages or [{"role": "user", "content": self.given.prompt}])
        if (system := self._system(messages)) is not None:
            rest = [message for message in messages if message.get("role") != "system"]
            messages = [{"role": "system", "content": system}, *rest]
        if self.given.media:
            parts = [await image_part(item, self.session) for item in self.given.media]
            messages = _with_parts(messages, parts)
        return messages

    def _system(self, messages: Sequence[Message]) -> str | None:
        """The system message to ask with; None leaves the messages as they are."""
        if self.system_prompt is None and any(m.get("role") == "system" for m in messages):
            return None
        return self.given.system_prompt if self.system_prompt is None else self.system_prompt


def _with_parts(messages: list[Message], parts: Sequence[Message]) -> list[Message]:
    """The messages with more parts in the last one of the user."""
    users = [index for index, message in enumerate(messages) if message.get("role") == "user"]
    if not users:
        return [*messages, {"role": "user", "content": list(parts)}]
    last = messages[users[-1]]
    content = last.get("content") or []
    before = [{"type": "text", "text": content}] if isinstance(content, str) else content
    messages[users[-1]] = {**last, "content": [*before, *parts]}
    return messages


def _asked(messages: Sequence[Message], tools: Sequence[Message]) -> dict[str, Any]:
    """What the trajectory says of the question: the last word of the user, in text."""
    said = {str(message.get("role")): _text(message.get("content")) for message in messages}
    return {
        "system_prompt": said.get("system", ""),
        "user_content": said.get("user", ""),
        "tools": tools,
    }


def _text(content: Any) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    return "\n".join(str(part.get("text") or f"[{part.get('type')}]") for part in content)


def _answer(reply: Reply) -> Any:
    text = reply.message.get("content")
    if isinstance(text, str) and text.strip():
        return text
    if calls := reply.message.get("tool_calls"):
        return list(calls)
    why = f"finish reason {reply.finish_reason}" if reply.finish_reason else "no finish reason"
    if reply.message.get("reasoning_content") or reply.message.get("reasoning"):
        why += ", reasoning only"
    raise ModelFailed(f"the reply holds no text ({why})", code="model_empty_output")
