"""One Hypothesis strategy per record, and the values that records are made of."""

from typing import Any, get_args

from hypothesis import strategies as st

from agentcompass.records.artifacts import ArtifactEntry, ArtifactManifest, EntryStatus
from agentcompass.records.attempt import (
    AttemptResult,
    PublishedTask,
    TaskHeader,
    TaskIndex,
    attempt_name,
)
from agentcompass.records.checkpoint import (
    AttemptCheckpoint,
    EvaluationCheckpoint,
    LogicalAttempt,
    RetryDetail,
)
from agentcompass.records.environment import (
    EnvironmentPlan,
    EnvironmentSetup,
    ExecResult,
    NetworkPolicy,
    Resources,
)
from agentcompass.records.issue import Issue
from agentcompass.records.metrics import MetricDisplay
from agentcompass.records.model import Reply, Usage
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.progress import ActiveTask, ProgressEvent, ProgressSnapshot
from agentcompass.records.request import (
    ArtifactLimits,
    AttemptPlan,
    ComponentSpec,
    EnvironmentSpec,
    ExecutionOptions,
    ModelSpec,
    OutputOptions,
    ProcessOptions,
    ReuseOptions,
    RunRequest,
)
from agentcompass.records.run_info import (
    DeclaredMetric,
    MetricArtifacts,
    MetricBasis,
    Origin,
    RunInfo,
)
from agentcompass.records.task import (
    ArtifactSpec,
    CollectCommand,
    PreparedTask,
    RunResult,
    RunStatus,
    TaskInput,
    TaskOutput,
    TaskSpec,
)

# Everything that a str can hold, lone surrogates included, as models and file names bring them;
# but no pair of them in two pieces, which JSON cannot tell from the character that they stand for.
texts = st.text(max_size=12) | st.sampled_from(
    ["\ud83d", "a\udcbc", "\x00", "é", "\u2028", "x" * 300]
)
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
words = st.text("abcxyz", min_size=1, max_size=6)
seconds = st.floats(0, 1e6)
counts = st.integers(0, 1000)

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(texts, children, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, values, max_size=3)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The same, or None."""
    return st.none() | strategy


def tuples(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Up to three of them."""
    return st.lists(strategy, max_size=3).map(tuple)


task_ids = texts.filter(lambda text: bool(text) and text == text.strip())
issues = st.builds(
    Issue,
    severity=st.sampled_from(["fatal", "error", "warning"]),
    phase=st.sampled_from(["setup", "run", "collect", "evaluate", "cleanup"]),
    code=words,
    message=texts.filter(lambda text: bool(text.strip())),
)
metrics = st.dictionaries(words, st.booleans() | st.floats(-1e9, 1e9), max_size=3)
modes = st.sampled_from(["none", "reuse", "fresh"])
statuses = st.sampled_from(get_args(RunStatus))

network_policies = st.builds(
    NetworkPolicy,
    network_mode=st.sampled_from(["public", "no-network", "allowlist", "denylist"]),
    allowed_hosts=tuples(words),
    denied_hosts=tuples(words),
)
setups = st.builds(
    EnvironmentSetup, image=maybe(texts), build_timeout_seconds=maybe(seconds), workdir=maybe(texts)
)
resources = st.builds(Resources, cpu=maybe(seconds), memory_mb=maybe(counts), gpu_type=maybe(texts))
variables = st.dictionaries(words, texts, max_size=2)
environment_plans = st.builds(
    EnvironmentPlan,
    id=words,
    network_policy=network_policies,
    setup=setups,
    resources=resources,
    env_variables=variables,
)
exec_results = st.builds(
    ExecResult,
    exit_code=maybe(counts),
    stdout=texts,
    stderr=texts,
    timed_out=st.booleans(),
    seconds=seconds,
)

artifact_specs = st.builds(
    ArtifactSpec,
    source=texts,
    destination=maybe(texts),
    exclude=tuples(texts),
    service=maybe(words),
)
collect_commands = st.builds(
    CollectCommand, command=texts, timeout_seconds=seconds, service=words, user=maybe(words)
)
task_specs = st.builds(
    TaskSpec,
    task_id=task_ids,
    instruction=texts,
    category=maybe(texts),
    ground_truth=values,
    metadata=objects,
    setup=setups,
    evaluation_setup=maybe(setups),
    resources=resources,
    evaluation_resources=maybe(resources),
    evaluation_env_variables=maybe(variables),
    network_policy=maybe(network_policies),
    evaluation_mode=maybe(modes),
    env_variables=variables,
    artifacts=tuples(artifact_specs),
    artifact_collect=tuples(collect_commands),
    run_timeout_seconds=maybe(seconds),
    warnings=tuples(texts),
    fault=maybe(texts),
)
task_inputs = st.builds(
    TaskInput,
    prompt=texts,
    system_prompt=maybe(texts),
    media=tuples(objects),
    files=tuples(objects),
    workspace=maybe(texts),
    tools=tuples(objects),
    messages=tuples(objects),
)
task_outputs = st.builds(TaskOutput, answer=maybe(texts), files=tuples(objects))
prepared_tasks = st.builds(
    PreparedTask,
    task_id=task_ids,
    category=maybe(texts),
    ground_truth=values,
    input=task_inputs,
    output=task_outputs,
    metadata=objects,
)
run_results = st.builds(
    RunResult,
    task_id=task_ids,
    status=statuses,
    category=maybe(texts),
    final_answer=values,
    ground_truth=values,
    trajectory=objects,
    issues=st.lists(issues, max_size=2),
    artifacts=objects,
    metrics=metrics,
    telemetry=objects,
    meta=maybe(objects),
    extra=objects,
)

