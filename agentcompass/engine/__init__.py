"""The nursery tree: request, task, attempt, execution, evaluation; and what decides beside it."""
