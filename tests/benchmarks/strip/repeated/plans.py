"""What the steps of a capture do, and how the capture was recorded: drawn by a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

MS = 1_000_000


@dataclass(frozen=True)
class Plan:
    """What a step does.

    Attributes:
        generating: requests with one token each.
        prompts: tokens of each prompt that it prefills.
        context: tokens before, of each generating request.
    """

    generating: int
    prompts: tuple[int, ...] = ()
    context: int = 1000

    @property
    def tokens(self) -> int:
        """All that it computes."""
        return self.generating + sum(self.prompts)

    @property
    def requests(self) -> int:
        """All that take part."""
        return self.generating + len(self.prompts)

    @property
    def phase(self) -> str:
        """Its true phase."""
        if not self.prompts:
            return "decode"
        return "mixed" if self.generating else "prefill"


@dataclass(frozen=True)
class Case:
    """A capture.

    Attributes:
        seed: of all that is random in it.
        kind: of its load.
        plans: its steps.
        jitter: standard deviation of the logs of durations.
        ahead: steps by which the host may run ahead of the device.
        pause: least and most time in ns of the host between two steps.
        idle: steps before which the server waits for requests.
        unlaunched: steps at the start that were launched before the recording.
        tail: share of the first of these that is recorded.
        cut: share of the last step that is recorded.
        second_stream: whether some kernels of each layer run on another stream.
        ranks: processes, each with a clock of its own.
    """

    seed: int
    kind: str
    plans: tuple[Plan, ...]
    jitter: float = 0.02
    ahead: int = 1
    pause: tuple[int, int] = (100_000, 600_000)
    idle: frozenset[int] = field(default_factory=frozenset)
    unlaunched: int = 0
    tail: float = 1.0
    cut: float = 1.0
    second_stream: bool = False
    ranks: int = 1


def drawn_case(seed: int, *, mixes: bool, longest: int) -> Case:
    """A case of 4 to ``longest`` steps.

    Args:
        seed: that it is drawn by.
        mixes: whether its server prefills and decodes in one step.
        longest: most steps.
    """
    draw = random.Random(seed)
    count = draw.choice([n for n in (4, 5, 6, 8, 12, 20, 32, 60) if n <= longest])
    kind = draw.choice(["decode", "ramp", "serving", "serving", "serving", "prefill"])
    unlaunched = draw.choice([0, 0, 0, 1, 1, 2])
    unlaunched = unlaunched if count - unlaunched >= MIN_LAUNCHED else 0
    return Case(
        seed=seed,
        kind=kind,
        plans=tuple(_plans(draw, kind, count, mixes=mixes)),
        jitter=draw.choice([0.01, 0.02, 0.05]),
        ahead=draw.choice([0, 0, 1, 1, 2]),
        pause=draw.choice([(30_000, 200_000), (100_000, 600_000), (500_000, 4 * MS)]),
        idle=frozenset(draw.sample(range(1, count), 1) if draw.random() < 0.3 else ()),
        unlaunched=unlaunched,
        tail=draw.choice([1.0, 0.1, 0.3, 0.6]) if unlaunched else 1.0,
        cut=draw.choice([1.0, 1.0, 1.0, 0.3, 0.7]),
        second_stream=draw.random() < 0.2,
        ranks=draw.choice([1, 1, 1, 2, 3]) if count <= MOST_BY_RANKS else 1,
    )


MIN_LAUNCHED = 4
"""Steps that are launched while it is recorded."""

MOST_BY_RANKS = 12
"""Steps of runs of several ranks, which take as much time each."""


def _plans(draw: random.Random, kind: str, count: int, *, mixes: bool) -> Iterator[Plan]:
    most = draw.choice([1, 4, 8, 16, 32, 64, 128])
    decodes = list(_decodes(draw, count, most, ramp=kind == "ramp"))
    every = {"prefill": 1, "serving": draw.choice([3, 4, 7, 11])}.get(kind, count + 1)
    start = draw.randrange(every)
    for number, plan in enumerate(decodes):
        if number % every != start % every or every > count:
            yield plan
            continue
        prompts = tuple(draw.randrange(300, 4_000) for _ in range(draw.choice([1, 1, 2, 3])))
        rest = plan.generating - len(prompts)
        together = mixes and kind == "serving" and rest > 0
        yield replace(plan, generating=rest if together else 0, prompts=prompts)


def _decodes(draw: random.Random, count: int, most: int, *, ramp: bool) -> Iterator[Plan]:
    batch, context = most, draw.randrange(300, 2_500)
    for number in range(count):
        if ramp and number < count // 4:
            yield Plan(max(1, most * (number + 1) // (count // 4 + 1)), context=context)
            continue
        batch -= batch > 2 and draw.random() < LEAVES
        context += 1
        yield Plan(batch, context=context)


LEAVES = 0.08
"""How often a request ends with a step."""
