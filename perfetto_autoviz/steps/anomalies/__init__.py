"""Abnormal runs of patterns, and the kernels to blame for them.

The library behind the step, in the order in which it is used; all of it works on frames and
arrays, without an engine::

    runs = read_runs(ranks)                       # of all patterns on all ranks
    context = read_context(ranks, runs.table)     # the steps they lie in
    groups = group_runs(runs.table, context)      # which of them may be compared
    normal = baseline(runs.table, groups)         # beyond 2 sigma of the mean duration
    one = run_sets(runs, context, groups, normal, pattern)
    model = fit_model(one, train)                 # imports torch, as do the next two
    model = with_thresholds(model, one, held_out)
    verdict = judge(model, one)
"""
