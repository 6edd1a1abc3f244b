"""A tmux session in the environment: started once, typed into by one command a turn."""

from collections.abc import Sequence

import attrs

from agentcompass.errors import EnvironmentFailed, HarnessFailed
from agentcompass.harnesses._packages import install, install_script, why_failed
from agentcompass.harnesses._script import run_script
from agentcompass.harnesses._terminus_keys import typing
from agentcompass.harnesses._terminus_reply import Keys
from agentcompass.harnesses._terminus_screen import Screen, read_screen, shown
from agentcompass.protocols import Session
from agentcompass.records.environment import ExecResult

_HISTORY = 100_000  # lines that tmux keeps
_FORGOTTEN = 50_000  # lines at which they are dropped: all were shown, and the limit is never met

_HEAD = """\
pane=terminus-2
socket="${TMPDIR:-/tmp}/terminus-2.sock"
t() { tmux -u -S "$socket" "$@"; }
"""
# The limit of the history counts for panes that are made after it was set.
_START = """\
command -v tmux >/dev/null || exit 127
[ -n "$LANG$LC_ALL$LC_CTYPE" ] || export LANG=C.UTF-8
export TERM=xterm-256color
t -f /dev/null start-server \\; set-option -g history-limit {history} \\; \\
  set-option -g status off \\; set-option -g remain-on-exit on \\; \\
  new-session -d -x {width} -y {height} -s "$pane" "$(command -v bash || echo sh)" || exit 1
t display-message -p '#{{pid}}'
"""
# Both in one go of tmux, so that nothing is printed between them.
_LOOK = """\
state='#{{pane_dead}} #{{alternate_on}} #{{history_size}} #{{cursor_y}} #{{pane_height}}'
t display-message -p -t "$pane" "$state" \\; \\
  capture-pane -p -t "$pane" -S - | {{
  read -r dead drawn history cursor height || exit 3
  first={since}; [ "$first" -le "$history" ] || first=$history
  echo "screen $dead $drawn $history $cursor $height $first"
  tail -n "+$((first + 1))"
  [ "$history" -le {forgotten} ] || t clear-history -t "$pane"
  [ "$dead" = 0 ] || t respawn-pane -k -t "$pane"
}}
"""


@attrs.frozen(kw_only=True)
class Seen:
    """What came of a turn: terminal text for the model, and the seconds that it took."""

    text: str
    seconds: float


@attrs.define(eq=False, kw_only=True)
class Terminal:
    """The terminal of one agent. It ends with the session, and not before: what the agent left
    running in it may be what is scored.
    """

    session: Session
    cwd: str | None
    user: str | None
    width: int
    height: int
    install_seconds: float
    patience_seconds: float = 60.0
    _last: Screen | None = attrs.field(init=False, default=None)
    _since: int = attrs.field(init=False, default=0)
    _pid: int = attrs.field(init=False, default=0)

    async def start(self) -> None:
        """Start tmux, installing it first where it is missing; raises `EnvironmentFailed`."""
        ended = await self._start()
        if ended.exit_code == 127:
            script, seconds = install_script("tmux"), self.install_seconds
            await install(self.session, script, what="tmux", seconds=seconds)
            ended = await self._start()
        if not ended.ok:
            raise EnvironmentFailed(f"tmux cannot be started: {why_failed(ended)}")

    async def type(self, commands: Sequence[Keys]) -> Seen:
        """Send keystrokes, wait as they ask, and look; one command in the environment.

        A terminal that does not answer is started anew, and the text says so. Raises
        `HarnessFailed`, an ERROR, where that is not possible any more.
        """
        ended = await self._look(commands)
        screen = read_screen(ended.stdout, ended.truncated_bytes[0])
        if screen is None:
            return await self._replaced(ended)
        text = shown(self._last, screen)
        self._take(screen)
        if screen.is_dead:
            text += "\n\n[The shell has ended; a new one was started in the same terminal.]"
        return Seen(text=text, seconds=ended.seconds)

    def _take(self, screen: Screen) -> None:
        forgotten = screen.history if screen.history > _FORGOTTEN else 0
        self._since = screen.history - forgotten
        self._last = None if screen.is_dead else attrs.evolve(screen, history=self._since)

    async def _start(self) -> ExecResult:
        start = _START.format(history=_HISTORY, width=self.width, height=self.height)
        ended = await self._exec(start)
        self._pid = int(ended.stdout) if ended.ok and ended.stdout.strip().isdigit() else 0
        return ended

    async def _look(self, commands: Sequence[Keys]) -> ExecResult:
        look = _LOOK.format(since=self._since, forgotten=_FORGOTTEN)
        waits = sum(keys.seconds for keys in commands)
        return await self._exec(f"{typing(commands)}\n{look}", waits)

    async def _replaced(self, lost: ExecResult) -> Seen:
        self._last, self._since = None, 0
        kill = f"kill -9 {self._pid}; " if self._pid else ""
        await self._exec(f'{kill}rm -f "$socket"')
        ended = await self._start()
        screen = read_screen((await self._look(())).stdout) if ended.ok else None
        if screen is None:
            message = f"the terminal is lost and cannot be started anew: {why_failed(ended)}"
            raise HarnessFailed(message, severity="error", code="terminal_lost")
        self._take(screen)
        note = "[The terminal did not answer. A new one was started; what ran in it is gone.]"
        return Seen(text=f"{note}\n\n{shown(None, screen)}", seconds=lost.seconds)

    async def _exec(self, script: str, waits: float = 0.0) -> ExecResult:
        return await run_script(
            self.session,
            f"{_HEAD}{script}",
            cwd=self.cwd,
            timeout_seconds=waits + self.patience_seconds,
            user=self.user,
        )
