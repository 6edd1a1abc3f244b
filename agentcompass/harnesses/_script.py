"""A shell script that goes in through stdin: it may have any length, and is in no argument."""

from typing import Any

from agentcompass.protocols import Session
from agentcompass.records.environment import ExecResult


async def run_script(session: Session, script: str, **options: Any) -> ExecResult:
    """Run it by `sh` to its end; `options` are those of `Session.exec`."""
    # In a function, since what it starts must not read on where the shell does.
    whole = f"main() {{\n{script}\n}}\nmain </dev/null\n"
    return await session.exec(["sh"], stdin=whole.encode(errors="replace"), **options)
