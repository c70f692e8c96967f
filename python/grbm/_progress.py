"""Progress that is seen: a bar on a terminal and in a notebook, a line for every tenth elsewhere."""

from __future__ import annotations

import html
import sys
import time
from typing import Any

_EVERY = 0.1  # seconds between two drawings


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def _time_text(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds + 0.5), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}" if minutes >= 60 else f"{minutes}:{seconds:02}"


class Progress:
    """How far something is. Nothing is drawn unless it is `enabled`."""

    def __init__(self, label: str, total: int, enabled: bool = True, done: int = 0):
        self.label, self.total, self.enabled, self.done = label, max(1, total), enabled, done
        self._first, self._start, self._drawn, self._tenth = done, time.monotonic(), 0.0, -1
        self._text, self._handle = "", None
        self._kind = "notebook" if _in_notebook() else "terminal" if sys.stderr.isatty() else "lines"

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: Any) -> None:
        if not self.enabled:
            return
        self._draw(last=True)
        if self._kind == "terminal":
            sys.stderr.write("\n")
            sys.stderr.flush()

    def update(self, done: int, text: str = "") -> None:
        self.done, self._text = done, text
        now = time.monotonic()
        if self.enabled and now - self._drawn >= _EVERY:
            self._drawn = now
            self._draw()

    def _line(self) -> str:
        elapsed = time.monotonic() - self._start
        rate = (self.done - self._first) / elapsed if elapsed > 0 else 0.0
        left = f", {_time_text((self.total - self.done) / rate)} left" if rate > 0 and self.done < self.total else ""
        return f"{self.done}/{self.total}  {rate:.3g}/s, {_time_text(elapsed)}{left}  {self._text}".rstrip()

    def _draw(self, last: bool = False) -> None:
        if self._kind == "notebook":
            self._draw_notebook()
        elif self._kind == "terminal":
            filled = 24 * self.done // self.total
            sys.stderr.write(f"\r\033[K{self.label} {'█' * filled}{'░' * (24 - filled)} {self._line()}"[:220])
            sys.stderr.flush()
        elif last or 10 * self.done // self.total > self._tenth:
            if last and 10 * self.done // self.total == self._tenth == 10:
                return
            self._tenth = 10 * self.done // self.total
            print(f"{self.label} {self._line()}", file=sys.stderr, flush=True)

    def _draw_notebook(self) -> None:
        from IPython.display import HTML, display

        bar = f'<progress value="{self.done}" max="{self.total}" style="width: 16em; vertical-align: middle"></progress>'
        page = HTML(f'<div style="font-family: monospace">{html.escape(self.label)} {bar} {html.escape(self._line())}</div>')
        if self._handle is None:
            self._handle = display(page, display_id=True)
        else:
            self._handle.update(page)
