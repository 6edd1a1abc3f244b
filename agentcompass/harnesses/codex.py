"""Codex, OpenAI's command-line agent, run inside the environment."""

import json
import shlex
from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from agentcompass.harnesses._cli_agent import CliConfig, CliHarness
from agentcompass.harnesses._cli_program import Launch
from agentcompass.harnesses._codex_events import read_codex
from agentcompass.harnesses._parameters import parameter
from agentcompass.records.request import ModelSpec

_PROVIDER = "agentcompass"
_KEY = "CODEX_API_KEY"


@attrs.frozen(kw_only=True)
class CodexConfig(CliConfig):
    """How the program is installed and started."""

    reasoning_effort: str | None = parameter(None, "As the model names it: low, medium, high.")


@attrs.frozen(kw_only=True)
class CodexProgram:
    """See `Program`."""

    config: CodexConfig
    command: str = "codex"
    tells_usage_at_the_end: bool = True
    read = staticmethod(read_codex)

    @property
    def install(self) -> str:
        """From npm."""
        return f"npm install -g {shlex.quote(f'@openai/codex@{self.config.version}')} >&2"

    def launch(self, model: ModelSpec, folder: str) -> Launch:
        """The endpoint stands in its configuration, the key in a variable that this one names."""
        return Launch(
            argv=(
                *("codex", "exec", "--json", "--skip-git-repo-check", "--model", model.id),
                *("--dangerously-bypass-approvals-and-sandbox", "-"),
            ),
            variables={"CODEX_HOME": folder, _KEY: model.api_key or "none"},
            files={"config.toml": self._settings(model)},
        )

    def _settings(self, model: ModelSpec) -> str:
        top = {"model": model.id, "model_provider": _PROVIDER}
        if self.config.reasoning_effort is not None:
            top["model_reasoning_effort"] = self.config.reasoning_effort
        provider = {
            "name": _PROVIDER,
            "base_url": model.base_url.rstrip("/"),
            "env_key": _KEY,
            "wire_api": "responses",
        }
        return f"{_toml(top)}\n[model_providers.{_PROVIDER}]\n{_toml(provider)}"


class Codex(CliHarness):
    """Starts `codex exec` once; the task is its prompt, its last message the answer."""

    id: ClassVar[str] = "codex"
    description: ClassVar[str] = "Codex, the command-line agent, in the environment"
    Config: ClassVar[type[Any]] = CodexConfig
    program: ClassVar[type[Any]] = CodexProgram
    protocols: ClassVar[Sequence[str]] = ("openai-responses",)


def _toml(fields: dict[str, str]) -> str:
    # A JSON string is one of TOML's, but for what JSON writes as it is and TOML does not.
    return "".join(f"{name} = {json.dumps(text)}\n" for name, text in fields.items())
