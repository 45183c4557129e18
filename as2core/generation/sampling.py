"""Sampling from a question model: top-k (Fan et al., 2018) mixed with nucleus (Holtzman et al., 2020), as Nogueira dos
Santos et al. (2020, section 3.5) do.

The prompts are read once, so that any number of samples from them costs only their own tokens. One seed gives one set
of texts, whatever else is sampled beside them: every prompt has its own random generator.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from as2core.errors import BadSetting
from as2core.nn.kept_passages import PassageState, read_passages, resume_reading
from as2core.nn.question_lm import PrefixLM, QuestionLM

MAX_BATCH_TEXTS = 32


@dataclass(frozen=True, slots=True)
class Sampling:
    """A token is drawn from those of the `top_k` likeliest that make up `top_p` of their probability; a `temperature`
    below 1 sharpens it. A text has at most `max_tokens`. Raises BadSetting."""

    top_k: int = 40
    top_p: float = 0.9
    temperature: float = 1.0
    max_tokens: int = 32
    seed: int = 0

    def __post_init__(self) -> None:
        if self.top_k < 1 or not 0 < self.top_p <= 1 or self.temperature <= 0 or self.max_tokens < 1:
            raise BadSetting("top_k and max_tokens are at least 1, top_p within 0 and 1, temperature above 0")


@dataclass(frozen=True, slots=True)
class TextSample:
    """`log_p` is the mean log-probability of its tokens under the model (before top-k and nucleus), in nats."""

    text: str
    log_p: float


@torch.inference_mode()
def sample(lm: QuestionLM, prompts: Sequence[str], n: int, settings: Sampling | None = None) -> list[list[TextSample]]:
    """`n` texts that continue each prompt, in the order of drawing; empty ones are left out."""
    settings = settings or Sampling()
    out: list[list[TextSample]] = []
    size = max(1, MAX_BATCH_TEXTS // max(1, n))
    for start in range(0, len(prompts), size):
        some = prompts[start : start + size]
        generators = [_generator(p, settings.seed) for p in some]
        texts = _generate(lm, [k for k in read_passages(lm, some) for _ in range(n)], generators, settings)
        out += [[s for s in texts[i * n : (i + 1) * n] if s.text] for i in range(len(some))]
    return out


def _generator(prompt: str, seed: int) -> torch.Generator:
    digest = hashlib.blake2b(f"{seed}\0{prompt}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest) >> 1)


def _generate(
    lm: QuestionLM, prompts: list[PassageState], generators: list[torch.Generator], settings: Sampling
) -> list[TextSample]:
    """One text for each prompt; the prompts of one generator are neighbours, in equal number."""
    reading, end = resume_reading(lm, prompts), _end_token(lm)
    specials = torch.tensor(sorted(set(lm.tokenizer.all_special_ids) - {end}), dtype=torch.long)
    share = len(prompts) // len(generators)
    ids: list[list[int]] = [[] for _ in prompts]
    total = torch.zeros(len(prompts))
    count = torch.zeros(len(prompts))
    unfinished = torch.ones(len(prompts), dtype=torch.bool)
    states = reading.start()
    for _ in range(settings.max_tokens):
        log_p = reading.logits(states[:, -1]).cpu().log_softmax(-1)  # (batch, vocabulary)
        logits = log_p.index_fill(1, specials, float("-inf")) if len(specials) else log_p
        noise = torch.cat([torch.rand(share, generator=g) for g in generators])
        tokens = draw_tokens(logits / settings.temperature, noise, top_k=settings.top_k, top_p=settings.top_p)
        total += torch.where(unfinished, log_p.gather(1, tokens[:, None])[:, 0], torch.zeros(()))
        count += unfinished
        for i in torch.nonzero(unfinished & (tokens != end))[:, 0].tolist():
            ids[i].append(int(tokens[i]))
        unfinished &= tokens != end
        if not unfinished.any():
            break
        states = reading.extend(tokens[:, None].to(states.device))
    texts = lm.tokenizer.batch_decode(ids, skip_special_tokens=True)
    return [TextSample(tidy(t), float(s / n)) for t, s, n in zip(texts, total, count, strict=True)]


def draw_tokens(logits: torch.Tensor, noise: torch.Tensor, *, top_k: int, top_p: float) -> torch.Tensor:
    """Logits (batch, vocabulary) and uniform noise (batch,) -> tokens (batch,), by the inverse of the distribution.

    Drawn from the fewest of the top k whose probability, among the k, reaches top p; at least from the likeliest.
    """
    values, tokens = logits.topk(min(top_k, logits.shape[1]), dim=1)  # sorted, the likeliest first
    p = values.softmax(1)
    before = p.cumsum(1) - p
    p = torch.where(before < top_p, p, torch.zeros(()))
    reached = p.cumsum(1) / p.sum(1, keepdim=True)
    place = (reached <= noise[:, None]).sum(1).clamp(max=p.shape[1] - 1)
    return tokens.gather(1, place[:, None])[:, 0]


def tidy(text: str) -> str:
    """A text as a person would write it: one line, no blank before a mark, a capital first."""
    text = " ".join(text.split())
    for mark in "?!.,;:'":
        text = text.replace(f" {mark}", mark)
    text = text.replace("' s ", "'s ").replace(" - ", "-")
    return text[:1].upper() + text[1:]


def _end_token(lm: QuestionLM) -> int:
    """The token that ends a text; -1 for a model without one."""
    if isinstance(lm, PrefixLM):
        return lm.end
    return -1 if lm.tokenizer.eos_token_id is None else lm.tokenizer.eos_token_id
