"""Training and running the autoencoder; the same input and seed give the same network.

Imports torch, and so must only be imported by what runs the autoencoder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from perfetto_autoviz.steps.anomalies.network import COMPRESSION, Autoencoder
from perfetto_autoviz.steps.anomalies.runs import Bools
from perfetto_autoviz.steps.anomalies.values import Singles

THREADS = 1
"""Fixed, as the order of sums, and so the result, depends on it."""

BATCH = 64
STEPS = 400
RATE = 3e-3
"""Batches of runs until the loss no longer falls: measured on layers of 14 to 35 kernels and on
steps of 450 to 700. The rate falls to zero along a cosine."""

CHUNK = 2**20
"""Values that are reconstructed at once, which bounds the memory."""

Weights = Mapping[str, Singles]


def train(values: Singles, there: Bools, seed: int) -> dict[str, Singles]:
    """Trains a network to reconstruct runs.

    Args:
        values: scaled runs, shape ``(runs, channels, positions)``; 0 where nothing is there.
        there: where there is a value, same shape.
        seed: of the first weights and the order of the runs.

    Returns:
        The weights by name.
    """
    with _repeatable(seed):
        device = _device()
        network = Autoencoder().to(device)
        runs, mask = _tensors(values, there, device)
        best = torch.optim.Adam(network.parameters(), lr=RATE)
        slower = torch.optim.lr_scheduler.CosineAnnealingLR(best, STEPS)
        order = np.random.default_rng(seed)
        network.train()
        for _ in range(STEPS):
            chosen = torch.from_numpy(order.integers(0, len(values), min(BATCH, len(values))))
            batch, inside = runs[chosen], mask[chosen]
            best.zero_grad()
            loss = masked_loss(network(batch, inside), batch, inside)
            loss.backward()  # type: ignore[no-untyped-call]
            best.step()
            slower.step()
        return {name: value.cpu().numpy() for name, value in network.state_dict().items()}


def reconstruct(weights: Weights, values: Singles, there: Bools) -> Singles:
    """Reconstructs scaled runs of shape ``(runs, channels, positions)``."""
    with _repeatable(0), torch.no_grad():
        device = _device()
        network = Autoencoder().to(device)
        network.load_state_dict({name: torch.tensor(value) for name, value in weights.items()})
        network.eval()
        found = np.empty_like(values)
        size = max(1, CHUNK // max(1, values.shape[1] * values.shape[2]))
        for start in range(0, len(values), size):
            part = slice(start, start + size)
            runs, mask = _tensors(values[part], there[part], device)
            found[part] = network(runs, mask)[:, :, : values.shape[2]].cpu().numpy()
        return found


def masked_loss(output: Tensor, values: Tensor, there: Tensor) -> Tensor:
    """Mean loss over what is there; quadratic for small errors, linear for large ones."""
    each = functional.smooth_l1_loss(output, values, reduction="none")
    return (each * there).sum() / there.sum().clamp(min=1)


def _tensors(values: Singles, there: Bools, device: torch.device) -> tuple[Tensor, Tensor]:
    """Runs and masks, padded at the end to a length the network takes."""
    padding = (0, -values.shape[2] % COMPRESSION)
    return (
        functional.pad(torch.from_numpy(values), padding).to(device),
        functional.pad(torch.from_numpy(there.astype(np.float32)), padding).to(device),
    )


def _device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def _repeatable(seed: int) -> Iterator[None]:
    """Makes what torch does depend on nothing but the seed, and leaves no trace of it."""
    threads, exact = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    # Asking for them loads torch's compiler, which takes seconds; on a CPU all used here are.
    asked = torch.cuda.is_available() and not exact
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        torch.set_num_threads(THREADS)
        if asked:
            torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            if asked:
                torch.use_deterministic_algorithms(False)
            torch.set_num_threads(threads)
