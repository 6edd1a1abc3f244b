"""Claude Code, Anthropic's command-line agent, run inside the environment."""

import json
import shlex
from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from agentcompass.harnesses._claude_events import read_claude
from agentcompass.harnesses._cli_agent import CliConfig, CliHarness
from agentcompass.harnesses._cli_program import Launch
from agentcompass.harnesses._parameters import at_least, parameter
from agentcompass.records.request import ModelSpec


@attrs.frozen(kw_only=True)
class ClaudeCodeConfig(CliConfig):
    """How the program is installed and started."""

    max_turns: int = parameter(
        400, "Turns after which it stops by itself.", unit="turns", check=at_least(1)
    )
    append_system_prompt: str | None = parameter(None, "Added to its own system prompt.")
    max_output_tokens: int | None = parameter(None, "Of one reply.", unit="tokens")


@attrs.frozen(kw_only=True)
class ClaudeProgram:
    """See `Program`."""

    config: ClaudeCodeConfig
    command: str = "claude"
    tells_usage_at_the_end: bool = False
    read = staticmethod(read_claude)

    @property
    def install(self) -> str:
        """From npm."""
        package = shlex.quote(f"@anthropic-ai/claude-code@{self.config.version}")
        return f"npm install -g {package} >&2"

    def launch(self, model: ModelSpec, folder: str) -> Launch:
        """The endpoint and the key stand in its settings, a file of its own."""
        limits = ("--max-turns", str(self.config.max_turns))
        more = self.config.append_system_prompt
        return Launch(
            argv=(
                *("claude", "-p", "--model", model.id, *limits, "--verbose"),
                *("--output-format", "stream-json", "--settings", f"{folder}/settings.json"),
                *(("--append-system-prompt", more) if more else ()),
                "--dangerously-skip-permissions",
            ),
            variables={"IS_SANDBOX": "1", "CLAUDE_CONFIG_DIR": f"{folder}/claude"},
            files={"settings.json": json.dumps(self._settings(model))},
        )

    def _settings(self, model: ModelSpec) -> dict[str, Any]:
        variables = {
            "ANTHROPIC_BASE_URL": model.base_url.rstrip("/").removesuffix("/v1"),
            "ANTHROPIC_AUTH_TOKEN": model.api_key or "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        for kind in ("OPUS", "SONNET", "HAIKU"):
            variables[f"ANTHROPIC_DEFAULT_{kind}_MODEL"] = model.id
        variables |= dict.fromkeys(("ANTHROPIC_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL"), model.id)
        if self.config.max_output_tokens is not None:
            variables["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = str(self.config.max_output_tokens)
        return {"model": model.id, "env": variables}


class ClaudeCode(CliHarness):
    """Starts `claude -p` once; the task is its prompt, its last word the answer."""

    id: ClassVar[str] = "claude_code"
    description: ClassVar[str] = "Claude Code, the command-line agent, in the environment"
    Config: ClassVar[type[Any]] = ClaudeCodeConfig
    program: ClassVar[type[Any]] = ClaudeProgram
    protocols: ClassVar[Sequence[str]] = ("anthropic",)
