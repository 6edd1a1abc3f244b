"""Pictures of a task as parts of a message in OpenAI chat form."""

import base64
import mimetypes
from collections.abc import Mapping
from typing import Any

from agentcompass.errors import TaskInvalid
from agentcompass.protocols import Session

_OCTETS = "application/octet-stream"


async def image_part(item: Mapping[str, Any], session: Session) -> dict[str, Any]:
    """The part for one of `TaskInput.media`; raises `TaskInvalid` where it is no picture.

    An item has a `url`, which goes out as it is, or `data` (bytes, or text in base64), or the
    `path` of a file in the session; `mime_type` where the file's name does not tell it.
    """
    if item.get("type", "image") != "image":
        raise TaskInvalid(f"media of type {item['type']!r} cannot be sent; known: image")
    return {"type": "image_url", "image_url": {"url": item.get("url") or await _url(item, session)}}


async def _url(item: Mapping[str, Any], session: Session) -> str:
    data, path = item.get("data"), item.get("path")
    if data is None and path:
        data = await _read(str(path), session)
    if not data:
        raise TaskInvalid("a picture of the task has neither url, data nor path")
    kind = item.get("mime_type") or mimetypes.guess_type(str(path or ""))[0] or _OCTETS
    if not str(kind).startswith("image/"):
        raise TaskInvalid(f"a picture of the task is of type {kind!r}: give its mime_type")
    text = data if isinstance(data, str) else base64.b64encode(data).decode()
    return f"data:{kind};base64,{text}"


async def _read(path: str, session: Session) -> bytes:
    try:
        return await session.read(path)
    except FileNotFoundError as error:
        raise TaskInvalid(f"a picture of the task is not there: {path!r}") from error
