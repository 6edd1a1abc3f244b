"""What a task's environment/ folder holds beside its Dockerfile, and where that would put it."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import attrs

DOCKERFILE = "Dockerfile"
COMPOSE_FILES = ("docker-compose.yaml", "docker-compose.yml")
_IGNORE_FILE = ".dockerignore"
_NOT_CONTENT = frozenset({DOCKERFILE, *COMPOSE_FILES, _IGNORE_FILE})


@attrs.frozen(kw_only=True)
class ContextEntry:
    """A file or a whole folder to copy; `link` is set where it is a symbolic link, to be kept."""

    source: Path
    target: str
    link: str | None = None


def dockerfile_workdir(text: str) -> str | None:
    """The working directory that a Dockerfile leaves; None if it says none, or by variables."""
    workdir: PurePosixPath | None = None
    for line in text.splitlines():
        word, _, rest = line.strip().replace("\t", " ").partition(" ")
        if word.upper() == "FROM":
            workdir = None
        elif word.upper() == "WORKDIR":
            step = PurePosixPath(rest.strip().strip("\"'"))
            workdir = step if step.is_absolute() else (workdir or PurePosixPath("/")) / step
    return None if workdir is None or "$" in str(workdir) else str(workdir)


def context_entries(folder: Path) -> tuple[ContextEntry, ...]:
    """The fewest copies that lay out the folder without Dockerfile, compose and ignored files.

    Blocking. Links are named one by one, to be made anew: followed, one could carry a file of the
    host, or the task's own tests, into the sandbox.
    """
    ignored = _Ignored.read(folder / _IGNORE_FILE)
    return tuple(_entries(folder, "", ignored))


def _entries(root: Path, prefix: str, ignored: "_Ignored") -> Iterator[ContextEntry]:
    for source in sorted((root / prefix).iterdir()):
        target = f"{prefix}{source.name}"
        if target in _NOT_CONTENT:
            continue
        if source.is_dir() and not source.is_symlink() and _is_mixed(root, target, ignored):
            yield from _entries(root, f"{target}/", ignored)
        elif not ignored(target):
            link = str(source.readlink()) if source.is_symlink() else None
            yield ContextEntry(source=source, target=target, link=link)


def _is_mixed(root: Path, folder: str, ignored: "_Ignored") -> bool:
    """Whether a folder holds both what is copied and what is not, or a link."""
    return any(
        ignored(name) != ignored(folder) or (root / name).is_symlink()
        for name in _names_below(root, folder)
    )


def _names_below(root: Path, folder: str) -> Iterator[str]:
    for parent, folders, files in os.walk(root / folder):
        relative = Path(parent).relative_to(root)
        yield from ((relative / name).as_posix() for name in (*folders, *files))


@attrs.frozen
class _Ignored:
    """The patterns of a .dockerignore in order; of those that match a path, the last decides."""

    patterns: Sequence[tuple[bool, re.Pattern[str]]]

    @classmethod
    def read(cls, path: Path) -> "_Ignored":
        lines = path.read_text("utf-8").splitlines() if path.is_file() else []
        rules = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        return cls([(not rule.startswith("!"), _pattern(rule.lstrip("!"))) for rule in rules])

    def __call__(self, path: str) -> bool:
        verdict = False
        for hides, pattern in self.patterns:
            if pattern.fullmatch(path):
                verdict = hides
        return verdict


def _pattern(rule: str) -> re.Pattern[str]:
    """A rule as an expression that also matches everything below what it names."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", rule.strip().strip("/").removeprefix("./"))
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(wild.get(part) or re.escape(part) for part in parts) + "(?:/.*)?")
