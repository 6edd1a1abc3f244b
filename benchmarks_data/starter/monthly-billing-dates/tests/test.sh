#!/bin/bash
# Scores what the agent left: 1 if every check holds, else 0; no verdict if they cannot start.
verdict="${LOGS_DIR:-/logs}/verifier"
mkdir -p "$verdict"

python3 -I -B "${TESTS_DIR:-/tests}/check.py"
case $? in
    0) echo 1 > "$verdict/reward.txt" ;;
    126 | 127) echo "the checks could not start: a tool is missing" >&2; exit 1 ;;
    *) echo 0 > "$verdict/reward.txt" ;;
esac
