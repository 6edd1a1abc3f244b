"""Options under headings in `--help`."""

from typing import Any

import asyncclick as click


class GroupedOption(click.Option):
    """An option that knows under which heading it is shown."""

    def __init__(self, *args: Any, group: str, **extra: Any) -> None:
        super().__init__(*args, **extra)
        self.group = group


class GroupedCommand(click.Command):
    """A command whose help shows its options under their headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section for each group, and the rest last."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                groups.setdefault(getattr(param, "group", "Other"), []).append(record)
        for group, records in groups.items():
            with formatter.section(group):
                formatter.write_dl(records)
