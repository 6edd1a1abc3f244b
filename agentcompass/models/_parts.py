"""The parts of a message's content in OpenAI chat form, for protocols that call them otherwise."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Part = Mapping[str, Any]


def converted(
    content: Any, text: Callable[[str], Part], image: Callable[[str, Mapping[str, Any]], Part]
) -> Iterator[Part]:
    """Each part of a content by these makers: of text, of an image's URL and its other fields.

    Empty text is left out; what is neither text nor an image goes on as it is.
    """
    if isinstance(content, str):
        content = [content]
    for part in content or ():
        given = {"type": "text", "text": part} if isinstance(part, str) else part
        if given.get("type") == "text":
            if given.get("text"):
                yield text(str(given["text"]))
        elif given.get("type") == "image_url":
            picture = given["image_url"]
            fields = {"url": picture} if isinstance(picture, str) else picture
            yield image(str(fields["url"]), fields)
        else:
            yield given


def plain_text(content: Any) -> str:
    """Only the text of a content."""
    if isinstance(content, str):
        return content
    parts = (part if isinstance(part, str) else part.get("text") for part in content or ())
    return "".join(text for text in parts if isinstance(text, str))
