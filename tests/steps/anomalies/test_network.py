"""The autoencoder: its size, its masks, and that it is repeatable."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from perfetto_autoviz.steps.anomalies.network import Autoencoder
from perfetto_autoviz.steps.anomalies.training import masked_loss, reconstruct, train

LENGTH = 14


def runs(count: int, length: int = LENGTH, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    there = rng.random((count, 2, length)) < 0.9
    values = rng.standard_normal((count, 2, length)).astype(np.float32)
    return np.where(there, values, 0).astype(np.float32), there


def network() -> Autoencoder:
    torch.manual_seed(3)
    return Autoencoder()


def test_its_size() -> None:
    # Weights and biases of the layers, in order, one by one.
    layers = [2 * 16 * 5 + 16, 16 * 32 * 5 + 32, 32 + 1, 32 * 5 + 32, 32 * 16 * 5 + 16]
    found = sum(parameter.numel() for parameter in network().parameters())
    assert found == sum(layers) + 16 * 2 * 5 + 2 == 5_731


def test_what_is_masked_changes_nothing() -> None:
    values, there = runs(6)
    noise = np.where(there, values, 1_000).astype(np.float32)
    mask = torch.from_numpy(there.astype(np.float32))
    pad = torch.nn.functional.pad
    one, other = (
        network()(pad(torch.from_numpy(each), (0, 2)), pad(mask, (0, 2)))
        for each in (values, noise)
    )
    assert torch.equal(one, other)


def test_padding_changes_nothing() -> None:
    values, there = runs(6)
    mask = there.astype(np.float32)

    def rebuilt(padding: int, filled_with: float) -> torch.Tensor:
        padded = torch.nn.functional.pad(torch.from_numpy(values), (0, padding), value=filled_with)
        inside = torch.nn.functional.pad(torch.from_numpy(mask), (0, padding))
        return network()(padded, inside)[:, :, :LENGTH]

    assert torch.allclose(rebuilt(2, 0), rebuilt(2, 77), atol=1e-6)
    assert torch.allclose(rebuilt(2, 0), rebuilt(34, -5), atol=1e-6)


def test_padding_has_no_loss() -> None:
    output, values = torch.zeros(1, 2, 4), torch.tensor([[[0.5, 9.0, 9.0, 9.0]] * 2])
    there = torch.tensor([[[1.0, 0.0, 0.0, 0.0]] * 2])
    # Quadratic for small errors: 0.5 * 0.5 ** 2.
    assert float(masked_loss(output, values, there)) == 0.125


@pytest.mark.usefixtures("short_training")
def test_the_same_input_gives_the_same_network() -> None:
    values, there = runs(120)
    one, other = (train(values, there, seed=5) for _ in range(2))
    assert all(np.array_equal(one[name], other[name]) for name in one)
    assert np.array_equal(reconstruct(one, values, there), reconstruct(other, values, there))


def test_it_learns_what_runs_have_in_common() -> None:
    rng = np.random.default_rng(2)
    common = rng.standard_normal((100, 1, 1))
    values = (common + 0.1 * rng.standard_normal((100, 2, LENGTH))).astype(np.float32)
    there = np.ones_like(values, bool)
    left = values - reconstruct(train(values, there, seed=1), values, there)
    assert left.var() < 0.1 * values.var()


@pytest.mark.usefixtures("short_training")
def test_torch_is_left_as_it_was() -> None:
    threads = torch.get_num_threads()
    state = torch.random.get_rng_state()
    train(*runs(20), seed=9)
    assert torch.get_num_threads() == threads
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.equal(torch.random.get_rng_state(), state)
