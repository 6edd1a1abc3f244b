"""What is learned from tasks before they run."""

from agentcompass.engine.loading import _secrets
from agentcompass.records.task import TaskSpec


def test_credentials_are_known_wherever_a_task_hands_them_to_a_sandbox() -> None:
    """Fails where only the first level of the metadata is looked at."""
    task = TaskSpec(
        task_id="t",
        env_variables={"API_KEY": "of-the-agent", "MODE": "fast"},
        evaluation_env_variables={"HF_TOKEN": "of-the-verifier"},
        metadata={
            "host_secrets": {"MY_PASSWORD": "of-the-host"},
            "steps": [{"name": "one", "verifier_env": {"STEP_SECRET": "of-a-step", "N": "3"}}],
        },
    )

    assert sorted(_secrets([task])) == [
        "of-a-step",
        "of-the-agent",
        "of-the-host",
        "of-the-verifier",
    ]
