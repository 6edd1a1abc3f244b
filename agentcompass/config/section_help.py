"""What the settings of a run mean: sections `execution`, `runtime`, `model` and `output`."""

from collections.abc import Mapping
from typing import Any

from agentcompass.config.sections import ModelSection, OutputSection, RuntimeSection
from agentcompass.records.request import (
    ArtifactLimits,
    AttemptPlan,
    Budget,
    ExecutionOptions,
)
from agentcompass.records.task import ArtifactSpec, CollectCommand

_EXECUTION: Mapping[str, str] = {
    "task_concurrency": "Executions at once, retries included.",
    "attempts": "How often each task is measured.",
    "enabled_recipes": "Consider only these recipes; [] leaves all that fit.",
    "keep_environment": "Leave sandboxes in place, to look into them.",
    "enable_analysis": "Run the analyzers after scoring.",
    "analysis_params": "Which analyzers, and their settings.",
    "max_retries": "Further executions of an attempt that failed in a matching way.",
    "retry_pattern_list": (
        "Regular expressions for the ERRORs to retry; null or [] retries FATAL only."
    ),
    "retry_min_delay_seconds": "The first back-off; each further one is twice as long, in seconds.",
    "retry_max_delay_seconds": "The longest back-off, in seconds.",
    "attempt_budget": "What the model calls of each attempt may take.",
    "run_budget": "What the model calls of all attempts may take.",
    "run_timeout_seconds": "The agent's time; null is the task's or the harness's.",
    "run_timer_compensation_seconds": "What a harness gets on top to wind down, in seconds.",
    "evaluation_timeout_seconds": "The verifier's time; null is the task's.",
    "timeout_multiplier": "Stretches both times.",
    "run_timeout_multiplier": "Stands for timeout_multiplier for the agent.",
    "evaluation_timeout_multiplier": "Stands for timeout_multiplier for the verifier.",
    "runresult_collect_timeout_seconds": "Collecting the agent's submission, in seconds.",
    "artifact_collect_timeout_seconds": "All artifact commands together, in seconds; null is none.",
    "artifact_limits": "For all artifacts of an attempt together.",
    "save_artifacts": "Keep artifacts; null keeps them for a fresh verifier.",
    "artifacts": "What to collect from the sandbox: paths or objects; null is the benchmark's.",
    "artifact_collect": "Commands or objects, run before artifacts are downloaded.",
    "cleanup_grace_seconds": "What cleanup may take after a cancellation, in seconds.",
}
_RUNTIME: Mapping[str, str] = {
    "results_dir": "The root of all runs, from the working directory.",
    "data_dir": "The root of data sets and caches, from the working directory.",
    "timeout_seconds": "The deadline of the whole request once preflight is done; 0 is none.",
    "provider_limits": "Live sandboxes at once by provider; 0 is no limit.",
    "env_open_qps": "Sandboxes opened per second by provider; 0 is no limit.",
    "progress": "How to show progress on stderr.",
    "log_level": "What to log on stderr.",
    "file_log_level": "What to log in run.log.",
    "log_file": "A further file for the run's log.",
    "auto_install_dependencies": "Install the optional packages that a component needs.",
    "recipe_dirs": "Trusted folders of further recipes.",
    "reuse": "Take over what an earlier run has finished.",
    "reuse_run_id": "The run to take it from; null is the newest that fits.",
    "checkpoint_resume": "Score from checkpoints what an earlier run left unscored.",
}
_OTHERS: Mapping[type[Any], Mapping[str, str]] = {
    AttemptPlan: {
        "k": "Attempts at each task.",
        "strategy": "avg measures all k attempts; pass stops a task at its first success.",
    },
    Budget: {
        "max_total_tokens": "Tokens of prompts and completions; null is no limit.",
        "max_cost_usd": "US dollars; null is no limit.",
    },
    ArtifactLimits: {
        "max_mb": "Megabytes (2^20 bytes).",
        "max_files": "Files and folders.",
        "timeout_seconds": "Time to download or restore them, in seconds.",
    },
    ArtifactSpec: {
        "source": "An absolute path in the sandbox.",
        "destination": "A relative path among the artifacts.",
        "exclude": "Patterns of what is left out below a folder.",
        "service": "The service of the sandbox that has it.",
    },
    CollectCommand: {
        "command": "Run by bash -c.",
        "timeout_seconds": "How long it may take, in seconds.",
        "service": "The service that runs it.",
        "user": "Who runs it.",
    },
    ModelSection: {
        "id": "The model under test.",
        "base_url": "Where calls go.",
        "api_key": 'The credential for them; "${NAME}" reads the environment.',
        "api_protocol": "A protocol, a list in order of preference, or auto.",
        "params": "Fields for the body of each call.",
    },
    OutputSection: {
        "run_name": "Folders between the results folder and that of the run's components.",
        "run_id": "The folder of the run; null is the time.",
    },
}

SECTION_MEANINGS: Mapping[tuple[type[Any], str], str] = {
    (owner, name): text
    for owner, texts in {
        ExecutionOptions: _EXECUTION,
        RuntimeSection: _RUNTIME,
        **_OTHERS,
    }.items()
    for name, text in texts.items()
}
