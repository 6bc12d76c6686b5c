"""Steps found in the sequence of the kernels, where nothing on the host names or frames them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.steps.iterations.tokens import Rhythm, rhythms
from perfetto_autoviz.steps.iterations.units import MOST, NEARLY_ALL, Units
from perfetto_autoviz.steps.iterations.work import Bools, Work

DISTINCT_GAP = 3.0
"""How many times longer than all others in its surroundings a gap must be to be the seam."""

USUAL_GAP = 1_000
"""Time in ns up to which a gap is none that others could be longer than."""

MIN_TOKENS = 4
"""Operations and pairs that come once in a unit, from which that is no coincidence. Measured: 17
to 69 for steps, at most 13 for parts of them."""

SUPPORTED = 0.25
"""Share of the most tokens that a rhythm needs to be taken for its number of beats."""

SMALL_GRAPH = 4
"""Kernels of one launch that make it the replay of a graph: some calls launch a few."""

WHOLE_GRAPH = 0.1
"""Share of the seams that may lie inside a replay: more, and it is no seam."""


@dataclass(frozen=True)
class Line:
    """Activities in the order in which they were launched, or else in which they ran.

    Attributes:
        work: all activities.
        order: shape (m,), their indices in order.
        gap: shape (m,), time in ns before each: between the launches, or on the device.
        launched: whether the order is that of the launches.
    """

    work: Work
    order: Ints
    gap: Ints
    launched: bool

    @classmethod
    def of(cls, work: Work, *, launched: bool) -> Line:
        """By launches, for those that have one, or by start on the busiest device."""
        if launched:
            index = np.flatnonzero(work.launch_ts >= 0)
            order = index[np.lexsort((work.ts[index], work.launch_ts[index]))]
            times = work.launch_ts[order]
            return cls(work, order, np.diff(times, prepend=times[:1]), launched=True)
        devices = np.unique(work.device)
        busy = [int(work.dur[work.device == device].sum()) for device in devices]
        order = np.flatnonzero(work.device == devices[int(np.argmax(busy))])
        end = np.maximum.accumulate(work.ts[order] + work.dur[order])
        idle = work.ts[order] - np.concatenate([work.ts[order[:1]], end[:-1]])
        return cls(work, order, np.maximum(idle, 0), launched=False)

    def inside_replay(self) -> Bools:
        """Whether an activity and the one before it come from one graph's launch; shape (m,)."""
        number = self.work.correlation[self.order]
        _, group, count = np.unique(number, return_inverse=True, return_counts=True)
        same = np.zeros(len(self.order), bool)
        same[1:] = (number[1:] == number[:-1]) & (number[1:] > 0)
        return same & (count[group] >= SMALL_GRAPH)


@dataclass(frozen=True)
class Cut:
    """Where the steps of a line start, and where the last one ends.

    Attributes:
        starts: shape (n,), positions in the line.
        stop: position after the last step.
    """

    starts: Ints
    stop: int

    def owner(self, size: int) -> Ints:
        """The step of each position of a line, -1 before the first and after the last."""
        found = np.searchsorted(self.starts, np.arange(size), side="right") - 1
        found[self.stop :] = -1
        return found


def find_cut(line: Line) -> Cut | str:
    """Where steps start, from what comes once in each; or why there are none to be found.

    Where a model attends, the rhythm with the most beats is the steps', of all whose units may
    be steps: those with fewer are steps of one kind. Otherwise it is the one with most tokens.
    """
    if not len(line.order):
        return "there are no activities"
    beside = _beside_attention(line)
    cut = _find_cut(line, ~beside)
    if isinstance(cut, str) and beside.any():
        return _find_cut(line, np.ones(len(line.order), bool))
    return cut


def _beside_attention(line: Line) -> Bools:
    """Where a device's other streams run beside those that attend; shape (m,).

    What prepares the next step runs there at any time of the one before it.
    """
    stream, attends = line.work.stream[line.order], line.work.attends[line.order]
    if line.launched or not attends.any():
        return np.zeros(len(line.order), bool)
    return ~np.isin(stream, np.unique(stream[attends]))


def _find_cut(line: Line, chosen: Bools) -> Cut | str:
    """As `find_cut`, from the activities chosen, by position; shape (m,)."""
    place = np.flatnonzero(chosen)
    op, stream = line.work.op[line.order[place]], line.work.stream[line.order[place]]
    found: list[tuple[Rhythm, Cut]] = []
    refusals: list[tuple[int, str]] = [(0, "no operation comes once in each of several steps")]
    for rhythm in rhythms(op, stream):
        if rhythm.support < MIN_TOKENS:
            continue
        rhythm = replace(rhythm, beats=place[rhythm.beats])
        cut = _cut(line, rhythm)
        refused = _refusal(line, cut)
        if refused is None:
            found.append((rhythm, cut))
        else:
            refusals.append((rhythm.support, refused))
    if not found:
        return max(refusals)[1]
    most = max(rhythm.support for rhythm, _ in found)
    least = SUPPORTED * most if line.work.attends.any() else most
    known = [one for one in found if one[0].support >= least and not _misses_some(one, found)]
    return max(known or found, key=lambda one: one[0].size)[1]


