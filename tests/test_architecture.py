"""Who may import whom, as docs/design.md draws it: read from the imports, not run."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "agentcompass"
PLUG_INS = ("analyzers", "benchmarks", "environments", "harnesses", "models", "recipes")
BASE = frozenset({"errors", "records"})

# Each part of the package, and which other parts it may name.
MAY_IMPORT: dict[str, frozenset[str]] = {
    "errors": frozenset(),
    "_version": frozenset(),
    "records": BASE,
    "deadlines": BASE,
    "as_owner": frozenset(),
    "callbacks": BASE,
    "groups": frozenset(),
    "loops": BASE,
    "endings": BASE,
    "metrics": BASE | {"metrics"},
    "protocols": BASE | {"deadlines"},
    "abilities": BASE | {"protocols"},
    "registry": BASE,
    "plugin_edge": BASE,
    "datasets": BASE
    | {"datasets", "config", "registry", "protocols", "abilities", "deadlines", "plugin_edge"},
    "config": BASE | {"config", "registry", "protocols", "plugin_edge"},
    "progress": BASE | {"progress", "deadlines", "protocols", "store"},
    "store": BASE
    | {"store", "progress", "deadlines", "protocols", "as_owner", "_version"}
    | {"groups"},
    "engine": BASE
    | {"engine", "store", "progress", "metrics", "protocols", "abilities", "deadlines"}
    | {"_version", "as_owner", "plugin_edge"},
    **{part: BASE | {part, "protocols", "deadlines"} for part in PLUG_INS},
    "environments": BASE | {"environments", "protocols", "deadlines", "as_owner"},
    "extending": frozenset({"benchmarks"}),
    "recipe_choice": BASE | {"config", "registry", "protocols", "plugin_edge"},
    "model_choice": BASE | {"registry", "protocols", "abilities", "store"},
    "dependencies": BASE | {"deadlines"},
    "preflight": BASE
    | {"config", "engine", "store", "registry", "protocols", "deadlines", "preflight"}
    | {"abilities", "plugin_edge", "datasets", "recipe_choice", "model_choice", "dependencies"},
    "summarizing": BASE | {"config", "store", "metrics"},
    "exporting": BASE | {"exporting", "config", "store", "metrics", "summarizing"},
    "evaluating": BASE | {"engine", "groups", "metrics", "preflight", "protocols", "store"},
    "launching": BASE
    | {"config", "engine", "evaluating", "groups", "preflight", "protocols", "store"},
    "sdk": BASE
    | {"config", "store", "protocols", "progress", "evaluating", "launching", "loops"}
    | {"summarizing", "exporting", "callbacks"},
    "embedding": BASE
    | {"config", "engine", "progress", "protocols", "preflight", "registry"}
    | {"evaluating", "endings", "groups", "loops"},
    "cli": BASE
    | {"cli", "sdk", "config", "progress", "registry", "protocols", "abilities", "_version"}
    | {"metrics", "store", "datasets", "deadlines", "evaluating", "launching"},
    "__main__": BASE | {"cli", "_version"},
    "__init__": BASE | {"_version", "config", "embedding", "recipes", "sdk"},
}

PURE = ("records", "metrics", "config/merge.py", "engine/retry.py", "progress/tracker.py")
IMPURE = frozenset({"trio", "os", "time", "datetime", "random", "socket", "subprocess", "httpx"})

# A third-party package, and the only places that may import it.
ONLY_IN = {
    "httpx": ("models/", "environments/", "datasets/http_file.py"),
    "docker": ("environments/docker", "environments/_docker"),
    "asyncclick": ("cli/", "__main__.py"),
    "yaml": ("config/", "cli/"),
    "rich": ("cli/", "progress/"),
    "cattrs": ("records/convert.py",),
    "jinja2": ("harnesses/",),
    "asyncio": (),
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    """Every module that a file names in an import, wherever the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield node.module or ""
            if node.module == "agentcompass":
                yield from (f"agentcompass.{alias.name}" for alias in node.names)


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def names(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("path", modules(), ids=names)
def test_a_module_imports_only_what_its_part_may(path: Path) -> None:
    part = part_of(path)
    used = {
        module.split(".")[1]
        for module in imports(path)
        if module.startswith("agentcompass.") and module.count(".")
    }

    assert part in MAY_IMPORT, f"{part} has no place in the picture"
    assert used - MAY_IMPORT[part] - {part} == set()


def test_siblings_among_plug_ins_do_not_import_each_other() -> None:
    for part in PLUG_INS:
        public = {path.stem for path in (PACKAGE / part).glob("[!_]*.py")}
        for path in (PACKAGE / part).glob("*.py"):
            named = {m.rpartition(".")[2] for m in imports(path) if f".{part}." in m}
            family = {path.stem} if part != "benchmarks" else {path.stem, "task_directory"}
            assert named & public <= family, f"{names(path)} imports a sibling"


@pytest.mark.parametrize("place", PURE)
def test_pure_modules_have_no_clock_and_no_input(place: str) -> None:
    target = PACKAGE / place
    for path in sorted(target.rglob("*.py")) if target.is_dir() else [target]:
        used = {module.split(".")[0] for module in imports(path)}
        assert used & IMPURE == set(), f"{names(path)} is not pure"


@pytest.mark.parametrize(("package", "places"), ONLY_IN.items())
def test_a_heavy_package_is_imported_in_its_places_only(
    package: str, places: tuple[str, ...]
) -> None:
    users = [
        names(path)
        for path in modules()
        if any(module.split(".")[0] == package for module in imports(path))
    ]

    assert [user for user in users if not user.startswith(places)] == []


def _raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def test_plug_ins_and_callbacks_are_all_that_is_caught_whole() -> None:
    catchers = [
        names(path)
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and node.type is not None
        and any(
            getattr(name, "id", "") in ("Exception", "BaseException")
            for name in ast.walk(node.type)
        )
        and not _raises_again(node)
    ]

    # A plug-in's bug ends its attempt, or the run before it begins, and a caller's bug its own
    # callback; nothing else is hidden.
    assert catchers == ["callbacks.py", "callbacks.py", "engine/boundary.py", "plugin_edge.py"]


def test_nothing_but_cleanup_shields() -> None:
    shields = [
        names(path)
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "shield"
    ]

    assert shields == ["deadlines.py"]


def test_no_module_passes_400_lines() -> None:
    long = {names(path): len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}

    assert {name: lines for name, lines in long.items() if lines > 400} == {}
