"""What a component needs on the host beyond the packages that AgentCompass itself depends on."""

import shlex

import attrs


@attrs.frozen(kw_only=True)
class Needs:
    """Packages, each as a requirement (PEP 508); a component class names its own by `needs`.

    `extra` is the extra of `agentcompass` that brings them, where there is one. Without
    `dependencies` they are installed alone: what they need for all else is not wanted.
    """

    packages: tuple[str, ...]
    extra: str = ""
    dependencies: bool = True

    @property
    def arguments(self) -> tuple[str, ...]:
        """What `pip install` is given."""
        return self.packages if self.dependencies else ("--no-deps", *self.packages)

    @property
    def command(self) -> str:
        """How people install them."""
        wanted = (f"agentcompass[{self.extra}]",) if self.extra else self.arguments
        return shlex.join(("pip", "install", *wanted))
