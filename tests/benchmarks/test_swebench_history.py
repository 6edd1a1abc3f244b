"""An agent's repository is at the base commit, and nothing that came later is in it."""

from pathlib import Path

import attrs
import pytest

from agentcompass.benchmarks._swebench_repository import lay_out
from agentcompass.errors import EnvironmentFailed
from agentcompass.protocols import Session
from tests.benchmarks.swebench_projects import CALC, Made, git
from tests.contract.environment import HOST_PROCESS, opened

NO_MIRROR = Path("/nowhere/made__calc.git")

# Everything in which git keeps what is not on the branch.
LEAVE_TRACES = """
set -e
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
echo later > stashed; git add stashed; git stash -q
git notes add -m later; git worktree add -q ../elsewhere -b elsewhere
git commit -q --allow-empty -m 'later, on no branch'; git reset -q --hard HEAD^
git remote add origin /nowhere; git tag -a annotated -m later
echo later | git hash-object -w --stdin > ../blob; git tag blob "$(cat ../blob)"
git repack -adq; for pack in .git/objects/pack/*.pack; do touch "${pack%.pack}.keep"; done
git commit -q --allow-empty -m 'later, loose'; git checkout -q --detach; touch .git/MERGE_HEAD
"""


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return CALC.make(tmp_path / "calc")


async def said(session: Session, command: str) -> str:
    done = await session.exec(command)
    assert done.ok, done.stderr
    return done.stdout.strip()


async def subjects(session: Session) -> list[str]:
    """Of every commit among the objects, reachable or not."""
    listing = (
        "git cat-file --batch-all-objects --batch-check='%(objecttype) %(objectname)'"
        " | sed -n 's/^commit //p' | xargs git show -s --format=%s"
    )
    return sorted((await said(session, listing)).splitlines())


async def test_what_came_after_the_base_commit_is_nowhere_in_the_repository(made: Made) -> None:
    """cases.md 78. The branch, what led to it and the tags of that stay."""
    async with opened(HOST_PROCESS) as session:
        await session.upload(made.folder, ".")
        await said(session, LEAVE_TRACES)
        assert "the fix" in await subjects(session)

        await lay_out(session, commit=made.base, mirror=NO_MIRROR)

        assert await subjects(session) == ["base", "first"]
        assert await said(session, "git rev-parse HEAD") == made.base
        assert await said(session, "git status --porcelain") == ""
        assert await said(session, "git for-each-ref --format='%(refname)'") == "refs/tags/v1.0"
        assert await said(session, "git remote; git reflog; git stash list") == ""
        assert not (await session.exec("git cat-file -e $(cat ../blob)")).ok
        assert "return a - b" in await said(session, "cat calc.py")


async def test_the_commit_that_public_images_have_for_their_set_up_stays(made: Made) -> None:
    git(made.folder, "reset", "--quiet", "--hard", made.base)
    git(made.folder, "commit", "--quiet", "--allow-empty", "-m", "SWE-bench")
    async with opened(HOST_PROCESS) as session:
        await session.upload(made.folder, ".")
        await lay_out(session, commit=made.base, mirror=NO_MIRROR)

        assert await subjects(session) == ["SWE-bench", "base", "first"]


@pytest.mark.parametrize("whole", [True, False])
async def test_a_partial_clone_is_cleaned_or_refused(tmp_path: Path, whole: bool) -> None:
    """One that lacks files of earlier commits cannot be packed anew, which git is to say."""
    readme = "first\n" if whole else "second\n"
    made = attrs.evolve(CALC, base={**CALC.base, "README": readme}).make(tmp_path / "calc")
    git(made.folder, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "partial"
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{made.folder}", str(clone))
    git(clone, "checkout", "-q", made.base)
    async with opened(HOST_PROCESS) as session:
        await session.upload(clone, ".")
        if whole:
            await lay_out(session, commit=made.base, mirror=NO_MIRROR)
            assert await subjects(session) == ["base", "first"]
        else:
            with pytest.raises(EnvironmentFailed, match=r"later commits are not removed: .*"):
                await lay_out(session, commit=made.base, mirror=NO_MIRROR)


async def test_a_copy_of_a_mirror_has_only_what_led_to_the_base_commit(
    made: Made, tmp_path: Path
) -> None:
    made.mirror(tmp_path)
    async with opened(HOST_PROCESS) as session:
        await lay_out(session, commit=made.base, mirror=tmp_path / "made__calc.git")

        assert await subjects(session) == ["base", "first"]
        assert await said(session, "git tag; git branch --show-current") == "v1.0\nmain"
        assert await said(session, "git reflog") == ""
        assert await said(session, f"grep -rl {tmp_path} .git || true") == ""  # cases.md 77
        assert await said(session, "git status --porcelain") == ""


async def test_a_repository_that_is_not_there_is_said_with_what_to_do(
    made: Made, tmp_path: Path
) -> None:
    async with opened(HOST_PROCESS) as session:
        with pytest.raises(EnvironmentFailed, match=r"no repository in .*/app, and no mirror /now"):
            await lay_out(session, commit=made.base, mirror=NO_MIRROR)

        made.mirror(tmp_path)
        with pytest.raises(EnvironmentFailed, match=r"in .*made__calc.git failed: .*0000"):
            await lay_out(session, commit="0" * 40, mirror=tmp_path / "made__calc.git")

        await session.upload(made.folder, ".")
        with pytest.raises(EnvironmentFailed, match=r"lacks the base commit 0000"):
            await lay_out(session, commit="0" * 40, mirror=NO_MIRROR)
