"""Names come from captures, and a terminal obeys what it is sent."""

from __future__ import annotations

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from perfetto_autoviz.cli import terminal

HOSTILE = "\x1b]0;title\x07\x1b[2J\u202eevil\u2066\x9b31m"


def _unseen(text: str) -> set[str]:
    return {char for char in text if unicodedata.category(char) in {"Cc", "Cf"} - {"\n"}} - {"\n"}


def _table(name: str) -> Table:
    table = Table(box=None)
    table.add_column("Kernel", max_width=20)
    table.add_row(name)
    return table


@pytest.mark.parametrize("thing", [HOSTILE, Text(HOSTILE, style="bold"), _table(HOSTILE)])
def test_no_name_steers_the_terminal(capsys: pytest.CaptureFixture[str], thing: str) -> None:
    terminal.show(thing)
    terminal.remark(HOSTILE)
    terminal.fail(HOSTILE, 2)
    shown = capsys.readouterr()
    assert not _unseen(shown.out + shown.err)
    assert r"\x1b]0;" in shown.out
    assert r"\x1b[2J\u202eevil\u2066\x9b31m" in shown.err


@given(st.text(max_size=40))
def test_no_text_at_all(text: str) -> None:
    stream = io.StringIO()
    screen = terminal.console()
    screen.file = stream
    screen.print(Text(text), soft_wrap=True)
    assert not _unseen(stream.getvalue())


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_our_own_colours_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = _Terminal()
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal.show(Text(f"a{HOSTILE}", style="bold red"))
    written = stream.getvalue()
    assert written.startswith("\x1b[1;31ma")
    assert written.count("\x1b") == 2  # the style, and its end
