"""Numbers that were chosen for the anomaly tests, each with its reason."""

from __future__ import annotations

SIGMAS = 2.0
"""Standard deviations from its group's mean beyond which a run is flagged by its duration."""

LEAST_RUNS = 10
"""Runs of a group below which it is not judged. Of n values none can lie farther than
(n - 1) / sqrt(n) standard deviations from their mean: of 5 none could ever be flagged. From 10
on one may lie 2.85 away, and the standard deviation is known to a quarter of itself."""

RATE = 0.02
"""Share of normal runs that all tests of the autoencoder together may flag."""

CONFIDENCE = 0.7
"""How sure a threshold must keep to that rate, given how few held-out runs it is set on."""

LEAST_THRESHOLD_RUNS = 100
"""Held-out runs below which no threshold is set."""

LEAST_TRAINING_RUNS = 100
"""Runs to train on, below which medians per position and the network mean nothing."""

MOST_TRAINING_RUNS = 4_000
"""Runs beyond which more of them cost time and change nothing."""

TRAINING_SHARE = 0.5
"""Of the runs of a pattern; the others set the thresholds."""

KERNELS_SHOWN = 3
"""Kernels that are blamed for a run, at most."""

LEAST_SHARE = 0.05
"""Of a run's excess, below which a kernel is not blamed for it."""

LEAST_SIBLINGS = 8
"""Runs of a pattern in one step from which their own median says what is normal there. It then
is known to 0.44 standard deviations of a run, and nothing has to be known of the step's load."""

LEAST_PER_ORDINAL = 8
"""Training runs of one place in a step (say, layer 17) from which it may have a normal of its
own: the first layer waits for other ranks, and routing loads the experts of some layers more."""

DISTINCT = 3.0
"""Standard errors from which such a normal is taken as it is; smaller ones are shrunk."""

WIDER = 2.0
"""How much wider than others such a place must spread to have a spread of its own."""

FINEST = 0.01
"""Least spread of log1p(µs): 1 % of a long time, 10 ns of a short one, about a clock's tick."""

TOLERANCE = 0.15
"""Share of a run time by which kernels may differ before that counts in full. Without it, the rare
outliers of very steady kernels would take all of the false positive rate, and noisy ones, as copies
and collectives, would have to take many times as long to be found."""

LAYER_LENGTH = 64
LONG_TOLERANCE = 0.05
"""The same in runs of more kernels. Of hundreds of them, some noisy one is as slow as any tolerance
allows in nearly every run: there, what can be found are the steady ones."""

IDLE_TOLERANCE = 0.05
"""The same of idle times, in log1p(µs): 5 % of a long one, 50 ns of a short one."""

LEAST_REACH = 2.0
"""Spreads that the errors of all but a share `RATE` of runs reach at least, where channels are
compared: run times that never differ are not held to less than a third."""

INPUT_LIMIT = 2.0
"""Spreads beyond which the network's input is cut off, so that it can't learn to pass on what
it should not know: at 8 it passed on half of a spike in the noisiest kernels of a layer of 50."""

DRIFT_LIMIT = 3.0
"""Spreads beyond which a kernel counts no more towards the drift of its run: one extreme
kernel is no drift."""

TAIL = 0.1
"""Share of training runs beyond the point from which a score's tail is taken as exponential."""

CLEAR = 5e-6
"""Share of normal runs with a score so large, by that tail, that those beyond stand out: thresholds
are set beside them, so that a capture in which much goes wrong doesn't hide it. The tails of real
scores are heavier; were it larger, more than 2 % of normal runs might stand out."""

LEAST_TAIL = 0.1
"""Of a score where the tail starts, by how much that of half of the tail is larger at least: so
nothing stands out that is less than twice as far from normal as a tenth of all runs."""

RARE = RATE / 4
"""Share of runs below which an odd order stands out in the same way."""

HANDICAP = 3.0
"""Nats that the drift needs more than the largest error to count as equally surprising: it
stands out far where there is any, and should take little of the false positive rate. The error
is the largest of all positions, and needs most of it."""

LEAST_KIND_SHARE = 0.1
"""Share of a pattern's runs from which the kind of layer around them separates them. A first
layer that differs is a smaller share of any model."""

LATE_SIGMAS = 4.0
"""Robust standard deviations beyond its usual lateness from which a rank is a straggler."""

LATE_SHARE = 0.05
"""Of the usual work of a run, less than which is no lateness worth telling."""

STEADIER = 0.5
"""Of the spread of the idle time on an activity's own stream, below which that of the idle time
on the whole device must be for it to be taken instead."""
