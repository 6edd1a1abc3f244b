"""A sandbox that is on no list of what may be left over."""

import uuid
from collections.abc import Mapping
from typing import Any


class Unlisted:
    """A `protocols.Resource` that nobody keeps a journal of."""

    owner = directory = ""

    def __init__(self) -> None:
        self.id = uuid.uuid4().hex

    async def opened(self, close_params: Mapping[str, Any]) -> None:
        """Nothing to note."""

    async def releasing(self) -> None:
        """Nothing to note."""

    async def release_failed(self, error: str) -> None:
        """Nothing to note."""

    async def released(self) -> None:
        """Nothing to note."""
