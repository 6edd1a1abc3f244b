"""Runs in the interpreter of Harbor: whether its models take exported trajectories.

    HARBOR_PYTHON atif_files.py FOLDER

What a valid file says must be all that there is in it.
"""

import json
import sys
from pathlib import Path

from harbor.models.trajectories import Trajectory
from harbor.utils.trajectory_validator import TrajectoryValidator


def check(path):
    """Raise where Harbor does not take the file, or does not read all of it."""
    text = path.read_bytes()
    assert Trajectory.model_validate_json(text).to_json_dict() == json.loads(text), path
    validator = TrajectoryValidator()
    assert validator.validate(path), (path, validator.get_errors())


if __name__ == "__main__":
    files = sorted(Path(sys.argv[1]).rglob("*.json"))
    for file in files:
        check(file)
    print(len(files))
