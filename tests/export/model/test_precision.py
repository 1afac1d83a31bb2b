"""Test that bfloat16 weights follow their float32 masters, and that pooled dropout drops the right share."""

import time
from collections.abc import Mapping

import pytest

pytest.importorskip("torch", reason="training needs torch, which the runtime does without")
pytest.importorskip("transformers", reason="training needs transformers, which the runtime does without")

import torch
from torch import nn

from deid_export.model.precision import MasterWeights, PooledDropout, compute_dtype, pool_dropout


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

    # A single step is smaller than the resolution of bfloat16 near 0.3, which is about 1e-3.
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


class Clock:
    """A clock by which a bfloat16 computation takes ``seconds``, and every other computation one second."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._now = 0.0
        self._dtype = torch.float32

    def look(self, module: nn.Module, inputs: tuple[torch.Tensor]) -> None:
        self._dtype = inputs[0].dtype

    def now(self) -> float:
        self._now += self._seconds if self._dtype == torch.bfloat16 else 1.0
        return self._now


@pytest.mark.parametrize(
    ("units", "seconds", "expected"),
    [
        pytest.param({}, 0.1, torch.float32, id="none"),
        pytest.param({"avx512_bf16": False}, 0.1, torch.float32, id="avx512-without"),
        pytest.param({"amx_bf16": True}, 9.0, torch.bfloat16, id="units-are-not-timed"),
        pytest.param({"avx512_bf16": True}, 0.5, torch.bfloat16, id="twice-as-fast"),
        pytest.param({"avx512_bf16": True}, 0.9, torch.float32, id="hardly-faster"),
        pytest.param({"avx512_bf16": True}, 1.5, torch.float32, id="slower"),
    ],
)
def test_the_type_is_the_one_that_is_faster(
    monkeypatch: pytest.MonkeyPatch, units: Mapping[str, bool], seconds: float, expected: torch.dtype
) -> None:
    clock = Clock(seconds)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: units)
    monkeypatch.setattr(time, "perf_counter", clock.now)
    hook = nn.modules.module.register_module_forward_pre_hook(clock.look)
    compute_dtype.cache_clear()

    with torch.inference_mode():
        chosen = compute_dtype()

    hook.remove()
    compute_dtype.cache_clear()
    assert chosen == expected
