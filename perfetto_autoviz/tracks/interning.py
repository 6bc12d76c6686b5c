"""Texts that are written once and then named by number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from perfetto_autoviz.tracks.ragged import join, message_field, of_rows, varint_field

# A C string in the engine ends at a NUL, so what follows it would be lost in silence.
_NUL = "\0"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class InternTable:
    """Numbers texts from 1, in the order in which they are first seen."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text, which is added if it's new."""
        return self._numbers.setdefault(text, len(self._numbers) + 1)

    def numbers(self, texts: Sequence[str | None] | pd.Series) -> npt.NDArray[np.int64]:
        """The number of each text; 0 for a missing one.

        Raises:
            TypeError: something is neither text nor missing.
        """
        codes, distinct = pd.factorize(pd.Series(texts, dtype=object))
        known = [0, *(self.number(_checked(text)) for text in distinct)]
        # A missing value has the code -1, so everything is shifted by one.
        return np.array(known, dtype=np.int64)[codes + 1]

    def encode(self, field: int) -> bytes:
        """All texts as entries of a repeated field of ``InternedData``."""
        texts = of_rows([text_bytes(text) for text in self._numbers])
        everywhere = np.ones(len(self._numbers), dtype=np.bool_)
        numbers = np.fromiter(self._numbers.values(), np.int64, len(self._numbers))
        entries = join(
            [varint_field(_IID, numbers, everywhere), message_field(_TEXT, texts, everywhere)]
        )
        return message_field(field, entries, everywhere).data.tobytes()


# Every interned message numbers these two fields alike.
_IID, _TEXT = 1, 2


def text_bytes(text: str) -> bytes:
    """A text as the engine can keep it: UTF-8, without NUL and lone surrogates."""
    return text.replace(_NUL, _REPLACEMENT).encode("utf-8", errors="replace")


def _checked(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{text!r} stands where a text should")
    return text
