"""OpenAI's Responses API over HTTP."""

from typing import ClassVar

from agentcompass.models._dialect import Dialect, bearer
from agentcompass.models._http_model import HttpModel
from agentcompass.models._responses_ask import ask_responses
from agentcompass.models._responses_reply import ResponsesStream, read_response
from agentcompass.models._usage import responses_usage


class OpenAIResponses(HttpModel):
    """Posts to `{base_url}/responses`, with the whole conversation as input."""

    id: ClassVar[str] = "openai-responses"
    description: ClassVar[str] = "OpenAI's Responses API over HTTP"
    dialect: ClassVar[Dialect] = Dialect(
        path="/responses",
        owned=("input", "messages", "tools", "previous_response_id", "conversation"),
        streaming={},
        credentials=bearer,
        ask=ask_responses,
        usage=responses_usage,
        read=read_response,
        assembler=ResponsesStream,
        wants_reasoning_back=True,
    )
