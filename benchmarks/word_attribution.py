"""Which way to attribute a cascade's score to the words of a sentence finds the words that matter?

    python benchmarks/word_attribution.py                 over 40 correct sentences of the starter test questions
    python benchmarks/word_attribution.py --sentences 5   a quick look

Ways: a word is cut out, or a mask is put in its place (occlusion, Zeiler and Fergus, 2014); integrated gradients
(Sundararajan, Taly and Yan, 2017) from masks to the words, 16 steps; words at random. Printed for each is what the
final logit loses without the best 1, 2, 3 and 5 words by that way, cut out or masked (more is better), what it loses
when only the best 3, 5 and 8 words stay (less is better), and the CPU seconds of a sentence.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch

from as2core.cascade.engine_torch import TorchEngine
from as2core.data.catalog import load_questions
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.text import find_words

REMOVED, REMAINING, STEPS = (1, 2, 3, 5), (3, 5, 8), 16
MASK = "[MASK]"
Way = Callable[[str, str, str], np.ndarray]  # (question, title, sentence) -> an effect a word


def replace_words(text: str, words: Sequence[int], by: str) -> str:
    spans = find_words(text)
    for i in sorted(words, reverse=True):
        text = text[: spans[i][0]] + by + text[spans[i][1] :]
    return text


class Scorer:
    """The last exit's logits in float32."""

    def __init__(self, ranker: CascadeRanker) -> None:
        self.ranker = ranker
        heads, exits = ranker.module.heads[-1:], ranker.exits[-1:]
        self.engine = TorchEngine(ranker.backbone, heads, exits, max_length=ranker.max_length)

    def score(self, question: str, title: str, texts: Sequence[str]) -> np.ndarray:
        run = self.engine.start([question] * len(texts), [f"{title}: {t}" for t in texts])
        return run.advance(np.arange(len(texts)), 0, 1)[0][0]

    def occlude(self, by: str) -> Way:
        def attribute(question: str, title: str, text: str) -> np.ndarray:
            variants = [replace_words(text, [i], by) for i in range(len(find_words(text)))]
            whole, *without = self.score(question, title, [text, *variants])
            return whole - np.array(without)

        return attribute

    def integrate_gradients(self, question: str, title: str, text: str) -> np.ndarray:
        backbone, before = self.ranker.backbone, f"{title}: "
        packed = backbone.encode([question], [before + text], max_length=self.ranker.max_length)
        ids, mask, second = backbone.pad(packed, [0])
        places = backbone.tokenizer(before + text, add_special_tokens=False, return_offsets_mapping=True)
        begin, tokens = packed.second[0], places["offset_mapping"]
        end = min(begin + len(tokens), ids.shape[1] - 1)
        masked = ids.clone()
        masked[0, begin:end] = backbone.tokenizer.mask_token_id
        table = backbone.embeddings.word_embeddings
        start, whole = table(masked).detach(), table(ids).detach()
        shares = (torch.arange(STEPS) + 0.5) / STEPS
        inputs = (start + shares[:, None, None] * (whole - start)).requires_grad_()
        masks = mask.expand(STEPS, -1), second.expand(STEPS, -1)
        hidden = backbone.run(backbone.embeddings(inputs_embeds=inputs), masks[0], 0, backbone.layers)
        (slopes,) = torch.autograd.grad(self.ranker.module.heads[-1](hidden, *masks).sum(), inputs)
        effects = (slopes.mean(0) * (whole - start)[0]).sum(-1)[begin:end].tolist()
        at = [(a - len(before), b - len(before)) for a, b in tokens]
        return np.array(
            [sum(e for e, (a, b) in zip(effects, at, strict=False) if a < y and b > x) for x, y in find_words(text)]
        )

    def measure(self, question: str, title: str, text: str, effects: np.ndarray) -> list[float]:
        best_first = np.argsort(-effects, kind="stable").tolist()
        variants = [replace_words(text, best_first[:k], by) for by in ("", MASK) for k in REMOVED]
        variants += [replace_words(text, best_first[k:], "") for k in REMAINING]
        whole, *without = self.score(question, title, [text, *variants])
        losses, n = whole - np.array(without), len(REMOVED)
        return [float(part.mean()) for part in (losses[:n], losses[n : 2 * n], losses[2 * n :])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=40)
    count = parser.parse_args().sentences
    pairs = [
        (q.text, c.title, c.text) for q in load_questions("starter-test").questions for c in q.candidates if c.label
    ]
    random.Random(1).shuffle(pairs)
    ranker = get("cascade:engine=torch")
    assert isinstance(ranker, CascadeRanker)
    scorer, rng = Scorer(ranker), np.random.default_rng(1)
    ways: dict[str, Way] = {
        "cut out": scorer.occlude(""),
        "masked": scorer.occlude(MASK),
        "integrated gradients": scorer.integrate_gradients,
        "at random": lambda _question, _title, text: rng.random(len(find_words(text))),
    }
    print(
        "| way | lost without the best, cut | masked | lost with the best alone | CPU seconds a sentence, p50 | p95 |"
    )
    print("|---|---|---|---|---|---|")
    for name, attribute in ways.items():
        results, seconds = [], []
        for pair in pairs[:count]:
            started = time.process_time()
            effects = attribute(*pair)
            seconds.append(time.process_time() - started)
            results.append(scorer.measure(*pair, effects))
        losses = " | ".join(f"{v:.2f}" for v in np.mean(results, 0))
        print(f"| {name} | {losses} | {np.median(seconds):.2f} | {np.percentile(seconds, 95):.2f} |", flush=True)


if __name__ == "__main__":
    main()
