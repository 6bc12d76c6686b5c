"""Iterations without known annotations, on activities and calls made by hand."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfetto_autoviz.options import Options
from perfetto_autoviz.steps.iterations import find_iterations
from tests.steps.iterations.activities import FAMILIES, LAYER, activities, spans, starts, step

NOTHING = spans([])


def found(
    kernels: pd.DataFrame, annotations: pd.DataFrame = NOTHING, calls: pd.DataFrame = NOTHING
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Iterations, their segments and what was tried."""
    frames = {
        "_autoviz_activity": kernels,
        "_autoviz_annotation": annotations,
        "_autoviz_host_call": calls,
    }
    made = find_iterations(frames, Options())
    return made["iteration"], made["iteration_segment"], made["iteration_evidence"]


def real(iterations: pd.DataFrame) -> pd.DataFrame:
    return iterations[iterations["kind"] == "step"]


def first_activities(kernels: pd.DataFrame, iterations: pd.DataFrame) -> list[int]:
    """Number of the first activity of each real iteration, by its start."""
    by_start = dict(zip(kernels["ts"], range(len(kernels)), strict=True))
    return [by_start[ts] for ts in real(iterations)["ts"]]


def test_steps_from_kernels_alone() -> None:
    steps = [step(12)] * 6
    kernels = activities(steps)
    iterations, segments, evidence = found(kernels)
    assert first_activities(kernels, iterations) == starts(steps)
    assert real(iterations)["activity_count"].tolist() == [len(one) for one in steps]
    assert segments["activity_count"].sum() == len(kernels)
    assert iterations["evidence"].unique().tolist() == ["sequence of kernels"]
    assert iterations["name"].isna().all()
    last = evidence.iloc[-1]
    assert (last["grade"], last["coverage"], last["iterations"]) == ("good", 1.0, 6)
    assert pd.isna(last["reason"])


PREFILL = ("norm", "project", "long_attend", "project", "norm", "project", "activate", "project")


@settings(max_examples=40, deadline=None)
@given(
    kinds=st.lists(st.sampled_from(["decode", "prefill", "mixed"]), min_size=4, max_size=12),
    layers=st.integers(9, 40),
    copies=st.integers(1, 4),
)
def test_steps_of_several_kinds(kinds: list[str], layers: int, copies: int) -> None:
    """Steps run other kernels, and other numbers of copies, but all start and end alike."""
    layer = {"decode": LAYER, "prefill": PREFILL, "mixed": (*LAYER[:3], *PREFILL[2:])}
    steps = [
        step(layers, layer[kind], before=("Memcpy HtoD",) * (copies + i % 2) + ("positions",))
        for i, kind in enumerate(kinds)
    ]
    kernels = activities(steps)
    kernels.loc[kernels["op"] == "long_attend", "family"] = "attention"
    iterations, _, _ = found(kernels)
    assert first_activities(kernels, iterations) == starts(steps)


@settings(max_examples=30, deadline=None)
@given(cut=st.integers(1, 100), end=st.integers(1, 101), pause=st.sampled_from([1_000, 900_000]))
def test_recordings_that_start_and_end_amid_a_step(cut: int, end: int, pause: int) -> None:
    whole = step(12)
    steps = [whole[cut:], *[whole] * 5, whole[:-end]]
    kernels = activities([one for one in steps if one], pause=pause)
    iterations, _, _ = found(kernels)
    # A first step that lacks its very start starts where the recording does.
    at = [number for number in first_activities(kernels, iterations) if number]
    off = {(number - len(steps[0])) % len(whole) for number in at}
    assert len(off) == 1
    assert 5 <= len(real(iterations)) <= 7


def test_a_prompt_that_takes_longer_than_all_other_steps() -> None:
    steps = [step(12, [f"{op} of many" for op in LAYER]), *[step(12)] * 3]
    kernels = activities(steps, durations=dict.fromkeys(range(len(steps[0])), 900_000))
    kernels["family"] = [FAMILIES.get(op.removesuffix(" of many"), "other") for op in kernels["op"]]
    assert first_activities(kernels, found(kernels)[0]) == starts(steps)


