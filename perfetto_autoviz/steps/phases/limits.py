"""Numbers that decide phases, in one place."""

from __future__ import annotations

import math

SIZE_GAP = 2.0
"""Factor between neighbouring sizes from which prefill and decode are told apart."""

RAMP_SIZE = 64
"""Sizes up to here may be batches of decode steps that double as requests arrive."""

RAMP_GAP = 4.0
"""Factor that is asked for where the greater size is no more than that."""

MAX_QUERIES = 16
"""Tokens of a request that a step verifies at most: draft models guess few."""

LARGEST_DECODE = 1024
"""Requests that servers run at once at most, unless told otherwise."""

SMALLEST_PREFILL = 512
"""Tokens from which equal sizes in a row are no sign of decode: chunks of prompts are cut to
such sizes."""

MIN_OPERATORS = 3
"""Operators of a model's body that must state a size, or a step is not launched one by one."""

GRAPH_KERNELS = 8
"""Kernels of one launch from which it is the launch of a graph; a few kernels come from a
single call, too."""

GRAPH_SHARE = 0.5
"""Part of a step's kernels that one launch must start to replay the step as a whole."""

GRAPH_SIZES = (8, 16)
"""Servers capture graphs for 1, 2 and 4 requests, then for multiples of these."""

GROWS = 0.9
"""Correlation of the logs of sizes and durations from which sizes count what steps work on."""

LOAD_GAP = math.log(1.15)
"""Log of the factor of durations by which loads are told apart. Durations of steps with the
same work vary by a few percent; the smallest prompts that pay a prefill are above."""

WIDE_LOAD_GAP = math.log(2.0)
"""The same where nothing else supports it."""

FEW_TOKENS = 64
"""Tokens up to which the weights take longer to read than their products to compute."""

TIGHT_LOAD = 0.05
"""Standard deviation of the log of the durations of decode steps, at most: as batches grow
and shrink, they change by less than that, because weights are read once for all requests."""

WIDER = 3.0
"""How many times more the durations of prefill steps vary than those of decode steps."""

STEADY_STEPS = 0.5
"""Part of decode steps whose size is about that of the decode step before."""

NEAR = 0.1
"""Part of a size within which others are about as large."""

COMMON_SHARE = 0.8
"""Part of the steps in which an operation must occur to compare loads by it."""

SMALL_TILE = 32
"""Rows of a tile that suit a batch of decode requests."""

SMALL_TILES, LARGE_TILES = 0.9, 0.5
"""Part of the time of matrix products that is spent in small tiles: from the first on a step
decodes, up to the second it prefills."""

MIN_LAYERS = 4
"""Attention kernels of a step of a model, or it has too few layers to have a smaller draft."""

DRAFT_SHARE = 1 / 3
"""Part of the model's layers that a draft model has at most."""
