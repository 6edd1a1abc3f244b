"""The public data sets of the benchmarks here, each at the revision that this version measures.

Where the facts are from: the checksum and size of SWE-bench Verified, and every commit, are those
that other public evaluation tools pin (read in 2026, not fetched here). A wrong one costs a refused
download, never wrong data: what is fetched is compared with it.
"""

from agentcompass.records.data_set import DataFile, DataSet, GitTree
from agentcompass.records.needs import Needs

_TASK_FOLDERS = "the task folders (each with a task.toml), right below it"

SWEBENCH_VERIFIED = DataSet(
    id="swebench_verified",
    title="SWE-bench Verified: 500 issues of Python projects, each solvable by human judgement",
    homepage="https://huggingface.co/datasets/princeton-nlp/SWE-bench_Verified",
    licence="not stated by the publisher; the patches are under the licences of their projects",
    source=(
        DataFile(
            name="test-00000-of-00001.parquet",
            url="https://huggingface.co/datasets/princeton-nlp/SWE-bench_Verified/resolve"
            "/c104f840cc67f8b6eec6f759ebc8b2693d585d4a/data/test-00000-of-00001.parquet",
            sha256="a45b1fe4e2f0c8390b2b2938ac83e92ed5979000856808f3679c07812e9e6dcd",
            size=2_096_679,
        ),
    ),
    revision="c104f840cc67f8b6eec6f759ebc8b2693d585d4a",
    size=2_096_679,
    looks_for="a file of its rows: *.jsonl, *.json or *.parquet",
    needs=Needs(packages=("pyarrow>=15",), extra="parquet"),
)

TERMINAL_BENCH_2 = DataSet(
    id="terminal_bench_2",
    title="Terminal-Bench 2.0: 89 tasks in a terminal",
    homepage="https://github.com/laude-institute/terminal-bench-2",
    licence="Apache-2.0 (its file was added after this commit)",
    source=GitTree(
        url="https://github.com/laude-institute/terminal-bench-2.git",
        commit="69671fbaac6d67a7ef0dfec016cc38a64ef7a77c",
    ),
    revision="2.0",
    looks_for=_TASK_FOLDERS,
)

TERMINAL_BENCH_2_VERIFIED = DataSet(
    id="terminal_bench_2_verified",
    title="Terminal-Bench 2.0 Verified: the 89 tasks with repaired images and instructions",
    homepage="https://huggingface.co/datasets/zai-org/terminal-bench-2-verified",
    licence="Apache-2.0",
    source=GitTree(
        url="https://huggingface.co/datasets/zai-org/terminal-bench-2-verified",
        commit="7bbd2fef45db2f9ee9d9e3aae8f7253f56bf4e2b",
    ),
    revision="7bbd2fef45db2f9ee9d9e3aae8f7253f56bf4e2b",
    looks_for=_TASK_FOLDERS,
)

TERMINAL_BENCH_2_1 = DataSet(
    id="terminal_bench_2_1",
    title="Terminal-Bench 2.1: the 89 tasks, 26 of them changed",
    homepage="https://github.com/harbor-framework/terminal-bench-2-1",
    licence="Apache-2.0",
    source=GitTree(
        url="https://github.com/harbor-framework/terminal-bench-2-1.git",
        commit="7131e4375048a0e408a8fb404b5f499d726b695b",
        subfolder="tasks",
    ),
    revision="2.1",
    looks_for=_TASK_FOLDERS,
)
