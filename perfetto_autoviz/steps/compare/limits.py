"""The numbers that were chosen for comparing builds, and why."""

from __future__ import annotations

from dataclasses import dataclass

from perfetto_autoviz.errors import UsageError

THRESHOLD = 0.5
"""Score above which loops match: half of what they run is common, in name and in order."""

JUDGED_RUNS = 5
"""Fewest runs of either build from which an interval or a significance is derived."""

CONFIDENCE = 0.95
"""Share of the bootstrap distribution inside the interval."""

RESAMPLES = 2000
"""Bootstrap samples: the ends of a 95 % interval then rest on 50 samples each."""

BOOTSTRAP_RUNS = 2048
"""Runs that are resampled at most. Beyond, evenly spaced ones stand for all: the interval
gets wider than necessary, but stays far narrower than any change of interest."""

SIGNIFICANCE = 0.05
"""Level after Holm's correction at which a change of an operation is called significant."""

FEWEST_BATCHES, MOST_BATCHES = 10, 30
"""Batches of neighbouring runs whose means are tested. A level that is shared by some dozen
operations takes ten to be reached by a change of three spreads, and more than thirty gain
little power while they shrink what hides dependence."""

LARGEST_CORRELATION = 0.98
"""Largest correlation of neighbouring runs that is reckoned with: beyond, a series of some
hundred runs tells nothing of its mean."""

CLOCK_RANGE = 0.15
"""Largest common change of all operations that is taken for one of the device's clock: boost
clocks move by about a tenth within one capture of 40 equal training steps."""

CLOCK_REACH = 1.5
"""How much more than the common change an operation may follow the clock: of that capture's
operations the median gets 8 % faster and the most dependent one 11 %."""

WATERFALL_BARS = 10
"""Operations with a bar of their own."""

LARGEST_GROUP = 16
"""Most kernels that one kernel is split into, or that are fused into one."""

LARGEST_GROUP_OF_MANY, MANY_CELLS = 4, 1_000_000
"""The same where sequences of a thousand and more are aligned, for which time grows with it."""


@dataclass(frozen=True)
class Weights:
    """Shares of the two similarities in a pair's score.

    Attributes:
        jaccard: of the similarity of the sets.
        levenshtein: of the similarity of the sequences.
    """

    jaccard: float = 0.7
    levenshtein: float = 0.3

    def __post_init__(self) -> None:
        if min(self.jaccard, self.levenshtein) < 0 or self.jaccard + self.levenshtein <= 0:
            raise UsageError(
                f"the weights {self.jaccard:g} and {self.levenshtein:g} make no score; give two"
                " numbers that are not negative, e.g. 0.7 and 0.3"
            )

    def score(self, jaccard: float, levenshtein: float) -> float:
        """The weighted mean, from 0 to 1."""
        total = self.jaccard + self.levenshtein
        return (self.jaccard * jaccard + self.levenshtein * levenshtein) / total