def _misses_some(one: tuple[Rhythm, Cut], others: list[tuple[Rhythm, Cut]]) -> bool:
    """Whether units of a rhythm of fewer beats lack this one's: it is then not in each step.

    Layers that only some steps run recur more often than steps.
    """
    rhythm, cut = one
    return any(
        np.diff(np.searchsorted(cut.starts, coarse.starts)).min(initial=1) == 0
        for other, coarse in others
        if other.size < rhythm.size and 2 * other.support >= rhythm.support
    )


def _refusal(line: Line, cut: Cut) -> str | None:
    units = units_of(line, cut)
    refused = units.refusal()
    if refused is not None:
        return refused
    if line.inside_replay()[cut.starts].mean() > WHOLE_GRAPH:
        return "what recurs starts inside the replay of a graph"
    if (
        not units.attended
        or units.plenty_of_attentions()
        or units.marked()
        or _gap_stands_out(line, cut)
    ):
        return None
    return "what recurs may be groups of layers: nothing in it belongs to steps only"


def _gap_stands_out(line: Line, cut: Cut) -> bool:
    """Whether most steps start after a gap longer than all gaps within them."""
    inner = line.gap.copy()
    inner[cut.starts] = 0
    longest = np.maximum.reduceat(inner, cut.starts)
    before = line.gap[cut.starts]
    return bool((before[1:] >= DISTINCT_GAP * longest[1:]).mean() >= MOST)


def _cut(line: Line, rhythm: Rhythm) -> Cut:
    beats = _seam_beats(line, rhythm)
    starts = _starts(line, beats)
    paused, clear = _after_pauses(line, starts, rhythm.beats)
    moved = paused < starts
    if moved[1:].mean() >= MOST:
        # Where most steps start before their first token, a pause right at it is another one.
        clear &= moved
    # The host pauses before a step; a device does in some captures, and then before each.
    if clear[1:].mean() >= NEARLY_ALL:
        starts = start_as_others(line.work.op[line.order], starts, paused, clear)
    elif line.launched:
        starts = paused
    starts = _before_copies(line, starts)
    stop = _stop(starts, beats, len(line.order))
    fed = None if line.launched else _with_inputs(line, starts, rhythm.beats)
    if fed is not None:
        starts, stop = fed, _end_of_lag(fed, stop, len(line.order))
    cut = Cut(starts, stop)
    kept = units_of(line, cut).worked
    if kept.stop < len(starts):
        return Cut(starts[kept], int(starts[kept.stop]))
    return Cut(starts[kept], cut.stop)


def _before_copies(line: Line, starts: Ints) -> Ints:
    """Starts moved back over the copies from the host right before them.

    These are a step's inputs, where nearly all steps start with such copies.
    """
    feeds = line.work.feeds[line.order]
    other = np.flatnonzero(~feeds)
    before = np.searchsorted(other, starts) - 1
    found = np.where(before >= 0, other[np.maximum(before, 0)] + 1, 0)
    return found if (feeds[starts] | (found < starts)).mean() >= NEARLY_ALL else starts


def units_of(line: Line, cut: Cut) -> Units:
    """The units that a cut makes of a line."""
    return Units(line.work, line.order, cut.owner(len(line.order)), len(cut.starts))


def _after_pauses(line: Line, starts: Ints, beats: Ints) -> tuple[Ints, Bools]:
    """Starts moved back to the pause before them, behind the token or the layers before that.

    A step starts with copies and fills whose number differs, which are no tokens.

    Returns:
        The starts, and which of them follow a pause.
    """
    layers = np.flatnonzero(line.work.attends[line.order])
    places = np.union1d(beats.ravel(), layers)
    before = np.searchsorted(places, starts) - 1
    floor = np.where(before >= 0, places[np.maximum(before, 0)] + 1, 0)
    pauses = np.array(
        [pause_before(line.gap, low, start) for low, start in zip(floor, starts, strict=True)],
        np.int64,
    )
    found = np.where(pauses < 0, starts, pauses)
    # Before the first step the recording starts, and that is no pause.
    if before[0] < 0 and starts[0] <= (starts - found)[1:].max(initial=0):
        found[0] = 0
    return found, pauses >= 0


