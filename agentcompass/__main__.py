"""The command `agentcompass`, also as `python -m agentcompass`."""

import gc
import sys

from agentcompass._version import __version__


def main() -> None:
    """Run the command line of this process and exit with its code."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"agentcompass {__version__}\n")
        return
    try:
        code = _command_line()
    except KeyboardInterrupt:
        code = 130
    gc.freeze()  # what is loaded is not looked through for garbage on the way out
    sys.exit(code)


def _command_line() -> int:
    from agentcompass.cli.garbage import seldom_collected

    with seldom_collected():  # while modules are loaded as well: hardly anything of them is garbage
        from agentcompass.cli.app import command_line

        return command_line(sys.argv[1:])


if __name__ == "__main__":
    main()
