"""The losses of a whole batch against a loop over its questions, values and gradients."""

import pytest
import torch
from torch.nn.functional import kl_div

from as2core.losses.listwise import contrast, listwise, relevance, soften
from as2core.losses.pairwise import pairwise


def batches():
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        sizes = torch.randint(1, 7, (5,), generator=generator).tolist()
        logits = torch.randn(sum(sizes), generator=generator) * 20
        yield logits, torch.randint(0, 2, (sum(sizes),), generator=generator), sizes


def split(logits, labels, sizes):
    return zip(logits.split(sizes), labels.split(sizes), strict=True)


def loop_listwise(logits, labels, sizes):
    teacher = -logits.detach() / 5
    targets = [t.softmax(0) for t in teacher.split(sizes)]
    parts = zip(logits.split(sizes), targets, strict=True)
    return sum(kl_div(x.log_softmax(0), t, reduction="sum") for x, t in parts) / len(sizes)


def loop_relevance(logits, labels, sizes):
    parts = [(x, y / y.sum().clamp(min=1)) for x, y in split(logits, labels.float(), sizes)]
    return sum(kl_div(x.log_softmax(0), p, reduction="sum") for x, p in parts) / len(sizes)


def loop_contrast(logits, labels, sizes):
    pairs = [(x[y == 1], x[y == 0]) for x, y in split(logits, labels, sizes)]
    losses = [(right.logaddexp(wrong.logsumexp(0)) - right).mean() for right, wrong in pairs if len(right) * len(wrong)]
    return torch.stack(losses).mean() if losses else logits.sum() * 0


def loop_pairwise(logits, labels, sizes, sums):
    pairs = [(x[y == 1], x[y == 0]) for x, y in split(logits, labels, sizes)]
    hinges = [(1 - right + wrong.max()).clamp(min=0) for right, wrong in pairs if len(right) * len(wrong)]
    each = [h.sum() if sums else h.mean() for h in hinges] or [logits.sum() * 0]
    return torch.stack(each).sum() if sums else torch.stack(each).mean()


@pytest.mark.parametrize(
    ("whole", "by_question"),
    [
        (lambda x, y, n: listwise(x, soften(-x.detach(), n, 5.0), n), loop_listwise),
        (lambda x, y, n: listwise(x, relevance(y, n), n), loop_relevance),
        (lambda x, y, n: contrast(x, y, n)[0], loop_contrast),
        (lambda x, y, n: pairwise(x, y, n), lambda x, y, n: loop_pairwise(x, y, n, sums=False)),
        (lambda x, y, n: pairwise(x, y, n, sums=True), lambda x, y, n: loop_pairwise(x, y, n, sums=True)),
    ],
    ids=["distillation", "listwise", "contrast", "pairwise", "pairwise, sums"],
)
def test_a_batch_has_the_loss_and_the_gradient_of_its_questions_one_by_one(whole, by_question):
    for logits, labels, sizes in batches():
        mine, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()
        ours, expected = whole(mine, labels, sizes), by_question(theirs, labels, sizes)
        torch.testing.assert_close(ours, expected)
        ours.backward()
        expected.backward()
        torch.testing.assert_close(mine.grad, theirs.grad)
