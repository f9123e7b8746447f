"""The loss: that of TRL's GRPOTrainer on the same batch, and the same whether rollouts share rows or not."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_qwen import make_model
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer

from toolscale.records import TokenTrace
from training.attention import BRANCHED
from training.batch import Sample, empty_micro_batch, make_batch
from training.config import LossSettings
from training.head import Head, token_logprobs
from training.loss import Scorer, Tokens, token_losses

pytestmark = pytest.mark.filterwarnings(
    "ignore:.torch.jit.script:DeprecationWarning",
    "ignore:.gradient_checkpointing. is deprecated:FutureWarning",
    "ignore:OMP_NUM_THREADS:UserWarning",
)


def some_samples(seed: int = 0, groups: int = 3, size: int = 4, words: int = 200) -> list[Sample]:
    """Rollouts of two turns: prompt, written, observed, written. Two of a group are the same, and one group has one
    token of prompt."""
    rng = random.Random(seed)
    samples = []
    for group in range(groups):
        prompt = [rng.randrange(words) for _ in range(1 if group == 0 else rng.randrange(5, 20))]
        first = [rng.randrange(words) for _ in range(3)]
        for member in range(size):
            own = first if member < 2 else [rng.randrange(words) for _ in range(rng.randrange(1, 5))]
            seen = [rng.randrange(words) for _ in range(0 if member < 2 else 4)]
            last = [] if member < 2 else [rng.randrange(words) for _ in range(2)]
            ids = (*prompt, *own, *seen, *last)
            written = (False,) * len(prompt) + (True,) * len(own) + (False,) * len(seen) + (True,) * len(last)
            logprobs = tuple(rng.uniform(-6, -4) if mine else 0.0 for mine in written)
            samples.append(Sample(TokenTrace(ids=ids, written=written, logprobs=logprobs), rng.uniform(-2, 2), group))
    return samples


def own_loss(
    model: Any,
    samples: list[Sample],
    settings: LossSettings,
    branched: int,
    old: float,
    reference: Any = None,
    budget: int = 64,
    temperature: float = 1.0,
    correct: bool = False,
) -> torch.Tensor:
    """The loss as training/grpo.py makes it, with old log-probabilities that are `old` away from the new ones."""
    scorer = Scorer(model, temperature, chunk=7, learns_entropy=settings.entropy > 0)
    known = None if reference is None else Scorer(reference, temperature, chunk=7)
    batch = make_batch(samples, budget, branched, correct)
    loss = torch.zeros(())
    for part in batch.parts:
        new, entropy = (each[part.spread] for each in scorer(part.packed, part.wanted))
        with torch.no_grad():
            ref = None if known is None else known(part.packed, part.wanted)[0][part.spread]
        shifted = new.detach() - old * torch.sin(new.detach() * 50) if old else None
        losses, _ = token_losses(new, replace(part.tokens, old=shifted, reference=ref), settings)
        loss = loss + (losses.sum() - settings.entropy * entropy.sum()) / batch.tokens
    return loss


def gradients(model: Any, loss: torch.Tensor) -> torch.Tensor:
    model.zero_grad()
    loss.backward()
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


def trl_loss(
    folder: Path,
    samples: list[Sample],
    settings: LossSettings,
    old: float,
    reference: Any = None,
    temperature: float = 1.0,
    correct: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Loss and gradient of GRPOTrainer._compute_loss, fed with the same rollouts in TRL's own shape."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    options = GRPOConfig(
        output_dir=str(folder / "trl"),
        use_cpu=True,
        bf16=False,
        report_to="none",
        loss_type="dapo",
        beta=settings.kl,
        num_generations=4,
        per_device_train_batch_size=4,
        epsilon=settings.clip_low,
        epsilon_high=settings.clip_high,
        delta=settings.ratio_cap,
        temperature=temperature,
        entropy_coef=settings.entropy,
        gradient_checkpointing=False,
        use_bias_correction_kl=False,
        dataloader_pin_memory=False,
    )
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    rows = Dataset.from_list([{"prompt": "a"}] * 4)
    trainer = GRPOTrainer(
        model=model, reward_funcs=lambda **_: [0.0] * 4, args=options, train_dataset=rows, processing_class=tokenizer
    )
    trainer.current_gradient_accumulation_steps = 1
    trainer.model.train()
    begins = [next(place for place, mine in enumerate(sample.trace.written) if mine) for sample in samples]
    left, right = max(begins), max(len(sample.trace.ids) - begin for sample, begin in zip(samples, begins, strict=True))
    fields: dict[str, list[list[float]]] = {
        name: [] for name in ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask", "tool_mask", "sampled")
    }
    for sample, begin in zip(samples, begins, strict=True):
        ids, written = list(sample.trace.ids), list(sample.trace.written)
        pad, rest = left - begin, right - (len(ids) - begin)
        fields["prompt_ids"].append([0] * pad + ids[:begin])
        fields["prompt_mask"].append([0] * pad + [1] * begin)
        fields["completion_ids"].append(ids[begin:] + [0] * rest)
        fields["completion_mask"].append([1] * (len(ids) - begin) + [0] * rest)
        fields["tool_mask"].append([int(mine) for mine in written[begin:]] + [0] * rest)
        fields["sampled"].append([*sample.trace.logprobs[begin:], *[0.0] * rest])
    inputs: dict[str, Any] = {name: torch.tensor(values) for name, values in fields.items()}
    inputs["advantages"] = torch.tensor([sample.advantage for sample in samples])
    inputs["num_items_in_batch"] = inputs["tool_mask"].sum()
    whole = (
        torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1),
        torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1),
    )
    with torch.no_grad():
        new, _, _ = trainer._get_per_token_logps_and_entropies(trainer.model, *whole, right)
        if old:
            inputs["old_per_token_logps"] = new - old * torch.sin(new * 50)
        if reference is not None:
            trainer.ref_model.load_state_dict(reference.state_dict())
            inputs["ref_per_token_logps"], _, _ = trainer._get_per_token_logps_and_entropies(
                trainer.ref_model, *whole, right
            )
    if correct:
        trainer.use_vllm = True  # whose part of the loss is this one factor
        before = inputs.get("old_per_token_logps", new)
        weights = (before - inputs["sampled"]).exp().clamp(max=settings.importance_cap)
        inputs |= {"importance_sampling_ratio": weights, "sampling_per_token_logps": inputs["sampled"]}
    trainer.args.steps_per_generation = 1
    loss = trainer._compute_loss(trainer.model, inputs)
    return loss.detach(), gradients(trainer.model, loss)


@pytest.mark.parametrize(
    ("settings", "old", "temperature", "correct"),
    [
        (LossSettings(), 0.0, 1.0, False),
        (LossSettings(clip_low=0.2, clip_high=0.28), 0.5, 1.0, False),
        (LossSettings(ratio_cap=1.3, clip_high=0.1), 0.5, 1.0, False),
        (LossSettings(kl=0.1), 0.3, 0.7, False),
        (LossSettings(importance_cap=1.5), 0.3, 0.7, True),
        (LossSettings(entropy=0.2), 0.3, 0.7, False),
    ],
    ids=["on policy", "clipped", "dual clip", "with KL", "sampled elsewhere", "bonus for entropy"],
)
def test_loss_and_gradient_are_those_of_trl(
    settings: LossSettings, old: float, temperature: float, correct: bool, tmp_path: Path
) -> None:
    folder = make_model(tmp_path / "model")
    reference = (
        AutoModelForCausalLM.from_pretrained(make_model(tmp_path / "reference", seed=1)) if settings.kl else None
    )
    samples = some_samples()
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation=BRANCHED)
    model.train()
    options: dict[str, Any] = {"old": old, "reference": reference, "temperature": temperature, "correct": correct}
    loss = own_loss(model, samples, settings, branched=2048, **options)
    expected, expected_gradient = trl_loss(folder, samples, settings, **options)
    torch.testing.assert_close(loss.detach(), expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(gradients(model, loss), expected_gradient, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("attention", [BRANCHED, "sdpa"])
@pytest.mark.parametrize("branched", [0, 30, 2048])
def test_loss_is_the_same_however_rollouts_share_rows(branched: int, attention: str, tmp_path: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(make_model(tmp_path), attn_implementation=attention)
    samples, settings = some_samples(seed=1), LossSettings(clip_high=0.1)
    alone = own_loss(model, samples, settings, branched=0, old=0.5, budget=1)
    expected = gradients(model, alone)
    shared = own_loss(model, samples, settings, branched=branched, old=0.5)
    torch.testing.assert_close(shared.detach(), alone.detach(), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(gradients(model, shared), expected, atol=1e-5, rtol=1e-4)


def test_rollouts_that_wrote_the_same_go_through_the_model_once() -> None:
    samples = some_samples(groups=1, size=2)
    batch = make_batch(samples, 1000, 2048, correct=False)
    [part] = batch.parts
    assert (len(part.wanted.targets), part.spread.tolist(), batch.tokens) == (3, [0, 1, 2, 0, 1, 2], 6)
    assert part.tokens.advantages.tolist() == pytest.approx([sample.advantage for sample in samples for _ in range(3)])
    assert part.tokens.turns.tolist() == [0] * len(part.spread)


def test_turns_are_told_apart_by_what_the_model_did_not_write() -> None:
    written = (False, True, True, False, True, False, False, True, True)
    trace = TokenTrace(ids=tuple(range(9)), written=written, logprobs=(0.0,) * 9)
    [part] = make_batch([Sample(trace, 1.0, 0)], 100, 0, correct=False).parts
    assert part.tokens.turns.tolist() == [0, 0, 1, 2, 2]


def test_what_another_program_sampled_is_weighed_up_to_the_cap() -> None:
    new = torch.tensor([-1.0, -1.0, -1.0], requires_grad=True)
    sampled = torch.tensor([-1.0, -3.0, 0.0])
    tokens = Tokens(advantages=torch.tensor([1.0, 1.0, -2.0]), turns=torch.zeros(3), sampled=sampled)
    losses, sums = token_losses(new, tokens, LossSettings(importance_cap=2.0))
    torch.testing.assert_close(losses.detach(), torch.tensor([-1.0, -2.0, 2.0 * torch.e**-1]))
    assert sums["weight"].item() == pytest.approx(3 + torch.e**-1)
    assert sums["weight_near_1"].item() == 1


@pytest.mark.parametrize(("weight", "near"), [(0.79, 0), (0.81, 1), (1.0, 1), (1.24, 1), (1.26, 0), (9.0, 0)])
@pytest.mark.parametrize("cap", [1.1, 2.0])
def test_importance_weights_near_one_are_counted_whatever_the_cap(weight: float, near: int, cap: float) -> None:
    new = torch.tensor([-1.0])
    tokens = Tokens(torch.ones(1), torch.zeros(1), sampled=new - torch.tensor(weight).log())
    assert token_losses(new, tokens, LossSettings(importance_cap=cap))[1]["weight_near_1"].item() == near


def test_a_rank_with_nothing_left_tells_the_same_figures_as_the_others() -> None:
    """Figures are summed over all ranks, which must name the same ones: with a sampler of its own, one name was
    missing."""
    for correct, names in ((False, {"clipped"}), (True, {"clipped", "weight", "weight_near_1"})):
        _, sums = token_losses(torch.zeros(0, requires_grad=True), empty_micro_batch(correct).tokens, LossSettings())
        assert sums.keys() == names


def test_squared_distance_is_verls_mse() -> None:
    new = torch.tensor([-1.0, -2.0], requires_grad=True)
    tokens = Tokens(advantages=torch.zeros(2), turns=torch.zeros(2), reference=torch.tensor([-1.5, -2.0]))
    losses, sums = token_losses(new, tokens, LossSettings(kl=0.1, kl_kind="mse"))
    torch.testing.assert_close(losses.detach(), torch.tensor([0.1 * 0.125, 0.0]))
    assert sums["kl"].item() == pytest.approx(0.125)


@given(
    st.floats(-2, 2).filter(lambda value: value == 0 or abs(value) > 1e-3),
    st.floats(-1, 1),
    st.floats(0.05, 0.3),
    st.floats(0.05, 0.3),
)
def test_no_gradient_beyond_the_bounds_in_the_wished_direction(
    advantage: float, apart: float, low: float, high: float
) -> None:
    new = torch.tensor([apart - 1.0], requires_grad=True)
    tokens = Tokens(advantages=torch.tensor([advantage]), turns=torch.zeros(1), old=torch.tensor([-1.0]))
    losses, sums = token_losses(new, tokens, LossSettings(clip_low=low, clip_high=high))
    losses.sum().backward()
    ratio = (new.detach() - tokens.old).exp().item()
    outside = (advantage > 0 and ratio > 1 + high) or (advantage < 0 and ratio < 1 - low)
    assert new.grad is not None
    assert new.grad.item() == pytest.approx(0.0 if outside else -advantage * ratio, abs=1e-5)
    assert sums["clipped"].item() == outside


@pytest.mark.parametrize("learns_entropy", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_chunks_of_the_head_have_the_gradient_of_all_tokens_at_once(learns_entropy: bool, biased: bool) -> None:
    torch.manual_seed(0)
    output, hidden, targets = nn.Linear(8, 11, bias=biased).double(), torch.randn(10, 8).double(), torch.arange(10)
    found = []
    for chunk in (10, 3):
        states = hidden.clone().requires_grad_()
        logprobs, entropy = Head(output, 0.7, chunk, learns_entropy)(states, targets)
        loss = (logprobs * torch.arange(10)).sum() - (0.3 * entropy * torch.arange(10)).sum()
        found.append((logprobs, entropy, *torch.autograd.grad(loss, [states, *output.parameters()])))
    for at_once, chunked in zip(*found, strict=True):
        torch.testing.assert_close(chunked, at_once, atol=1e-5, rtol=1e-5)


def test_entropy_has_a_gradient_only_for_a_bonus() -> None:
    targets = torch.tensor([0, 1])
    logits = torch.tensor([[2.0, 0.0, -1.0], [0.0, 0.0, 0.0]], requires_grad=True)
    _, entropy = token_logprobs(logits, targets, 1.0)
    assert not entropy.requires_grad
    _, entropy = token_logprobs(logits, targets, 1.0, learns_entropy=True)
    entropy.sum().backward()
    assert entropy[1].item() == pytest.approx(math.log(3))
    assert logits.grad is not None
    assert logits.grad[0, 0] < 0 < logits.grad[0, 1]  # towards evenness
    assert logits.grad[1].abs().max() < 1e-6  # which is the most there is