@pytest.mark.parametrize("launched", [False, True])
def test_captures_of_graphs_before_the_first_step_are_no_steps(launched: bool) -> None:
    """They run what prepares a step, but no layers."""
    captures, steps = [step(0, after=())] * 2, [step(12)] * 4
    kernels = activities([*captures, *steps], pause=50_000, launched=launched)
    iterations, _, _ = found(kernels)
    begin = sum(map(len, captures))
    assert first_activities(kernels, iterations) == [begin + at for at in starts(steps)]


def test_steps_whose_inputs_are_copied_ahead_start_with_the_copies() -> None:
    # On a stream of their own, while as much of the step before still runs as happens to.
    steps = [
        step(12, before=["Memcpy HtoD"] * 2 + ["fill"] * late + ["positions", "embed"])
        for late in (0, 2, 0, 3, 1)
    ]
    lag = [*LAYER] * 4
    kernels = activities([*steps, lag])
    kernels.loc[kernels["kind"] == "memcpy", "stream"] = 25
    iterations, _, _ = found(kernels)
    assert first_activities(kernels, iterations) == starts(steps)
    # No inputs come with what follows, so that it belongs to the last.
    counts = [len(one) for one in steps]
    counts[-1] += len(lag)
    assert iterations["activity_count"].tolist() == counts


def test_a_copy_between_two_steps_belongs_to_none() -> None:
    # Launched behind the third step, it runs before that on a device that lags behind.
    steps = [step(12)] * 6
    steps[2] = [*steps[2], "Memcpy DtoD"]
    kernels = activities(steps, launched=True)
    stray = starts(steps)[3] - 1
    first = kernels["ts"][starts(steps)[2]]
    kernels.loc[stray, ["ts", "stream"]] = first - 3_000, 31
    kernels = kernels.sort_values("ts", ignore_index=True)
    iterations, _, _ = found(kernels)
    assert iterations["evidence"].unique().tolist() == ["sequence of launches"]
    assert iterations["ts"][2] == first
    assert real(iterations)["activity_count"].tolist() == [len(steps[0])] * 6


def test_a_pause_before_each_step_tells_where_it_starts() -> None:
    # What comes first does not come in each step; one pause is too short to see.
    heads = [("fill", "sort", "positions"), ("sort", "positions")] * 6
    steps = [step(12, before=head) for head in heads]
    kernels = activities(steps, pause=900_000)
    kernels.loc[starts(steps)[-2] :, "ts"] -= 899_000
    assert first_activities(kernels, found(kernels)[0])[1:] == starts(steps)[1:]


@pytest.mark.parametrize("layers", [(LAYER,), (LAYER, PREFILL), (LAYER, LAYER, LAYER, PREFILL)])
@pytest.mark.parametrize("keeps", [False, True])
def test_layers_of_a_single_step_are_no_steps(layers: Any, keeps: bool) -> None:
    """Also where kinds of layers alternate; an engine's kernels make it one step."""
    ops = [op for _ in range(8) for layer in layers for op in layer]
    kernels = activities([["embed", *ops, "head", "argmax", *(["store_kvcache"] * keeps)]])
    kernels.loc[kernels["op"] == "long_attend", "family"] = "attention"
    iterations, _, evidence = found(kernels)
    assert len(iterations) == int(keeps)
    if not keeps:
        assert set(evidence["grade"]) == {"not splittable"}
        assert evidence["reason"].notna().all()


def test_two_steps_of_different_kinds_are_not_taken_for_one() -> None:
    steps = [step(12, LAYER), step(12, PREFILL, after=("head", "argmax", "store_kvcache"))]
    kernels = activities(steps)
    kernels.loc[kernels["op"] == "long_attend", "family"] = "attention"
    iterations, _, _ = found(kernels)
    assert len(real(iterations)) != 1


