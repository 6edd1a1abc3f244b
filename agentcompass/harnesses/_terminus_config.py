"""The parameters of terminus2, by the names that Harbor and the peer give them."""

from typing import Literal

import attrs

from agentcompass.harnesses._parameters import at_least, parameter


@attrs.frozen(kw_only=True)
class TerminusConfig:
    """How the loop runs, and when it stops by itself."""

    parser_name: Literal["json", "xml"] = parameter("json", "In which format the model replies.")
    max_turns: int = parameter(
        300, "Replies that are acted on; 0 is no limit.", unit="turns", check=at_least(0)
    )
    tmux_pane_width: int = parameter(
        160, "Width of the terminal.", unit="columns", check=at_least(20)
    )
    tmux_pane_height: int = parameter(
        40, "Height of the terminal.", unit="lines", check=at_least(5)
    )
    enable_summarize: bool = parameter(
        True, "Sum up and go on where the conversation does not fit into the model's context."
    )
    context_limit: int = parameter(
        0,
        "What the model's context holds; at 0 it is summed up only once the model refuses.",
        unit="tokens",
        check=at_least(0),
    )
    proactive_summarization_threshold: int = parameter(
        8000,
        "Sum up when less than this of context_limit is free; 0 waits for a refusal.",
        unit="tokens",
        check=at_least(0),
    )
    interleaved_thinking: bool = parameter(
        False, "Give the model its earlier reasoning back in later calls."
    )
    install_timeout: float = parameter(
        240.0,
        "Time to install tmux where the environment lacks it; 0 does not install it, "
        "and on host_process it is never installed.",
        unit="s",
        check=at_least(0),
    )
