"""Whatever an agent does to a repository, its patch makes the same files of a fresh one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import pytest

from agentcompass.benchmarks._swebench_repository import FAULTS, PATCH, TAKE_PATCH, note_start
from agentcompass.benchmarks._swebench_scoring import _APPLY
from agentcompass.benchmarks.swebench_verified import SWEbenchVerified
from agentcompass.protocols import Session
from tests.benchmarks.local_session import a_plan
from tests.benchmarks.swebench_projects import CALC, Made, write_rows
from tests.contract.environment import HOST_PROCESS, opened

AGENT = (
    "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n"
)
EDIT = "sed -i s/-/+/ calc.py\n"
EDITED = ("+    return a + b",)

# What an agent does, and parts of the patch that comes of it.
DEEDS = {
    "makes files of every kind": (
        """
        mkdir -p a/b; echo 1 > a/b/c.txt; rm gone; git mv moved there; chmod +x tool
        head -c 999 /dev/urandom > a.bin; printf '\\0\\1' > was-text; printf 'caf\\351\\n' >> latin
        printf 'a\\r\\nb\\r\\n' > crlf.txt; sed -i 's/$/\\r/' calc.py; printf end >> tool
        echo 1 > 'a b'; echo 1 > $'tab\\there'; echo 1 > 'ü'; echo 1 > -n; touch empty
        ln -s calc.py link; ln -s /nowhere dangling; rm becomes; mkdir becomes; echo 1 > becomes/one
        """,
        (
            *("+++ b/a/b/c.txt", "deleted file mode 100644", "+++ b/there", "new mode 100755"),
            *(
                "GIT binary patch",
                "+a\r\n",
                "\\ No newline at end of file",
                "120000",
                "becomes/one",
            ),
        ),
    ),
    "declares text to be binary": ("echo '* -diff' > .gitattributes; echo x >> tool", ("+x",)),
    "declares line ends": (
        "echo '* text=auto eol=lf' > .gitattributes; printf 'a\\r\\nb\\r\\n' > crlf.txt",
        ("+a\r\n",),
    ),
    "changes files that the repository has git convert": (
        """
        printf 'c\\r\\n' >> win.bat; echo c >> unix.bat; printf 'z\\0\\n\\0' >> wide; echo x >> id
        """,
        ("+c\r\n", "--- a/unix.bat", "--- a/id", "diff --git a/wide"),
    ),
    "puts a link where the patch goes": (
        f'{EDIT} rm -rf "$LOGS_DIR"/artifacts; ln -s /nowhere "$LOGS_DIR"/artifacts',
        EDITED,
    ),
    "puts a file where the patch goes": (
        f'{EDIT} rm -rf "$LOGS_DIR"/artifacts; touch "$LOGS_DIR"/artifacts',
        EDITED,
    ),
    "commits and tags": (f"{EDIT} git commit -qam done; git tag done", EDITED),
    "moves HEAD": (f"{EDIT} git symbolic-ref HEAD refs/heads/none; git add calc.py", EDITED),
    "goes to an earlier commit": ("git checkout -q -b other v1.0", ("--- a/calc.py",)),
    "removes .git": (f"{EDIT} rm -rf .git", EDITED),
    "begins a repository anew": (
        f"{EDIT} rm -rf .git; git init -q; git add .; git commit -qm new",
        EDITED,
    ),
    "changes settings": (
        (
            f"{EDIT} git config core.autocrlf true; git config diff.noprefix true;"
            " git config core.fileMode false; git config color.ui always;"
            " git config --global diff.noprefix true; git config --global core.fileMode false"
        ),
        ("--- a/calc.py", *EDITED),
    ),
    "does nothing": ("true", ()),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A repository with its mirror beside it."""
    folder = tmp_path_factory.mktemp("swebench")
    more = dict.fromkeys(("gone", "moved", "tool", "was-text", "latin", "becomes"), "some text\n")
    converted = {"win.bat": "a\r\n", "unix.bat": "a\n", "wide": "x\n", "id": "$Id$\n"}
    git = {
        ".gitignore": "*.log\nout/\n",
        ".gitattributes": "*.bat eol=crlf\nid ident\nwide text working-tree-encoding=UTF-16LE\n",
    }
    made = attrs.evolve(CALC, base={**CALC.base, **more, **converted, **git}).make(folder / "calc")
    made.mirror(folder)
    return made


