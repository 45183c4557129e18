"""Sums and maxima within each question of a batch whose candidates stand one after the other.

Each is one operation over the whole batch: a loop over questions would, on a GPU, wait for every one of them.
"""

import torch
from torch import Tensor


def number_rows(sizes: list[int], like: Tensor) -> Tensor:
    """The question (n,) of each row, for `sizes` rows a question."""
    return torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes, dtype=torch.long)).to(like.device)


def add_up(x: Tensor, rows: Tensor, questions: int) -> Tensor:
    """The sum (questions,) of x (n,) within each question."""
    return x.new_zeros(questions).index_add(0, rows, x)


def find_highest(x: Tensor, rows: Tensor, questions: int) -> Tensor:
    """The maximum (questions,) of x (n,) within each question; minus infinity where there is none."""
    return x.new_full((questions,), -torch.inf).scatter_reduce(0, rows, x, "amax")


def log_sum_exp(x: Tensor, rows: Tensor, questions: int) -> Tensor:
    """log sum exp (questions,) of x (n,) within each question; values of minus infinity add nothing, and where there is
    no other the result is a large negative number with no gradient."""
    top = find_highest(x.detach(), rows, questions)
    top = torch.where(top.isfinite(), top, 0.0)
    total = add_up((x - top[rows]).exp(), rows, questions)
    return top + total.clamp(min=torch.finfo(x.dtype).tiny).log()
