"""What the settings common to all environments and models mean; the records are for all layers."""

from collections.abc import Mapping
from typing import Any

from agentcompass.records.environment import EnvironmentSetup, NetworkPolicy, Resources
from agentcompass.records.request import EnvironmentSpec, ModelSpec

MEANINGS: Mapping[tuple[type[Any], str], str] = {
    (EnvironmentSpec, "setup"): "What to start for the agent; image alone is setup.image.",
    (EnvironmentSpec, "evaluation_setup"): "What to start for a fresh verifier; null is as setup.",
    (EnvironmentSpec, "resources"): "Compute for the agent's sandbox; null leaves it to the task.",
    (EnvironmentSpec, "evaluation_resources"): "Compute for a fresh verifier's sandbox.",
    (EnvironmentSpec, "env_variables"): "Variables for the agent, the solution and the verifier.",
    (EnvironmentSpec, "evaluation_mode"): (
        "Where scoring happens: on the host alone, in the agent's sandbox, or in a fresh one;"
        " null leaves it to the benchmark. evaluation_environment_mode is read as well."
    ),
    (EnvironmentSpec, "network_policy"): "Who may be reached, unless a phase has its own policy.",
    (EnvironmentSpec, "run_network_policy"): "Who the agent may reach.",
    (EnvironmentSpec, "verifier_network_policy"): "Who the verifier may reach.",
    (EnvironmentSetup, "image"): "The image to start.",
    (EnvironmentSetup, "build_context"): "A host folder with a Dockerfile to build instead.",
    (EnvironmentSetup, "build_timeout_seconds"): "How long the build may take.",
    (EnvironmentSetup, "workdir"): "Where commands run.",
    (EnvironmentSetup, "user"): "Who runs them.",
    (EnvironmentSetup, "os"): "The operating system that the task needs.",
    (Resources, "cpu"): "Cores.",
    (Resources, "memory_mb"): "Memory.",
    (Resources, "storage_mb"): "Disk space.",
    (Resources, "gpu"): "Number of GPUs.",
    (Resources, "gpu_type"): "The kind of GPU.",
    (NetworkPolicy, "network_mode"): "Everybody, nobody, only or all but the hosts listed.",
    (NetworkPolicy, "allowed_hosts"): (
        "For allowlist: host, *.host, an address or a CIDR, each also with :port."
    ),
    (NetworkPolicy, "denied_hosts"): "For denylist, in the same form.",
    (ModelSpec, "base_url"): "Where calls go (--model-base-url).",
    (ModelSpec, "api_key"): "The credential (--model-api-key); never written or shown.",
    (ModelSpec, "api_protocol"): (
        "A protocol, or several in order of preference (--model-api-protocol);"
        " empty or auto takes the first that the harness speaks."
    ),
    (ModelSpec, "params"): (
        "Those below (--model-params); over HTTP, all others go into the body of each call."
    ),
}

UNITS: Mapping[str, str] = {
    "build_timeout_seconds": "s",
    "cpu": "cores",
    "memory_mb": "MB",
    "storage_mb": "MB",
}
