"""The Docker Engine of the tests: its images, what is left on it, and whether there is one."""

import ipaddress
import json
import os
import subprocess

import pytest

BOOKWORM = "agentcompass-test:bookworm"
BUSYBOX = "agentcompass-test:busybox"
NO_SHELL = "agentcompass-test:noshell"


def docker(*arguments: str) -> str:
    """What the docker command line prints."""
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _why_none() -> str:
    try:
        for image in (BOOKWORM, BUSYBOX, NO_SHELL):
            docker("image", "inspect", image)
    except FileNotFoundError:
        return "there is no docker command"
    except subprocess.CalledProcessError as error:
        said = str(error.stderr).strip().splitlines()
        return f"{said[-1] if said else error}; tests/images/build.sh makes the images"
    return ""


_reason = _why_none()
if _reason and os.environ.get("AGENTCOMPASS_NEEDS_DOCKER"):
    raise RuntimeError(f"the Docker tests must run here: {_reason}")
NO_ENGINE = pytest.mark.skipif(bool(_reason), reason=_reason)


def containers(**labels: str) -> list[str]:
    """The names of the containers of this package, running or not, that have the labels."""
    wanted = {"agentcompass.run": "", **{f"agentcompass.{k}": v for k, v in labels.items()}}
    filters = [f"--filter=label={k}={v}" if v else f"--filter=label={k}" for k, v in wanted.items()]
    return docker("ps", "--all", "--format={{.Names}}", *filters).split()


def inspect(name: str) -> dict[str, object]:
    """All that the engine knows of a container."""
    found: dict[str, object] = json.loads(docker("container", "inspect", name))[0]
    return found


def gateway() -> str:
    """The host's address on the engine's default network, by which containers reach it.

    An engine that has just made that network does not say it yet: it is the first of the subnet.
    """
    config = json.loads(docker("network", "inspect", "bridge"))[0]["IPAM"]["Config"][0]
    first = next(ipaddress.ip_network(config["Subnet"]).hosts())
    return str(config.get("Gateway") or first)