@pytest.mark.parametrize(("copies", "count"), [(True, 4), (False, 0)])
def test_training_that_repeats_no_layers(copies: bool, count: int) -> None:
    """Embeddings and a few products: only copies from the host tell its steps from layers."""
    ops = [op for i in range(36) for op in (f"forward_{i}", f"backward_{i}")]
    kernels = activities([["Memcpy HtoD" if copies else "zero", *ops, "update"]] * 4)
    iterations, _, _ = found(kernels)
    assert len(real(iterations)) == count


@pytest.mark.parametrize("launched", [False, True])
@pytest.mark.parametrize("late", range(1, 5))
@pytest.mark.parametrize("behind", [1, 3])
def test_a_pause_amid_its_copies_starts_no_step(late: int, behind: int, *, launched: bool) -> None:
    """The host falls behind amid the copies of one step, and before those of the others."""
    copy = "Memcpy HtoD"
    steps = [step(12, before=[copy, copy, copy, "positions", copy, "embed"])] * 5
    kernels = activities(steps, launched=launched)
    times = ["ts", "launch_ts"] if launched else ["ts"]
    for number, start in enumerate(starts(steps)):
        paused = kernels.index >= start + (behind if number == late else 0)
        kernels.loc[paused, times] += 500_000
    iterations, _, _ = found(kernels)
    assert first_activities(kernels, iterations) == starts(steps)


def test_training_without_attention() -> None:
    forward = ["zero", *["product", "relu"] * 12, "loss"]
    backward = [*["relu_back", "product_back", "product_back2"] * 12, "update"]
    steps = [[*forward, *backward]] * 5
    kernels = activities(steps)
    iterations, _, _ = found(kernels)
    assert first_activities(kernels, iterations) == starts(steps)


def host_times(kernels: pd.DataFrame, steps: list[list[str]]) -> list[tuple[int, int]]:
    """From before the first launch of each step to after its last."""
    begin = starts(steps)
    launch = kernels["launch_ts"].tolist()
    return [
        (launch[a] - 500, launch[b - 1] + 500)
        for a, b in zip(begin, [*begin[1:], len(launch)], strict=True)
    ]


def test_annotations_of_an_unknown_family() -> None:
    steps = [step(3)] * 5
    kernels = activities(steps, launched=True)
    named = [(f"my engine, turn {i}", *span) for i, span in enumerate(host_times(kernels, steps))]
    collectives = [("nccl:all_reduce", start + 100, end - 100) for _, start, end in named]
    iterations, _, evidence = found(kernels, annotations=spans([*named, *collectives]))
    assert iterations["name"].tolist() == [name for name, _, _ in named]
    assert first_activities(kernels, iterations) == starts(steps)
    assert iterations["evidence"].iloc[0] == "recurring annotations, activities by launch"
    assert len(evidence) == 1


def test_known_annotations_of_which_no_launch_is_recorded() -> None:
    steps = [step(12)] * 4
    kernels = activities(steps)
    times = [(int(kernels["ts"][at]) - 9_000, int(kernels["ts"][at])) for at in starts(steps)]
    iterations, _, evidence = found(
        kernels, annotations=spans([("step[DECODE bs=8]", *span) for span in times])
    )
    assert first_activities(kernels, iterations) == starts(steps)
    assert evidence["evidence"].tolist()[0] == "annotation"
    assert evidence["grade"].tolist()[0] == "not splittable"
    assert iterations["evidence"].unique().tolist() == ["sequence of kernels"]


def test_annotations_of_layers_are_a_trap() -> None:
    """``## Call CompiledFxGraph … ##`` once per layer of a single step."""
    kernels = activities([[*LAYER] * 10], launched=True)
    spans_of_layers = host_times(kernels, [[*LAYER]] * 10)
    graph = "## Call CompiledFxGraph fmoqvvs6b7cau5o4mrq6 ##"
    iterations, _, evidence = found(
        kernels, annotations=spans([(graph, *span) for span in spans_of_layers])
    )
    assert iterations.empty
    assert "one attention each" in evidence["reason"].iloc[0]


