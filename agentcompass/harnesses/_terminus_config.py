"""The parameters of terminus2, by the names that Harbor and the peer give them."""

from typing import Any, Literal

import attrs

_MOST = 1_000_000_000


def _from(low: int) -> Any:
    def check(_instance: object, attribute: "attrs.Attribute[Any]", value: float) -> None:
        if not low <= value <= _MOST:
            raise ValueError(f"{attribute.name} must be from {low} to 1e9, not {value!r}")

    return check


def _parameter(default: Any, text: str, *, unit: str = "", check: Any = None) -> Any:
    return attrs.field(default=default, validator=check, metadata={"help": text, "unit": unit})


@attrs.frozen(kw_only=True)
class TerminusConfig:
    """How the loop runs, and when it stops by itself."""

    parser_name: Literal["json", "xml"] = _parameter("json", "In which format the model replies.")
    max_turns: int = _parameter(
        300, "Replies that are acted on; 0 is no limit.", unit="turns", check=_from(0)
    )
    tmux_pane_width: int = _parameter(
        160, "Width of the terminal.", unit="columns", check=_from(20)
    )
    tmux_pane_height: int = _parameter(40, "Height of the terminal.", unit="lines", check=_from(5))
    enable_summarize: bool = _parameter(
        True, "Sum up and go on where the conversation does not fit into the model's context."
    )
    context_limit: int = _parameter(
        0,
        "What the model's context holds; at 0 it is summed up only once the model refuses.",
        unit="tokens",
        check=_from(0),
    )
    proactive_summarization_threshold: int = _parameter(
        8000,
        "Sum up when less than this of context_limit is free; 0 waits for a refusal.",
        unit="tokens",
        check=_from(0),
    )
    interleaved_thinking: bool = _parameter(
        False, "Give the model its earlier reasoning back in later calls."
    )
    install_timeout: float = _parameter(
        240.0,
        "Time to install tmux where the environment lacks it; 0 does not install it, "
        "and on host_process it is never installed.",
        unit="s",
        check=_from(0),
    )
