"""Phases without annotations, on steps made by hand: each kind of evidence by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.steps.phases.steps import DECODE_ATTENTION, PREFILL_ATTENTION, Step, judged

DECODE = Step(tokens=32, requests=32)
SHAPELESS = Step()


def phases(steps: list[Step], max_num_seqs: int | None = None) -> list[str]:
    return judged(steps, max_num_seqs)["phase"].tolist()


def test_tokens_of_each_request_tell() -> None:
    found = judged([DECODE, Step(tokens=888, requests=1), DECODE])
    assert found["phase"].tolist() == ["decode", "prefill", "decode"]
    assert found["batch_size"].tolist() == [32, 1, 32]
    assert found["context_tokens"].tolist() == [0, 888, 0]
    assert set(found["evidence"]) == {"input shapes"}


def test_one_step_of_prefill_is_no_decode() -> None:
    assert phases([Step(tokens=888, requests=1)]) == ["prefill"]
    assert phases([Step(tokens=32, requests=32)]) == ["decode"]


@pytest.mark.parametrize(
    ("tokens", "requests", "phase"),
    # Sizes that graphs are captured for, and such that they are not.
    [(32, 27, "decode"), (4, 3, "decode"), (272, 260, "decode"), (31, 27, "prefill")],
)
def test_decode_steps_may_be_padded(tokens: int, requests: int, phase: str) -> None:
    assert phases([Step(tokens=tokens, requests=requests)]) == [phase]


def test_requests_that_shapes_leave_open_are_counted_by_grids() -> None:
    # Batches that shrink by more than a factor, where the last product has a row per token.
    steps = [
        Step(tokens=size, requests=size, samples=True, rows=size, blocks=1)
        for size in (24, 24, 20, 12, 8, 2)
    ]
    shapeless = [replace(step, requests=None) for step in steps]
    assert phases(shapeless) == ["decode"] * 6


def test_decode_steps_that_run_the_kernels_of_prefill_are_told_by_grids() -> None:
    decode = Step(attention=(PREFILL_ATTENTION,), blocks=24, rows=24)
    prefill = replace(decode, blocks=8192, rows=4, dur=9000)
    assert phases([decode, decode, prefill, decode]) == ["decode", "decode", "prefill", "decode"]
    padded = replace(decode, rows=19)
    assert phases([decode, padded, prefill, decode]) == ["decode", "decode", "prefill", "decode"]


def test_a_draft_is_verified_even_once() -> None:
    draft = Step(tokens=8, requests=8, layers=1)
    verify = Step(tokens=24, requests=8)
    assert phases([draft, verify, draft, verify]) == ["draft", "verify"] * 2
    # The recording may end behind a draft, or behind the first that is verified.
    assert phases([draft, verify, draft, verify, draft]) == [*["draft", "verify"] * 2, "draft"]
    prefill = Step(tokens=888, requests=8)
    assert phases([prefill, draft, verify]) == ["prefill", "draft", "verify"]
    assert phases([draft, verify, prefill]) == ["draft", "verify", "prefill"]
    # By grids of a kernel that runs in prefill, too: three tokens of each of four requests.
    short = Step(attention=(DECODE_ATTENTION,), layers=1, rows=4, blocks=4)
    several = replace(short, layers=4, blocks=12)
    prompts = replace(several, blocks=3386, dur=9000)
    assert phases([prompts, short, several, short, several]) == [
        "prefill",
        *["draft", "verify"] * 2,
    ]


def test_the_rest_of_a_step_in_which_the_recording_starts_is_no_draft() -> None:
    rest = Step(tokens=8, requests=8, layers=1, lacks=2)
    assert phases([rest, *[Step(tokens=8, requests=8)] * 3]) == ["decode"] * 4


def test_decode_kernels_of_prompts_are_told_by_loads_that_requests_do_not_explain() -> None:
    def decode(requests: int, dur: int) -> Step:
        return Step(attention=(DECODE_ATTENTION,), rows=requests, dur=dur)

    # Nine times as long for fewer requests; with twice the requests twice as long is possible.
    assert phases([decode(24, 9000), decode(48, 9000), decode(37, 1000)]) == [
        *["prefill"] * 2,
        "decode",
    ]
    assert phases([decode(96, 1000), decode(192, 1900), decode(256, 2500)]) == ["decode"] * 3
    # Few requests are computed while the weights are read; many tokens are none of a batch.
    assert phases([decode(16, 9000), decode(2, 1000)]) == ["prefill", "decode"]
    crowded = replace(decode(40, 1000), blocks=8192)
    assert phases([crowded] * 3) == ["prefill"] * 3
    # Once the kernel is known to run prompts, short ones are told, too.
    steps = [decode(8, 1000), decode(1, 1300), decode(8, 1010), decode(2, 4000), decode(8, 1000)]
    assert phases(steps) == ["decode", "prefill"] * 2 + ["decode"]
    assert phases([steps[0], steps[1], steps[2]]) == ["decode"] * 3


def test_dummy_batches_at_the_start_have_nothing_to_attend_to() -> None:
    def decode(requests: int, attention: int) -> Step:
        return Step(
            attention=(DECODE_ATTENTION,),
            tokens=requests,
            requests=requests,
            attention_dur=attention,
        )

    dummy, real = decode(16, 500), decode(16, 1000)
    assert phases([dummy, dummy, real, real, decode(4, 600)]) == [*["dummy"] * 2, *["decode"] * 3]
    # All real requests are prefilled in between, or the first ones may have shorter prompts.
    apart = Step(attention=(PREFILL_ATTENTION,), tokens=4000, requests=4)
    assert phases([dummy, *[apart] * 4, real]) == ["dummy", *["prefill"] * 4, "decode"]
    assert phases([dummy, *[apart] * 3, real]) == ["decode", *["prefill"] * 3, "decode"]
    # In steps in which all take part, there may be a single new one.
    mixed = replace(apart, requests=16)
    assert phases([dummy, mixed, real]) == ["decode", "mixed", "decode"]
    # Also where another kernel of it takes longer, and as long for any number of tokens.
    split = (DECODE_ATTENTION, "paged_attention_ll4mi_reduce")
    steps = [replace(step, attention=split) for step in (dummy, real, real)]
    assert phases(steps) == ["dummy", "decode", "decode"]
    # Fewer requests whose attention takes less show that there is something to attend to.
    assert phases([dummy, dummy, real, decode(4, 400)]) == ["decode"] * 4
    # So does attention that grows by little, and more requests take longer anyhow.
    assert phases([dummy, decode(16, 550), decode(16, 600)]) == ["decode"] * 3
    assert phases([dummy, decode(64, 1000)]) == ["decode"] * 2


def test_batch_and_sequence_that_are_kept_apart_tell() -> None:
    # Sixteen requests of 559 tokens, logits of all tokens.
    step = Step(tokens=16 * 559, requests=16 * 559, shape=(16, 559, 64))
    found = judged([step])
    assert found["phase"].tolist() == ["prefill"]
    assert found["batch_size"].tolist() == [16]


def test_mixed_steps_have_all_requests() -> None:
    mixed = Step(tokens=500, requests=32)
    apart = Step(tokens=470, requests=2)
    assert phases([DECODE, mixed, DECODE]) == ["decode", "mixed", "decode"]
    # A few requests at a time are new ones, however many come and go.
    assert phases([DECODE, *[apart] * 16, DECODE]) == ["decode", *["prefill"] * 16, "decode"]
    fewer = replace(DECODE, tokens=30, requests=30)
    assert phases([fewer, apart, DECODE]) == ["decode", "prefill", "decode"]


def test_steps_that_verify_drafts_are_no_prefill() -> None:
    draft = Step(tokens=8, requests=8, layers=1)
    verify = Step(attention=(PREFILL_ATTENTION,), tokens=32, requests=8)
    prefill = Step(attention=(PREFILL_ATTENTION,), tokens=900, requests=2)
    found = phases([prefill, draft, verify, draft, verify, draft, verify, prefill])
    assert found == ["prefill", *["draft", "verify"] * 3, "prefill"]


def test_sizes_in_two_groups_tell() -> None:
    # Nothing is sampled, and the last product has the rows of all others.
    sizes = [8, 8, 32, 32, 32, 946, 32, 32, 854, 32, 32, 32, 8, 8]
    steps = [Step(tokens=size, requests=size, samples=False) for size in sizes]
    expected = ["prefill" if size > 32 else "decode" for size in sizes]
    assert phases(steps) == expected


def test_a_limit_of_requests_tells() -> None:
    steps = [Step(tokens=size, requests=size, samples=False) for size in (96, 200, 150)]
    assert phases(steps, max_num_seqs=64) == ["prefill"] * 3


@pytest.mark.parametrize(
    ("attention", "phase"),
    [
        ((PREFILL_ATTENTION,), "prefill"),
        ((DECODE_ATTENTION,), "decode"),
        ((PREFILL_ATTENTION, DECODE_ATTENTION), "mixed"),
    ],
)
def test_attention_kernels_tell(attention: tuple[str, ...], phase: str) -> None:
    found = judged([Step(attention=attention)])
    assert found["phase"].tolist() == [phase]
    assert found["evidence"].tolist() == ["attention kernels"]


def test_replays_that_prefill() -> None:
    segments, plain = "kernel_unified_attention_3d", "kernel_unified_attention_2d"
    decode = Step(attention=(segments,), graph=True)
    mixed = [Step(attention=(plain,), graph=True, dur=dur) for dur in (1_400, 2_500)]
    steps = [mixed[1], decode, mixed[0], decode, decode, *mixed, decode]
    expected = ["prefill", "decode", "prefill", *["decode"] * 2, *["prefill"] * 2, "decode"]
    assert phases(steps) == expected
    # The same where shapes tell the requests, which are as many as before and behind them.
    shaped = phases([replace(step, requests=30) for step in steps])
    assert shaped[1:] == ["mixed" if phase == "prefill" else phase for phase in expected[1:]]
    # Larger batches run the same kernel: they take longer by and by.
    ramp = [replace(mixed[0], dur=dur) for dur in (1_100, 1_200, 1_300, 1_200, 1_100)]
    assert phases([decode, *ramp, decode]) == ["decode"] * 7


def test_a_kernel_of_prefill_that_decodes_on_tensor_cores() -> None:
    paged = "void flashinfer::BatchPrefillWithPagedKVCacheKernel<Traits, Params>(Params)"
    step = Step(attention=(paged,))
    assert phases([replace(step, graph=True)] * 4) == ["decode"] * 4
    prompts = [replace(step, dur=dur) for dur in (3_000, 9_000)]
    steps = [replace(step, graph=True, dur=1_000 + 10 * i) for i in range(4)]
    assert phases([*steps, *prompts]) == [*["decode"] * 4, *["prefill"] * 2]
    # Beside a kernel made for decode it is that of prefill.
    assert phases([Step(attention=(DECODE_ATTENTION,)), step]) == ["decode", "prefill"]
    assert phases([step]) == ["unknown"]


def test_grids_tell() -> None:
    decode, prefill = Step(blocks=32, rows=32), Step(blocks=2048, rows=2)
    found = judged([decode, decode, prefill, decode])
    assert found["phase"].tolist() == ["decode", "decode", "prefill", "decode"]
    assert found["batch_size"].tolist() == [32, 32, 2, 32]
    assert set(found["evidence"]) == {"launch grids"}


def test_grids_are_believed_where_all_steps_run_the_kernels_of_decode() -> None:
    decode = Step(attention=(DECODE_ATTENTION,), blocks=32, rows=32)
    steps = [decode, decode, decode]
    # Prompts of all lengths, so that durations have no gap to part them by.
    for blocks, dur in ((322, 1400), (1700, 3000), (8000, 9000)):
        steps += [replace(decode, blocks=blocks, dur=dur), decode]
    assert phases(steps) == ["decode"] * 3 + ["mixed", "decode"] * 3
    # The same where decode steps, replayed from graphs, show no blocks.
    bare = [replace(step, blocks=None) if step.blocks == 32 else step for step in steps]
    assert phases(bare) == phases(steps)
    # As many blocks in all steps are those of the device.
    fixed = [replace(step, blocks=304) for step in steps]
    assert set(phases(fixed)) == {"decode"}
    # Steps of more tokens that take no longer are those that a graph is padded for.
    padded = [replace(step, dur=1000 + place) for place, step in enumerate(steps)]
    assert set(phases(padded)) == {"decode"}


def test_chunks_of_prompts_have_the_same_size() -> None:
    chunk = Step(attention=(PREFILL_ATTENTION,), blocks=2048, rows=2)
    found = judged([chunk, replace(chunk, rows=1), chunk])
    assert found["context_tokens"].tolist() == [2048] * 3
    # As many blocks as a device has units are no tokens.
    found = judged([replace(chunk, blocks=304), replace(chunk, blocks=304, rows=1)])
    assert found["context_tokens"].isna().all()


def test_graphs_tell() -> None:
    decode, prefill = Step(graph=True), Step(dur=4000)
    found = judged([decode, prefill, decode])
    assert found["phase"].tolist() == ["decode", "prefill", "decode"]
    assert set(found["evidence"]) == {"graph launches"}


def test_tiles_tell() -> None:
    small, large = Step(gemm="Cijk_MT16x16x256_MI"), Step(gemm="Cijk_MT256x128x64_MI")
    found = judged([replace(small, requests=None), large])
    assert found["phase"].tolist() == ["decode", "prefill"]
    assert set(found["evidence"]) == {"matrix product tiles"}


def test_durations_tell_the_spread_from_the_steady() -> None:
    durations = [1000, 1010, 1005, 4000, 1000, 9000, 990]
    found = judged([Step(dur=dur) for dur in durations])
    expected = ["prefill" if dur > 2000 else "decode" for dur in durations]
    assert found["phase"].tolist() == expected
    assert set(found["evidence"]) == {"durations"}


def test_nothing_tells() -> None:
    found = judged([SHAPELESS])
    assert found["phase"].tolist() == ["unknown"]
    assert found["confidence"].tolist() == [0]
    assert phases([Step(dur=dur) for dur in (4000, 9000, 2500)]) == ["unknown"] * 3


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(64, 8192), min_size=1, max_size=12))
def test_pure_prefill_has_no_decode_step(sizes: list[int]) -> None:
    """Whether or not the logits' rows, the kernels, or neither tell."""
    stated = [Step(tokens=size, requests=2) for size in sizes]
    assert set(phases(stated)) <= {"prefill", "decode"} - ({"decode"} if min(sizes) > 34 else set())
    kernels = [Step(attention=(PREFILL_ATTENTION,), dur=size) for size in sizes]
    assert set(phases(kernels)) == {"prefill"}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 512), min_size=1, max_size=12), st.booleans())
def test_pure_decode_has_no_prefill_step(sizes: list[int], graph: bool) -> None:
    stated = [Step(tokens=size, requests=size, graph=graph) for size in sizes]
    assert set(phases(stated)) == {"decode"}
    kernels = [Step(attention=(DECODE_ATTENTION,), graph=graph) for _ in sizes]
    assert set(phases(kernels)) == {"decode"}
