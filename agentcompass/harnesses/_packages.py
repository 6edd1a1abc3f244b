"""A script that installs system packages with whichever package manager there is."""

_MANAGERS = (
    ("apt-get", "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y {}"),
    ("apk", "apk add --no-cache {}"),
    ("dnf", "dnf install -y {}"),
    ("yum", "yum install -y {}"),
    ("zypper", "zypper install -y -n {}"),
    ("pacman", "pacman -Sy --noconfirm {}"),
)

# Where the environment is the user's own machine, nothing is installed.
OWN_MACHINE = "host_process"


def install_script(*packages: str) -> str:
    """Ends with 0 where the packages are installed; what is said goes to stderr."""
    names = " ".join(packages)
    cases = (
        f"if command -v {manager}; then {{ {command.format(names)}; }} >&2; exit; fi"
        for manager, command in _MANAGERS
    )
    return "\n".join((*cases, "echo 'no package manager is known here' >&2; exit 1"))