attempt_plans = st.builds(
    AttemptPlan, k=st.integers(1, 9), strategy=st.sampled_from(["avg", "pass"])
)
artifact_limits = st.builds(
    ArtifactLimits,
    max_mb=st.integers(1, 10**6),
    max_files=st.integers(1, 10**6),
    timeout_seconds=st.floats(1e-3, 1e6),
)
execution_plans = st.builds(
    ExecutionPlan,
    task_id=task_ids,
    benchmark=words,
    harness=words,
    environment=environment_plans,
    evaluation_environment=maybe(environment_plans),
    evaluation_mode=modes,
    run_network_policy=network_policies,
    verifier_network_policy=network_policies,
    applied_recipes=tuples(words),
    run_timeout_seconds=maybe(st.floats(1e-3, 1e6)),
    artifact_limits=artifact_limits,
    artifacts=tuples(artifact_specs),
    artifact_collect=tuples(collect_commands),
    save_artifacts=st.booleans(),
)

model_specs = st.builds(
    ModelSpec,
    id=words,
    base_url=texts,
    api_key=texts,
    api_protocol=words | tuples(words),
    params=objects,
)
component_specs = st.builds(ComponentSpec, id=words, params=objects)
environment_specs = st.builds(
    EnvironmentSpec,
    id=words,
    params=objects,
    setup=maybe(setups),
    resources=maybe(resources),
    env_variables=variables,
    evaluation_mode=maybe(modes),
    network_policy=maybe(network_policies),
    run_network_policy=maybe(network_policies),
    verifier_network_policy=maybe(network_policies),
)
execution_options = st.builds(
    ExecutionOptions,
    task_concurrency=st.integers(1, 99),
    attempts=attempt_plans,
    enabled_recipes=tuples(words),
    keep_environment=st.booleans(),
    analysis_params=objects,
    max_retries=counts,
    retry_pattern_list=maybe(tuples(words)),
    run_timeout_seconds=maybe(st.floats(1e-3, 1e6)),
    artifact_limits=artifact_limits,
    save_artifacts=maybe(st.booleans()),
    artifacts=maybe(tuples(artifact_specs)),
    artifact_collect=maybe(tuples(collect_commands)),
)
reuse_options = st.builds(
    ReuseOptions, reuse=st.booleans(), reuse_run_id=maybe(words), checkpoint_resume=st.booleans()
)
output_options = st.builds(OutputOptions, run_name=words, run_id=maybe(words))
run_requests = st.builds(
    RunRequest,
    benchmark=component_specs,
    harness=component_specs,
    model=model_specs,
    environment=environment_specs,
    execution=execution_options,
    runtime=reuse_options,
    output=output_options,
    metadata=objects,
)
process_options = st.builds(
    ProcessOptions,
    timeout_seconds=maybe(seconds),
    provider_limits=st.dictionaries(words, maybe(counts), max_size=2),
    env_open_qps=st.dictionaries(words, maybe(seconds), max_size=2),
    log_file=maybe(texts),
    recipe_dirs=tuples(texts),
)
usages = st.builds(
    Usage, prompt_tokens=maybe(counts), completion_tokens=maybe(counts), cost_usd=maybe(seconds)
)
replies = st.builds(
    Reply, message=objects, finish_reason=maybe(words), usage=usages, seconds=seconds
)

