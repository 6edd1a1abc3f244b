"""Break the engine on purpose, one change at a time, and see the named property fail.

Run by `make mutations` and by CI: a property that passes on its mutant holds nothing.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parent.parent
QUIET = ("-q", "-x", "-p", "no:cacheprovider", "--no-header", "-o", "faulthandler_timeout=0")
PROPERTIES = "tests/engine/test_scheduler_properties.py"


@attrs.frozen
class Mutation:
    """Replace `old`, which has to occur once in `file`, by `new`; `test` of `tests` has to fail."""

    test: str
    file: str
    old: str
    new: str
    tests: str = PROPERTIES


MUTATIONS = (
    Mutation(
        "test_no_limit_is_ever_exceeded",
        "engine/limits.py",
        "        await self.take(provider, moving=True)\n\n    def release",
        "        self.provider = provider\n\n    def release",
    ),
    Mutation(
        "test_whoever_waits_has_a_full_provider_or_no_free_slot",
        "engine/lines.py",
        """    able = (line for line in _lines(changed) if line.has_all_for(line.first))
    return min(able, key=lambda line: line.first, default=None)
""",
        """    first = min(_lines(changed), key=lambda line: line.first, default=None)
    return first if first is not None and first.has_all_for(first.first) else None
""",
    ),
    Mutation(
        "test_every_task_and_attempt_is_measured_exactly_once",
        "engine/task.py",
        "                break\n",
        "                pass\n",
    ),
    Mutation(
        "test_retries_stay_in_their_budget_and_retry_only_what_matches",
        "engine/attempt.py",
        "used=used, may_rescore",
        "used=used - 1, may_rescore",
    ),
    Mutation(
        "test_a_run_passes_its_budget_by_the_calls_under_way_at_most",
        "engine/budget.py",
        "        self.allowance.check()\n",
        "",
        "tests/engine/test_budgets.py",
    ),
    Mutation(
        "test_a_run_passes_its_budget_by_the_calls_under_way_at_most",
        "engine/attempt.py",
        "if run.account.refuses():",
        "if False:",
        "tests/engine/test_budgets.py",
    ),
    Mutation(
        "test_sums_of_money_are_exact_to_the_billionth",
        "engine/budget.py",
        "_exact(spent.cost_usd) >= dollars",
        "spent.cost_usd >= dollars",
        "tests/engine/test_budgets.py",
    ),
    Mutation(
        "test_a_fault_of_one_task_changes_no_other_result",
        "engine/boundary.py",
        "    except BaseException as error:",
        "    except KeyError as error:",
    ),
    Mutation(
        "test_results_do_not_depend_on_the_schedule",
        "engine/evaluation.py",
        "        execution.result.metrics = dict(verdict)\n",
        "        busy = execution.run.job.limits.slots.borrowed_tokens\n"
        "        execution.result.metrics = {'correct': busy > 1}\n",
    ),
    Mutation(
        "test_the_makespan_lies_between_its_bounds",
        "engine/limits.py",
        "        self.release()\n\n    async def take",
        "        self.release()\n        await trio.sleep(1)\n\n    async def take",
    ),
    Mutation(
        "test_opens_are_paced",
        "engine/limits.py",
        "        self._next_at = turn + 1 / self.qps\n",
        "",
    ),
    Mutation(
        "test_a_request_ends_by_its_deadline_and_keeps_what_finished",
        "engine/request.py",
        "with trio.CancelScope(deadline=ends_at) as scope:\n                await",
        "with trio.CancelScope(deadline=ends_at + 99) as scope:\n                await",
    ),
    Mutation(
        "test_a_cancelled_request_leaves_nothing_open",
        "engine/sessions.py",
        "    with cleanup(run.cleanup) as scope:\n",
        "    with trio.CancelScope() as scope:\n        await trio.lowlevel.checkpoint()\n",
    ),
    Mutation(
        "test_events_follow_their_grammar",
        "engine/events.py",
        "        if attempt not in self._attempts:\n",
        "        if True:\n",
    ),
    Mutation(
        "test_the_snapshot_is_the_fold_and_its_counts_add_up",
        "progress/tracker.py",
        '"running_tasks" if event.task_id in self._active else "pending_tasks"',
        '"pending_tasks"',
    ),
    Mutation(
        "test_stopped_anywhere_and_reused_a_run_ends_as_if_it_had_not_been_stopped",
        "engine/reuse.py",
        "                return False\n",
        "                continue\n",
        tests="tests/engine/test_resume.py",
    ),
    Mutation(
        "test_stopped_anywhere_and_reused_a_run_ends_as_if_it_had_not_been_stopped",
        "store/reuse_plan.py",
        'stored.verdict == "keep"\n    }',
        'stored.verdict != "keep"\n    }',
        tests="tests/engine/test_resume.py",
    ),
    Mutation(
        "test_tasks_that_change_places_do_not_wait_for_each_other",
        "engine/limits.py",
        "        self.release()\n        await self.take(provider, moving=True)\n",
        """        mine = self._held
        await self.take(provider, moving=True)
        give_back(*mine)
