"""Being a user whom file modes bind, for a while: root reads whatever it likes."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NOBODY = 65534


@contextmanager
def ordinary_user() -> Iterator[Path]:
    """A folder of one's own; whoever runs the tests is an ordinary user meanwhile."""
    folder = Path(tempfile.mkdtemp(prefix="ordinary-"))
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(folder, _NOBODY, -1)
        os.setresuid(_NOBODY, _NOBODY, 0)
    try:
        yield folder
    finally:
        if is_root:
            os.setresuid(0, 0, 0)
        subprocess.run(["chmod", "-R", "u+rwx", folder], check=True)
        shutil.rmtree(folder)
