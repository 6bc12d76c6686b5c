"""A position in a mangled name, and the steps that a grammar takes from it."""

from __future__ import annotations

import re

from perfetto_autoviz.steps.ops.node import MAX_DEPTH, NameTooDeepError


class UnsupportedError(ValueError):
    """The mangled name uses what is not read here, or is no mangled name."""


class Cursor:
    """Reads a text from its begin.

    Attributes:
        text: the text.
        at: where the next token begins.
        depth: how many rules are nested here.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def go_deeper(self) -> None:
        """Enters a rule that may hold itself.

        Raises:
            NameTooDeepError: that happened too often.
        """
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise NameTooDeepError

    def peek(self, token: str) -> bool:
        """Whether a token is next."""
        return self.text.startswith(token, self.at)

    def takes(self, token: str) -> bool:
        """Takes a token if it is next, and says whether it was.

        Raises:
            UnsupportedError: it isn't, as the text has ended.
        """
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        if self.at >= len(self.text):
            raise UnsupportedError
        return False

    def expect(self, token: str) -> None:
        """Takes a token that must be next.

        Raises:
            UnsupportedError: it isn't.
        """
        if not self.takes(token):
            raise UnsupportedError

    def match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Takes what a pattern matches.

        Raises:
            UnsupportedError: nothing.
        """
        match = pattern.match(self.text, self.at)
        if match is None:
            raise UnsupportedError
        self.at = match.end()
        return match
