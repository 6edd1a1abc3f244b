"""What every contestant asks the model in a task."""


def question(number: int) -> str:
    """The text of the only message."""
    return f"Task {number}. Reply with DONE."