""",
    ),
    Mutation(
        "test_whatever_is_changed_while_it_runs_properties",
        "engine/lines.py",
        "if self.gate.is_shut or self.slots",
        "if self.slots",
        tests="tests/engine/test_pausing.py",
    ),
    Mutation(
        "test_a_provider_limit_that_is_set_counts_those_who_were_let_in_without_one",
        "engine/lines.py",
        "            self.permits.borrowed_tokens += 1\n",
        "            self.permits.borrowed_tokens += self.permits.total_tokens < 1e9\n",
        tests="tests/engine/test_pausing.py",
    ),
    Mutation(
        "test_slots_and_providers_are_held_and_nothing_waits_that_could_run",
        "engine/lines.py",
        "            self.room.set()\n",
        "            pass\n",
        tests="tests/engine/test_orchestration.py",
    ),
    Mutation(
        "test_a_provider_that_fills_up_meanwhile_holds_up_no_request_of_another",
        "engine/lines.py",
        "            line.room.set()\n",
        "            pass\n",
        tests="tests/engine/test_orchestration.py",
    ),
    Mutation(
        "test_nothing_waits_unstarted_that_could_run",
        "engine/starting.py",
        "        for provider in providers:\n",
        "        for provider in list(providers)[:1]:\n",
        tests="tests/engine/test_starting.py",
    ),
    Mutation(
        "test_as_many_tasks_wait_as_there_are_slots_and_not_all",
        "engine/starting.py",
        "            async with limits.admit(provider):\n                pass\n",
        "            await trio.lowlevel.checkpoint()\n",
        tests="tests/engine/test_starting.py",
    ),
    *(
        Mutation(test, "engine/lines.py", old, new, tests="tests/engine/test_lines.py")
        for test, old, new in (
            (
                "test_who_needs_two_scarce_things_gets_them_although_others_always_want_one",
                "            permits.owed.add(self)\n",
                "            pass\n",
            ),
            (
                "test_what_is_owed_to_somebody_who_gives_up_is_for_the_others",
                "            serve(*line.needs())  # others",
                "            pass  # others",
            ),
            (
                "test_a_paused_request_is_owed_nothing_and_keeps_its_place",
                "for each in owed if not each.gate.is_shut)",
                "for each in owed)",
            ),
            (
                "test_all_that_are_cancelled_at_once_leave_nothing_borrowed",
                "            give_back(*line.needs())\n",
                "            pass\n",
            ),
            (
                "test_whatever_is_wanted_nothing_is_exceeded_or_waited_for_in_vain_and_all_ends",
                "        self._total = total\n        serve(self)\n",
                "        self._total = total\n",
            ),
            (
                "test_whatever_is_wanted_nothing_is_exceeded_or_waited_for_in_vain_and_all_ends",
                "tokens.lines for tokens in changed)",
                "tokens.lines for tokens in changed[:1])",
            ),
        )
    ),
)


def survives(mutation: Mutation, folder: Path) -> str | None:
    """Why the mutation was not caught, or None where it was."""
    package = folder / "agentcompass"
    shutil.copytree(ROOT / "agentcompass", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    target = package / mutation.file
    text = target.read_text()
    if text.count(mutation.old) != 1:
        return f"its text occurs {text.count(mutation.old)} times in {mutation.file}"
    target.write_text(text.replace(mutation.old, mutation.new))
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *QUIET, f"{mutation.tests}::{mutation.test}"],
        cwd=folder,
        env={
            **os.environ,
            "HYPOTHESIS_PROFILE": "mutations",
            "PYTHONPATH": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if ran.returncode == 1 and "failed" in ran.stdout:
        return None
    return f"the test did not fail (pytest {ran.returncode}): {ran.stdout[-300:]}"


def main() -> int:
    """Try every mutation; 1 where one survives."""
    survivors = 0
    for mutation in MUTATIONS:
        with tempfile.TemporaryDirectory() as folder:
            fault = survives(mutation, Path(folder))
        survivors += fault is not None
        print(f"{'SURVIVES' if fault else 'caught'}  {mutation.test}  {fault or ''}", flush=True)
    print(f"{len(MUTATIONS) - survivors} of {len(MUTATIONS)} mutations caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
