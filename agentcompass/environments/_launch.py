"""What the kernel is given to start a command: bytes, checked before anything is started. Pure."""

from collections.abc import Mapping, Sequence

import attrs

from agentcompass.errors import EnvironmentFailed

# Linux takes no longer argument or NAME=value, its final NUL counted (execve(2), MAX_ARG_STRLEN).
MAX_STRING_BYTES = 128 * 1024


@attrs.frozen(kw_only=True)
class Launch:
    """One command as the kernel will get it. Nothing of `env` is on the command line.

    `script` is text too long for an argument: it goes into a file, whose path ends the `argv`.
    """

    argv: tuple[bytes, ...]
    cwd: bytes
    env: Mapping[bytes, bytes] = attrs.field(repr=False)
    script: bytes | None = None


def encode(text: str) -> bytes:
    """UTF-8 in every locale. A surrogate that stands for a byte of a file name is that byte;
    any other one, as a model may print it, becomes its three bytes."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def encode_env(variables: Mapping[str, str]) -> dict[bytes, bytes]:
    """Variables as bytes; `EnvironmentFailed` names the one that no process can be given."""
    encoded = {}
    for name, value in variables.items():
        key, data = encode(name), encode(value)
        if not key or b"=" in key or b"\0" in key:
            raise EnvironmentFailed(f"{name!r} cannot be the name of an environment variable")
        if b"\0" in data:
            raise EnvironmentFailed(f"environment variable {name} holds a NUL character")
        if len(key) + len(data) + 2 > MAX_STRING_BYTES:
            raise EnvironmentFailed(
                f"environment variable {name} has {len(data)} bytes; the kernel takes at most"
                f" {MAX_STRING_BYTES - len(key) - 2} under this name: pass it in a file"
            )
        encoded[key] = data
    return encoded


def make_launch(
    command: str | Sequence[str], *, shell: bytes, cwd: bytes, env: Mapping[bytes, bytes]
) -> Launch:
    """The launch of text by `shell -c`, or of an argument list without any shell."""
    if isinstance(command, str):
        text = encode(command)
        if b"\0" in text:
            raise EnvironmentFailed("the command holds a NUL character")
        if len(text) >= MAX_STRING_BYTES:
            return Launch(argv=(shell,), cwd=cwd, env=env, script=text)
        return Launch(argv=(shell, b"-c", b"--", text), cwd=cwd, env=env)
    return Launch(argv=_arguments(command), cwd=cwd, env=env)


def _arguments(command: Sequence[str]) -> tuple[bytes, ...]:
    argv = tuple(encode(argument) for argument in command)
    if not argv or not argv[0]:
        raise EnvironmentFailed("the command is empty")
    for number, argument in enumerate(argv):
        if b"\0" in argument:
            raise EnvironmentFailed(f"argument {number} of the command holds a NUL character")
        if len(argument) >= MAX_STRING_BYTES:
            raise EnvironmentFailed(
                f"argument {number} of the command has {len(argument)} bytes; the kernel takes at"
                f" most {MAX_STRING_BYTES - 1}: pass it in a file or on stdin"
            )
    return argv