def test_optimizers_mark_the_ends_of_training_steps() -> None:
    steps = [["forward", "loss", "backward", "update"]] * 4
    kernels = activities(steps, launched=True)
    launch = kernels["launch_ts"].tolist()
    marks = [
        ("Optimizer.step#SGD.step", launch[4 * i + 3] - 100, launch[4 * i + 3] + 100)
        for i in range(4)
    ]
    iterations, _, _ = found(kernels, annotations=spans(marks))
    assert first_activities(kernels, iterations) == starts(steps)
    assert set(iterations["evidence"]) == {"optimizer annotations, activities by launch"}


def test_calls_on_the_way_to_the_work() -> None:
    """Irregular periods and an idle step between don't matter to calls."""
    steps = [step(3)] * 4
    kernels = activities(steps, launched=True, pause=700_000)
    inner = host_times(kernels, steps)
    outer = ("engine.py(10): loop", inner[0][0] - 9_000, inner[-1][1] + 9_000)
    runs = [("engine.py(70): run", start - 100, end + 100) for start, end in inner]
    idle = ("engine.py(70): run", inner[1][1] + 1_000, inner[1][1] + 60_000)
    modules = [
        (f"nn.Module: Layer_{i}", start + 200 * i, start + 200 * i + 100)
        for start, _ in inner
        for i in range(3)
    ]
    iterations, _, _ = found(kernels, calls=spans([outer, *runs, idle, *modules]))
    assert iterations["name"].tolist() == ["engine.py(70): run"] * 4
    assert first_activities(kernels, iterations) == starts(steps)
    assert set(iterations["evidence"]) == {"recurring calls, activities by launch"}
    assert iterations["host_ts"].tolist() == [start for _, start, _ in runs]


def test_modules_of_one_kind_are_layers() -> None:
    kernels = activities([[*LAYER] * 10], launched=True)
    layers = host_times(kernels, [[*LAYER]] * 10)
    calls = [
        ("nn.Module: Model_0", layers[0][0] - 100, layers[-1][1] + 100),
        *((f"nn.Module: Layer_{i}", *span) for i, span in enumerate(layers)),
    ]
    assert found(kernels, calls=spans(calls))[0].empty


def test_a_generation_holds_its_steps_and_what_surrounds_them() -> None:
    """A diffusion model encodes a prompt, denoises four times with one module, and decodes."""
    parts = [["encode"] * 8, *[step(6)] * 4, ["decode"] * 8]
    kernels = activities(parts, launched=True)
    times = host_times(kernels, parts)
    calls = [
        ("pipeline.py(1): __call__", times[0][0] - 100, times[-1][1] + 100),
        *(("nn.Module: Transformer_0", *span) for span in times[1:5]),
    ]
    iterations, _, evidence = found(kernels, calls=spans(calls))
    assert iterations["level"].tolist() == [0, 1, 1, 1, 1, 1, 1]
    assert iterations["kind"].tolist() == ["generation", "warm-up", *["step"] * 4, "wrap-up"]
    assert iterations["parent_id"].tolist()[1:] == [0] * 6
    assert iterations["number"].tolist()[2:6] == [0, 1, 2, 3]
    assert iterations["number"].isna().tolist() == [False, True, *[False] * 4, True]
    assert iterations["activity_count"].tolist() == [len(kernels), 8, *[54] * 4, 8]
    assert evidence["coverage"].iloc[-1] == 1.0


def test_what_covers_too_little_is_refused() -> None:
    steps = [["other"] * 100, *[step(3)] * 3, ["another"] * 100]
    kernels = activities(steps, launched=True)
    times = host_times(kernels, steps)[1:4]
    iterations, _, evidence = found(
        kernels, annotations=spans([(f"turn {i}", *span) for i, span in enumerate(times)])
    )
    assert iterations.empty
    assert evidence["grade"].unique().tolist() == ["not splittable"]


