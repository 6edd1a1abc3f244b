"""What goes on record of a plan: run_info.json and the event `execution_plan_resolved`. Pure."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import attrs

from agentcompass.records.convert import unstructure
from agentcompass.records.environment import EnvironmentPlan, NetworkPolicy
from agentcompass.records.plan import ExecutionPlan

_said = attrgetter(*(f.name for f in attrs.fields(ExecutionPlan) if f.name != "task_id"))


@attrs.define(eq=False)
class PlanRecords:
    """The records of plans, one after the other: those that say the same are the very same."""

    _said: tuple[Any, ...] = ()
    _record: dict[str, Any] = attrs.field(factory=dict)

    def of(self, plan: ExecutionPlan) -> Mapping[str, Any]:
        """The record of a plan, which nobody is to change."""
        if (said := _said(plan)) != self._said:
            self._said, self._record = said, plan_record(plan)
        return self._record


def plan_record(plan: ExecutionPlan) -> dict[str, Any]:
    """The summary for run_info.json and the event `execution_plan_resolved`."""
    return {
        "environment": _environment_record(plan.environment),
        "evaluation_environment": (
            None
            if plan.evaluation_environment is None
            else _environment_record(plan.evaluation_environment)
        ),
        "evaluation_environment_mode": plan.evaluation_mode,
        "run_network_policy": _policy_record(plan.run_network_policy),
        "verifier_network_policy": _policy_record(plan.verifier_network_policy),
        "applied_recipes": list(plan.applied_recipes),
        "run_timeout_seconds": plan.run_timeout_seconds,
        "evaluation_timeout_seconds": plan.evaluation_timeout_seconds,
        "run_timer_compensation_seconds": plan.run_timer_compensation_seconds,
        "runresult_collect_timeout_seconds": plan.runresult_collect_timeout_seconds,
        "artifact_collect_timeout_seconds": plan.artifact_collect_timeout_seconds,
        "artifact_limits": unstructure(plan.artifact_limits),
        "save_artifacts": plan.save_artifacts,
    }


def _environment_record(environment: EnvironmentPlan) -> dict[str, Any]:
    return {
        "id": environment.id,
        "network_policy": _policy_record(environment.network_policy),
        "setup": _set_fields(environment.setup),
        "resources": _set_fields(environment.resources),
    }


def _policy_record(policy: NetworkPolicy) -> dict[str, Any]:
    record = {"network_mode": policy.network_mode, "allowed_hosts": list(policy.allowed_hosts)}
    if policy.denied_hosts:
        record["denied_hosts"] = list(policy.denied_hosts)
    return record


def _set_fields(section: Any) -> dict[str, Any]:
    return {key: value for key, value in attrs.asdict(section).items() if value is not None}
