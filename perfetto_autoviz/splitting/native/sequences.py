"""What the packets of a sequence leave behind for those that follow them.

Source of the rules: https://perfetto.dev/docs/reference/trace-packet-proto, its fields
sequence_flags, trace_packet_defaults and interned_data, and those of ClockSnapshot.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

_STATE_CLEARED = 1  # of TracePacket.sequence_flags
_OF_SEQUENCE = range(64, 128)
"""Clocks that belong to one sequence; only these can count from the packet before."""

ABSOLUTE = 0
"""Stands for all clocks that don't count."""


def clears(packet: Any) -> bool:
    """Whether a packet ends all that was defined before in its sequence."""
    return bool(packet.flags & _STATE_CLEARED) or packet.cleared


@dataclass
class Sequence:
    """The state of one sequence.

    Attributes:
        clock: clock of packets that name none.
        track: track of events that name none.
        categories: texts of categories by their numbers.
        counting: for each clock on which times are differences, the number of its counting.
    """

    clock: int | None = None
    track: int | None = None
    categories: dict[int, str] = field(default_factory=dict)
    counting: dict[int, int] = field(default_factory=dict)

    def counting_of(self, packet: Any) -> int:
        """The counting that a packet's time is a step of, else ``ABSOLUTE``."""
        if not self.counting or not packet.HasField("timestamp"):
            return ABSOLUTE
        clock = packet.clock if packet.HasField("clock") else self.clock
        return self.counting.get(clock, ABSOLUTE) if clock is not None else ABSOLUTE


class Sequences:
    """All sequences of a trace, as its packets come.

    A clock whose times are differences counts anew from each of its snapshots: the times since
    then are one counting, which has a number in the trace.
    """

    def __init__(self) -> None:
        self._of: dict[int, Sequence] = {}
        self._countings = itertools.count(ABSOLUTE + 1)

    def enter(self, packet: Any) -> Sequence:
        """Takes in what a packet defines, and returns the state that holds for the packet."""
        sequence = self._of.get(packet.sequence)
        if sequence is None:
            sequence = self._of[packet.sequence] = Sequence()
        if clears(packet):
            sequence.clock = sequence.track = None
            sequence.categories = {}
        if packet.HasField("defaults"):
            _set_defaults(sequence, packet.defaults)
        if packet.HasField("interned"):
            for each in packet.interned.categories:
                sequence.categories[each.number] = each.text
        return sequence

    def snapshot(self, sequence: Sequence, snapshot: Any) -> None:
        """Takes in where the clocks of a sequence are."""
        for clock in snapshot.clocks:
            if clock.id in _OF_SEQUENCE and clock.incremental:
                sequence.counting[clock.id] = next(self._countings)


def _set_defaults(sequence: Sequence, defaults: Any) -> None:
    sequence.clock = defaults.clock if defaults.HasField("clock") else None
    events = defaults.track_event
    sequence.track = events.track if events.HasField("track") else None
