"""The program that keeps a container alive does nothing, until it is told to end."""

import platform
import shutil
import signal
import struct
import subprocess
import time

import pytest

from agentcompass.environments._docker_keeper import program

MACHINES = {"amd64": ("x86_64", 62), "arm64": ("aarch64", 183)}


@pytest.mark.parametrize("architecture", MACHINES)
def test_it_waits_at_no_cost_and_ends_with_sigterm(tmp_path, architecture):
    machine, _ = MACHINES[architecture]
    emulator = shutil.which(f"qemu-{machine}-static")
    if platform.machine() != machine and emulator is None:
        pytest.skip(f"no {machine} here, nor its emulator")
    path = tmp_path / "keeper"
    path.write_bytes(program(architecture) or b"")
    path.chmod(0o555)
    argv = [str(path)] if platform.machine() == machine else [str(emulator), str(path)]
    with subprocess.Popen(argv) as process:
        time.sleep(0.2)
        for number in (signal.SIGSTOP, signal.SIGCONT, signal.SIGWINCH):
            process.send_signal(number)
            time.sleep(0.05)
        assert process.poll() is None
        process.terminate()

    assert process.returncode == -signal.SIGTERM


@pytest.mark.parametrize("architecture", MACHINES)
def test_it_is_a_static_program_of_the_architecture(architecture):
    made = program(architecture) or b""

    assert made.startswith(b"\x7fELF\2\1\1")
    assert struct.unpack_from("<HH", made, 16) == (2, MACHINES[architecture][1])
    assert struct.unpack_from("<H", made, 56) == (1,)  # segments: no interpreter among them


def test_there_is_none_for_other_architectures():
    assert program("s390x") is None
    assert program("") is None
