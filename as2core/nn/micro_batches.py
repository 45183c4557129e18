"""Micro-batches of like lengths, in which little is padding. torch is not needed for them."""


def split_by_length(lengths: list[int], *, max_tokens: int = 2048) -> list[list[int]]:
    """Positions sorted by length and cut so that each batch, padded, holds at most `max_tokens` tokens."""
    batches: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batches and lengths[i] * (len(batches[-1]) + 1) <= max_tokens:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches
