"""The variables that commands on this host get: few of the host's own, none that may be a key."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

# What programs need to find themselves, the time zone, the characters and the certificates.
# Where HOME is another one, version managers are lost without their own variables.
_FROM_HOST = (
    "PATH",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "TZ",
    "LD_LIBRARY_PATH",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "NVM_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RBENV_ROOT",
    "JAVA_HOME",
    "GOROOT",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
)
# Kept where they are by default: below the home that the commands do not see.
_BELOW_HOME = {"PYENV_ROOT": ".pyenv", "RUSTUP_HOME": ".rustup", "RBENV_ROOT": ".rbenv"}
_LOCALE = ("LANG", "LC_ALL", "LC_CTYPE")


def host_variables(host: Mapping[str, str], pass_env: Sequence[str]) -> dict[str, str]:
    """The variables of every command that are the host's own. Blocking.

    `pass_env` names further host variables; one that the host does not have stays unset.
    """
    variables = {name: host[name] for name in (*_FROM_HOST, *pass_env) if name in host}
    variables.setdefault("PATH", os.defpath)
    if not any(name in variables for name in _LOCALE):
        variables["LANG"] = "C.UTF-8"
    for name, folder in _BELOW_HOME.items():
        default = Path(host["HOME"]) / folder if host.get("HOME") else None
        # os.access is false, and never an error, where the home may not be looked into.
        if name not in variables and default is not None and os.access(default, os.R_OK | os.X_OK):
            variables[name] = str(default)
    return variables


def folder_variables(root: Path) -> dict[str, str]:
    """Where the folders of a session are that Harbor has at /app, /tests, /logs and /solution."""
    return {
        "APP_DIR": str(root / "app"),
        "TESTS_DIR": str(root / "tests"),
        "LOGS_DIR": str(root / "logs"),
        "SOLUTION_DIR": str(root / "solution"),
        "HOME": str(root / "home"),
        "TMPDIR": str(root / "tmp"),
    }
