"""`${VAR}` and `${VAR:-default}` in a task's env, filled in from the host's environment. Pure."""

import re
from collections.abc import Mapping

from agentcompass.records.credentials import is_secret_name

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?\}", re.DOTALL)


def resolve(env: Mapping[str, str], host: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """`env` with every reference replaced, and the host variables that are missing, sorted.

    As in Harbor, a reference is a whole value; any other text stays as it is. What refers to a
    missing variable is left out. A variable that is set but empty is not missing.
    """
    resolved: dict[str, str] = {}
    missing: set[str] = set()
    for name, value in env.items():
        reference = _REFERENCE.fullmatch(value)
        if reference is None:
            resolved[name] = value
            continue
        variable, default = reference.groups()
        if (found := host.get(variable, default)) is None:
            missing.add(variable)
        else:
            resolved[name] = found
    return resolved, sorted(missing)


def secrets_of(env: Mapping[str, str], host: Mapping[str, str]) -> dict[str, str]:
    """The host variables that `env` refers to and whose names are those of credentials."""
    references = [found for value in env.values() if (found := _REFERENCE.fullmatch(value))]
    names = {found.group(1) for found in references if is_secret_name(found.group(1))}
    return {name: host[name] for name in sorted(names & host.keys())}
