"""Annotations become the spans of iterations, each step counted once."""

from __future__ import annotations

import pandas as pd

from perfetto_autoviz.steps.iterations.spans import Span, iteration_spans, levels

VLLM = "execute_16_context_0(sq0sk0sqsq0sqsk0)_generation_16(sq16sk8193sqsq16sqsk8193)"
GRAPH = "## Call CompiledFxGraph fmoqvvs6b7cau5o4mrq6fnghazxmz4m445rrdxde23uhpywn2vop ##"


def spans(*rows: tuple[int, int, str], utid: int = 1, pid: int = 7) -> pd.DataFrame:
    return pd.DataFrame(
        [(ts, dur, name, utid, pid) for ts, dur, name in rows],
        columns=["ts", "dur", "name", "utid", "pid"],
    )


def texts(roots: list[Span]) -> list[str]:
    return [root.text for root in roots]


def test_two_dialects_on_one_step_are_one_iteration_with_the_richer_counts() -> None:
    roots = iteration_spans(spans((0, 100, VLLM), (5, 90, "step[DECODE bs=16]")))
    assert texts(roots) == [VLLM]
    assert (roots[0].ts, roots[0].end) == (0, 100)
    assert roots[0].children == []


def test_the_outer_span_counts_where_the_inner_annotation_is_richer() -> None:
    roots = iteration_spans(spans((0, 100, "step[DECODE bs=16]"), (5, 90, VLLM)))
    assert texts(roots) == [VLLM]
    assert (roots[0].ts, roots[0].end) == (0, 100)


def test_a_text_repeated_inside_itself_counts_once() -> None:
    roots = iteration_spans(spans((0, 100, VLLM), (0, 100, VLLM)))
    assert len(roots) == 1
    assert roots[0].children == []


def test_equal_steps_after_each_other_count_each() -> None:
    rows = [(100 * i, 90, "step[DECODE bs=64]") for i in range(5)]
    assert len(iteration_spans(spans(*rows))) == 5


def test_drafts_inside_a_step_are_a_level_of_their_own() -> None:
    decode = "decode[bs=4/8 tok=16 p=0 d=4 spec=3]"
    roots = iteration_spans(
        spans((0, 100, decode), (10, 20, "draft[1/2 bs=4]"), (40, 20, "draft[2/2 bs=4]"))
    )
    assert texts(roots) == [decode]
    found = [(level, span.text) for level, span, _ in levels(roots)]
    assert found == [(0, decode), (1, "draft[1/2 bs=4]"), (1, "draft[2/2 bs=4]")]


def test_the_profilers_steps_give_way_to_the_frameworks() -> None:
    roots = iteration_spans(spans((0, 100, "ProfilerStep#3"), (10, 80, VLLM)))
    assert texts(roots) == [VLLM]


def test_the_profilers_steps_count_where_they_are_alone() -> None:
    rows = [(100 * i, 100, f"ProfilerStep#{i}") for i in range(3)]
    assert texts(iteration_spans(spans(*rows))) == [f"ProfilerStep#{i}" for i in range(3)]


def test_denoising_steps_are_inside_one_generation() -> None:
    rows = [(0, 1000, "execute_diffusion_1_1024x1024")]
    rows += [(100 + 200 * i, 150, GRAPH) for i in range(4)]
    roots = iteration_spans(spans(*rows))
    assert [level for level, _, _ in levels(roots)] == [0, 1, 1, 1, 1]


def test_compiled_graphs_of_an_llm_step_are_no_iterations() -> None:
    rows = [(0, 1000, VLLM), *((100 + 200 * i, 150, GRAPH) for i in range(4))]
    roots = iteration_spans(spans(*rows))
    assert [level for level, _, _ in levels(roots)] == [0]


def test_a_span_repeated_on_another_stream_at_the_same_time_counts_once() -> None:
    twice = pd.concat([spans((0, 100, VLLM), utid=1), spans((50, 120, VLLM), utid=2)])
    assert len(iteration_spans(twice, on_device=True)) == 1


def test_two_threads_in_steps_of_one_text_are_in_two_steps() -> None:
    twice = pd.concat([spans((0, 100, VLLM), utid=1), spans((70, 100, VLLM), utid=2)])
    assert len(iteration_spans(twice)) == 2


def test_a_step_marked_on_two_threads_at_once_counts_once() -> None:
    twice = pd.concat([spans((0, 100, VLLM), utid=1), spans((2, 98, VLLM), utid=2)])
    assert len(iteration_spans(twice)) == 1


def test_the_same_step_of_two_processes_counts_twice() -> None:
    twice = pd.concat([spans((0, 100, VLLM), utid=1, pid=1), spans((0, 100, VLLM), utid=2, pid=2)])
    assert len(iteration_spans(twice)) == 2


def test_other_names_are_no_iterations() -> None:
    rows = [(0, 10, "nccl:all_reduce"), (20, 10, "Optimizer.step#SGD.step"), (40, 10, GRAPH)]
    assert iteration_spans(spans(*rows)) == []
