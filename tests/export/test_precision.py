"""bfloat16 weights follow their float32 masters, and pooled dropout drops what it should."""

import pytest
import torch
from torch import nn

from deid_export.precision import MasterWeights, PooledDropout, pool_dropout


def regression(rate: float, steps: int) -> tuple[nn.Linear, float]:
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    weights = MasterWeights(model, rate=rate, weight_decay=0.0, clip_norm=1.0, dtype=torch.bfloat16)
    x = torch.randn(256, 8)
    y = x.sum(dim=1, keepdim=True)
    loss = torch.tensor(0.0)
    for _ in range(steps):
        loss = ((model(x.bfloat16()).float() - y) ** 2).mean()
        loss.backward()
        weights.step(rate)
    weights.release()
    return model, float(loss.detach())


def test_steps_too_small_for_bfloat16_add_up() -> None:
    before, _ = regression(1e-4, 0)
    after, _ = regression(1e-4, 200)

    # A single step is below the resolution of bfloat16 near 0.3, which is about 1e-3.
    assert after.weight.dtype == torch.float32
    assert float((after.weight - before.weight).detach().abs().max()) == pytest.approx(0.02, rel=0.3)


def test_it_learns() -> None:
    assert regression(0.02, 300)[1] < 0.01


def test_what_is_frozen_is_given_back_as_it_was() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    model[0].requires_grad_(False)
    kept = model[0].weight.clone()
    weights = MasterWeights(model, rate=0.1, weight_decay=0.1, clip_norm=1.0, dtype=torch.bfloat16)
    model(torch.ones(2, 4, dtype=torch.bfloat16)).sum().backward()
    weights.step(0.1)
    weights.release()

    assert torch.equal(model[0].weight, kept)


def test_dropout_drops_its_share_and_keeps_the_mean() -> None:
    torch.manual_seed(0)
    dropout = PooledDropout(0.1).train()
    x = torch.ones(64, 128, 384)
    out = dropout(x)

    assert float((out == 0).float().mean()) == pytest.approx(0.1, abs=0.002)
    assert float(out.mean()) == pytest.approx(1.0, abs=0.003)
    assert not torch.equal(out, dropout(x))
    assert torch.equal(dropout.eval()(x), x)


def test_every_dropout_is_replaced() -> None:
    model = nn.Sequential(nn.Dropout(0.2), nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.1)))
    pool_dropout(model)

    assert [m.rate for m in model.modules() if isinstance(m, PooledDropout)] == [0.2, 0.1]
    assert not any(isinstance(m, nn.Dropout) for m in model.modules())
