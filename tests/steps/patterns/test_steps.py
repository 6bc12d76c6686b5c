"""Steps of several kinds: drafts and the steps that check them."""

from __future__ import annotations

import numpy as np
import pytest

from perfetto_autoviz.steps.patterns import detect_patterns, kernel_places
from tests.steps.patterns.sequences import kernels, text

HEAD, LAYER, TAIL = "BCDEFGHIJ", "nqradgmus", "xyzvw"
DRAFT, CHECK = HEAD + LAYER + TAIL, HEAD + LAYER * 12 + TAIL


@pytest.mark.parametrize("drafts", [1, 2, 4])
def test_drafts_and_their_checks_are_two_loops(drafts: int) -> None:
    """Also a check without a draft, as a prompt is, and any number of drafts."""
    turns = [DRAFT * drafts + CHECK] * 5
    found = detect_patterns([kernels(text("".join([*turns, CHECK, *turns, CHECK, *turns])))])
    by_kernels = {
        pattern.kernels: index for index, pattern in enumerate(found.patterns) if pattern.length > 9
    }
    counts = {size: int(np.sum(found.runs.pattern == i)) for size, i in by_kernels.items()}
    assert counts == {len(DRAFT): 15 * drafts, len(CHECK): 17}
    assert len(found.exceptions) == 0
    assert (kernel_places(found).position >= 0).all()


def test_checks_of_a_rank_that_lacks_a_kernel() -> None:
    turn = DRAFT + CHECK
    whole, lacking = text(turn * 9), text((turn * 9).replace("z", ""))
    found = detect_patterns([kernels(whole), kernels(lacking, rank=1)])
    steps = [pattern for pattern in found.patterns if pattern.length == len(HEAD + "L" + TAIL)]
    assert [pattern.ranks for pattern in steps] == [(0, 1), (0, 1)]
    assert {found.runs.rank[run] for run in found.exceptions.run.tolist()} == {1}
    assert len(found.exceptions) == 2 * 9


def test_a_loop_of_two_steps_starts_after_a_pause() -> None:
    """Two pauses, one before either step; the operation is the same."""
    one, other = "BCDE" + LAYER * 6 + "xy", "BCDE" + LAYER * 6 + "zw"
    turn = one + other
    gaps = np.full(len(turn) * 8, 2)
    gaps[:: len(turn)], gaps[len(one) :: len(turn)] = 9_000, 11_000
    found = detect_patterns([kernels(text(turn * 8), gaps=gaps)])
    first = next(p for p in found.patterns if p.kernels == len(turn))
    assert chr(first.ops[0]) == "B"