@asynccontextmanager
async def a_repository(made: Made, folder: Path) -> AsyncIterator[tuple]:
    """The benchmark, its task, and an open session with the repository prepared for an agent."""
    benchmark = SWEbenchVerified(SWEbenchVerified.Config(repos_dir=str(made.folder.parent)))
    [task] = benchmark.load_tasks(write_rows(folder, [made.row("t")]))
    async with opened(HOST_PROCESS) as session:
        await benchmark.prepare_task(task, session, a_plan())
        yield benchmark, task, session


async def patch_of(session: Session) -> bytes:
    done = await session.exec(["bash", "-c", TAKE_PATCH.command])
    assert done.ok, done.stderr
    return await session.read(PATCH)


def files(session: Session) -> dict[str, object]:
    """Every file and link of the working directory but git's own: its mode, and what is in it."""
    root = Path(session.workdir)
    paths = [path for path in root.rglob("*") if ".git" not in path.parts]
    return {
        str(path.relative_to(root)): str(path.readlink())
        if path.is_symlink()
        else (path.stat().st_mode & 0o111, path.read_bytes())
        for path in paths
        if path.is_symlink() or path.is_file()
    }


async def applied(benchmark, task, patch: bytes) -> dict[str, object]:
    """The files of a fresh repository with the patch."""
    async with opened(HOST_PROCESS) as session:
        await benchmark.prepare_evaluation(task, None, a_plan(), session)
        await session.write(PATCH, patch)
        done = await session.exec(["bash", "-c", _APPLY])
        assert done.ok or not patch, done.stdout + done.stderr
        return files(session)


@pytest.mark.parametrize("deed", DEEDS)
async def test_a_patch_makes_the_same_files_again(tmp_path: Path, made: Made, deed: str) -> None:
    script, parts = DEEDS[deed]
    async with a_repository(made, tmp_path) as (benchmark, task, session):
        done = await session.exec(f"{AGENT}{script}")
        assert done.ok, done.stderr
        patch = await patch_of(session)

        assert [part for part in parts if part not in patch.decode("utf-8", "replace")] == []
        assert bool(patch) == bool(parts)
        assert await applied(benchmark, task, patch) == files(session)


async def test_only_what_changed_since_the_start_is_in_the_patch(
    tmp_path: Path, made: Made
) -> None:
    """Some public images hold build folders that nobody tracks."""
    async with a_repository(made, tmp_path) as (_, __, session):
        await session.exec("mkdir build; echo 1 > build/lib; echo 1 > build/other; rm README")
        await note_start(session)
        await session.exec("echo 2 > build/lib; echo 1 > new.log; mkdir out; echo 1 > out/a")
        patch = (await patch_of(session)).decode()

    assert "build/lib" in patch
    assert [name for name in ("other", "README", "new.log", "out/a") if name in patch] == []


async def test_a_tracked_file_that_is_ignored_is_in_the_patch(tmp_path: Path, made: Made) -> None:
    async with a_repository(made, tmp_path) as (_, __, session):
        await session.exec("echo 1 > kept.log; git add -f kept.log")
        await note_start(session)
        await session.exec("echo 2 > kept.log")

        assert "+2" in (await patch_of(session)).decode()


async def test_what_cannot_be_in_a_patch_is_told_and_the_rest_is_measured(
    tmp_path: Path, made: Made
) -> None:
    async with a_repository(made, tmp_path) as (_, __, session):
        within = (
            "git init -q empty; echo 1 > empty/file; git clone -q . whole; rm -rf whole/calc.py"
        )
        assert (await session.exec(f"{EDIT}{within}")).ok
        patch = (await patch_of(session)).decode()
        faults = (await session.read(FAULTS)).decode()

    assert EDITED[0] in patch
    assert "empty" not in patch
    assert "'empty/' does not have a commit checked out" in faults
    assert "embedded git repository: whole" in faults


async def test_a_removed_record_of_the_start_is_said(tmp_path: Path, made: Made) -> None:
    async with a_repository(made, tmp_path) as (_, __, session):
        await session.exec('rm -rf "$LOGS_DIR"/start.git; echo forged > "$LOGS_DIR"/artifacts/x')
        done = await session.exec(["bash", "-c", TAKE_PATCH.command])

    assert done.exit_code == 1
    assert "where the state at the start is kept, is gone" in done.stderr