def _with_inputs(line: Line, starts: Ints, beats: Ints) -> Ints | None:
    """Starts moved back to where a stream of its own starts to copy the step's inputs.

    It does while the step before still runs, after having had nothing to do for most of it. How
    much of that step runs meanwhile differs, so that no other operation marks the place.

    Returns:
        The starts; None where no stream makes such copies for all steps.
    """
    ts, dur = line.work.ts[line.order], line.work.dur[line.order]
    stream, feeds = line.work.stream[line.order], line.work.feeds[line.order]
    usual = MOST * np.median(np.diff(ts[starts]))
    tokens = np.sort(beats.ravel())
    for own in np.unique(stream[feeds]):
        mine = np.flatnonzero(stream == own)
        if not feeds[mine].all():
            continue
        idle = ts[mine][1:] - (ts + dur)[mine][:-1]
        first = mine[np.append(True, idle >= usual)]
        at = np.searchsorted(first, starts, side="right") - 1
        moved: Ints = first[at]
        clear = (at >= 0) & (np.searchsorted(tokens, moved) == np.searchsorted(tokens, starts))
        if clear.all():
            return moved
    return None


def _end_of_lag(starts: Ints, stop: int, size: int) -> int:
    """The last step's end, where inputs are copied ahead of the work on them.

    What follows, and is less than a step, has no inputs of its own: it lags behind.
    """
    return size if size - stop < np.diff(starts).min() else stop


def start_as_others(op: Ints, starts: Ints, moved: Ints, clear: Bools) -> Ints:
    """Starts without a pause before them moved as others, behind the same operations."""
    found = moved.copy()
    heads = {tuple(op[new:start]) for new, start in zip(moved, starts, strict=True) if new < start}
    for place in np.flatnonzero(~clear & (moved == starts)):
        start = int(starts[place])
        low = int(starts[place - 1]) if place else 0
        for head in sorted(heads, key=len, reverse=True):
            if len(head) <= start - low and tuple(op[start - len(head) : start]) == head:
                found[place] = start - len(head)
                break
    return found


def pause_before(gap: Ints, low: int, start: int) -> int:
    """Position of the longest gap from ``low`` to ``start``; -1 if it is not by far the longest."""
    gaps = gap[low : start + 1]
    second, longest = np.sort([0, *gaps])[-2:]
    return low + int(gaps.argmax()) if longest >= DISTINCT_GAP * max(second, USUAL_GAP) else -1


def _seam_beats(line: Line, rhythm: Rhythm) -> Ints:
    """The beats of tokens that lie between the same two attentions, where most of them do.

    What leads from one kind of layers to another comes once in a step, too.

    Returns:
        Shape (tokens, n), by position.
    """
    attentions = line.work.attentions(line.order).astype(np.int64)
    passed = np.cumsum(attentions)[rhythm.beats]
    here = [_together(passed, one) for one in passed]
    chosen = max(here, key=lambda mask: int(mask.sum()))
    return rhythm.beats[chosen]


def _together(passed: Ints, one: Ints) -> Bools:
    same = np.all(passed == one, axis=1)
    earlier = np.all(passed[:, 1:] == one[:-1], axis=1)
    later = np.all(passed[:, :-1] == one[1:], axis=1)
    found: Bools = same | earlier | later
    return found


def _starts(line: Line, beats: Ints) -> Ints:
    """Recordings start between two steps; if this one didn't, a long gap tells where they do."""
    order = np.argsort(beats[:, 0], kind="stable")
    first: Ints = beats[order[0]]
    if first[0] == 0:
        return first
    by_gap = _longest_gaps(line, beats)
    if by_gap is not None:
        return by_gap
    inside = line.inside_replay()[beats[order]].mean(axis=1)
    between: Ints = beats[order[int(np.argmax(inside <= WHOLE_GRAPH))]]
    return between


def _longest_gaps(line: Line, beats: Ints) -> Ints | None:
    """Starts after the longest gap among the tokens, if there is one that stands out."""
    typical = np.median(line.gap[beats], axis=1)
    if len(typical) < 2:
        return None
    second, longest = np.sort(typical)[-2:]
    starts: Ints = beats[int(typical.argmax())]
    whole = len(line.order) - starts[-1] >= MOST * np.median(np.diff(starts))
    if whole and longest > 0 and longest >= DISTINCT_GAP * second:
        return starts
    return None


def _stop(starts: Ints, beats: Ints, size: int) -> int:
    """After as many activities as steps have at most behind the token that is seen last."""
    token = beats[int(beats[:, -1].argmax())]
    following = np.searchsorted(starts, token, side="right")
    known = following < len(starts)
    behind = starts[following[known]] - token[known]
    return min(size, max(int(token[-1]) + int(behind.max(initial=1)), int(starts[-1]) + 1))