def graph_replays(steps: list[list[str]]) -> pd.DataFrame:
    """Each step but its two copies is one launch, so that its kernels share a number."""
    kernels = activities(steps)
    number = [
        10_000 + i if not op.startswith("Memcpy") else 1 + 2 * i + j
        for i, ops in enumerate(steps)
        for j, op in enumerate(ops)
    ]
    return kernels.assign(correlation=number)


def test_replays_of_a_graph() -> None:
    steps = [step(12)] * 3
    kernels = graph_replays(steps)
    iterations, _, _ = found(kernels)
    assert set(iterations["evidence"]) == {"graph replays"}
    assert first_activities(kernels, iterations) == starts(steps)


def test_replays_that_start_while_the_one_before_still_runs() -> None:
    """The last kernel of each replay runs on a second stream, beside the next one's first."""
    steps = [["norm", *step(12, before=(), after=())] for _ in range(3)]
    kernels = graph_replays(steps)
    late = [start - 1 for start in starts(steps)[1:]]
    kernels.loc[late, "stream"] = 9
    kernels.loc[late, "ts"] = kernels.loc[[at + 1 for at in late], "ts"].to_numpy() + 1
    kernels = kernels.sort_values("ts", ignore_index=True)
    iterations, _, _ = found(kernels)
    assert set(iterations["evidence"]) == {"graph replays"}
    # The late kernel comes behind the next replay's first one, which is now one earlier.
    assert first_activities(kernels, iterations) == [0, *late]


def test_the_end_of_a_replay_before_the_others_leaves_these_as_they_are() -> None:
    steps = [step(12)[50:], *[step(12)] * 3]
    kernels = graph_replays(steps)
    iterations, _, _ = found(kernels)
    assert set(iterations["evidence"]) == {"graph replays"}
    assert first_activities(kernels, iterations) == starts(steps)


@settings(max_examples=20, deadline=None)
@given(amid=st.lists(st.integers(2, 95), min_size=6, max_size=6))
def test_what_prepares_a_step_runs_beside_the_one_before(amid: list[int]) -> None:
    """A second stream runs the next batch's copies at any time of the step before."""
    steps = [step(12)] * 6
    kernels = activities(steps)
    rows = [kernels]
    for start, after in zip(starts(steps), amid, strict=True):
        beside = activities([[f"prepare_{i}" for i in range(20)]]).assign(stream=9)
        rows.append(beside.assign(ts=kernels["ts"][start + after] + 1 + beside.index))
    kernels = pd.concat(rows).sort_values("ts", kind="stable", ignore_index=True)
    iterations, _, _ = found(kernels)
    main = kernels[kernels["stream"] == 7]["ts"].to_numpy()
    assert [int((main < ts).sum()) for ts in real(iterations)["ts"]] == starts(steps)


def test_first_iteration_is_marked_where_a_collective_waited() -> None:
    steps = [step(12, (*LAYER, "all_reduce"))] * 5
    slow = starts([[*LAYER, "all_reduce"]] * 12)
    waited = {4 + slow[0] + len(LAYER): 9_000_000}
    iterations, _, _ = found(activities(steps, durations=waited))
    notes = real(iterations)["distorted"].tolist()
    # 11 of 12 take 10 µs and one 9 ms: 9.11 ms for 0.12 ms.
    assert notes == ["all_reduce takes 76 times as long as in later iterations", *[None] * 4]


def test_a_long_first_step_is_not_distorted() -> None:
    """A prefill takes long for everything, not for its collectives only."""
    steps = [step(12, (*LAYER, "all_reduce"))] * 5
    prefill = dict.fromkeys(range(len(steps[0])), 300_000)
    iterations, _, _ = found(activities(steps, durations=prefill))
    assert real(iterations)["distorted"].isna().all()