artifact_entries = st.builds(
    ArtifactEntry,
    source=texts,
    destination=texts,
    exclude=tuples(texts),
    service=maybe(words),
    status=st.sampled_from(get_args(EntryStatus)),
    kind=st.sampled_from([None, "file", "directory"]),
    sha256=maybe(words),
    size_bytes=maybe(counts),
    file_count=maybe(counts),
    error_type=maybe(words),
)
artifact_manifests = st.builds(
    ArtifactManifest,
    directory=texts,
    complete=st.booleans(),
    entries=tuples(artifact_entries),
    error_type=maybe(words),
    failed_operation=maybe(words),
)
task_headers = st.builds(
    TaskHeader,
    task_id=task_ids,
    category=maybe(texts),
    ground_truth=values,
    attempt_plan=attempt_plans,
)
indexes = st.lists(st.integers(1, 9), unique=True, max_size=3).map(
    lambda numbers: {str(number): attempt_name(number) for number in numbers}
)
task_indexes = st.builds(TaskIndex, task_id=task_ids, attempts=indexes)
published_tasks = st.builds(
    PublishedTask,
    task_id=task_ids,
    attempts=indexes,
    category=maybe(texts),
    ground_truth=values,
    attempt_plan=attempt_plans,
)
attempt_results = st.builds(
    AttemptResult,
    status=statuses,
    metrics=metrics,
    final_answer=values,
    trajectory=objects,
    issues=tuples(issues),
    artifacts=objects,
    analysis_result=objects,
    meta=st.fixed_dictionaries({"benchmark": objects, "harness": objects}),
    retry_count=counts,
)
evaluation_checkpoints = st.builds(
    EvaluationCheckpoint,
    task_id=task_ids,
    attempt=st.integers(1, 9),
    source_run_id=words,
    source_evaluation_mode=modes,
    artifacts=maybe(artifact_manifests),
    run_result=run_results,
    prepared_task=prepared_tasks,
    network_policy=maybe(network_policies),
    driver_inputs=st.dictionaries(texts, objects, max_size=2),
)
logical_attempts = st.builds(
    LogicalAttempt,
    task_id=task_ids,
    attempt_index=st.integers(1, 9),
    status=st.sampled_from(["completed", "failed"]),
    stop_requested=st.booleans(),
    retries=counts,
    error=maybe(texts),
    result_path=maybe(words),
)
attempt_checkpoints = st.builds(
    AttemptCheckpoint,
    evaluation=maybe(evaluation_checkpoints),
    scheduler=maybe(logical_attempts),
    artifact_transfer=maybe(artifact_manifests),
)
retry_details = st.builds(
    RetryDetail,
    task_id=task_ids,
    category=maybe(texts),
    attempt=st.integers(1, 9),
    retry=st.integers(1, 9),
    max_retries=counts,
    retry_delay_seconds=seconds,
    stage=words,
    scope=st.sampled_from(["attempt", "evaluate"]),
    matched_pattern=words,
    issues=tuples(issues),
    discarded_result=run_results,
)
origins = st.builds(Origin, run_id=maybe(words), path=maybe(texts))
metric_artifacts = st.builds(
    MetricArtifacts,
    generated_at=words,
    source=st.sampled_from(["evaluation", "summary"]),
    report=objects,
    benchmark_params_override=maybe(objects),
)
declared_metrics = st.builds(
    DeclaredMetric,
    metric_id=words,
    kind=st.sampled_from(["binary_success", "scalar"]),
    primary=st.booleans(),
    role=st.sampled_from(["headline", "auxiliary"]),
    display=maybe(
        st.builds(MetricDisplay, label=maybe(texts), unit=maybe(texts), precision=maybe(counts))
    ),
)
metric_bases = st.builds(
    MetricBasis,
    metrics=tuples(declared_metrics),
    aggregation_mode=st.sampled_from(["micro_weighted", "category_mean"]),
    category_hierarchy=maybe(objects),
)
run_infos = st.builds(
    RunInfo,
    run_id=words,
    started_at=words,
    request=objects,
    reused_from=maybe(origins),
    data_set=maybe(objects),
    task_ids=maybe(tuples(task_ids)),
    task_categories=maybe(st.dictionaries(task_ids, texts, max_size=2)),
    metric_basis=maybe(metric_bases),
    resolved_execution_plans=maybe(
        st.dictionaries(task_ids, st.dictionaries(words, objects, max_size=1), max_size=2)
    ),
    metric_artifacts=maybe(metric_artifacts),
    status=maybe(words),
    finished_at=maybe(words),
    error=maybe(texts),
)

active_tasks = st.builds(
    ActiveTask,
    category=maybe(texts),
    phase=words,
    attempt=maybe(counts),
    updated_at=seconds,
    details=objects,
)
progress_snapshots = st.builds(
    ProgressSnapshot,
    run_id=words,
    benchmark=words,
    harness=words,
    environment=words,
    model=words,
    status=words,
    total_tasks=counts,
    current_phase_counts=st.dictionaries(words, counts, max_size=2),
    active_tasks=st.dictionaries(task_ids, active_tasks, max_size=2),
    elapsed_seconds=seconds,
    updated_at=seconds,
)
progress_events = st.builds(
    ProgressEvent,
    run_id=words,
    event=words,
    timestamp=seconds,
    task_id=maybe(task_ids),
    category=maybe(texts),
    attempt=maybe(counts),
    phase=maybe(words),
    status=maybe(words),
    payload=objects,
    request_index=maybe(counts),
)
