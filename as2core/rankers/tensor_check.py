"""Whether a file's tensors are those a model needs: every one that it learned, in its shape, of a kind that fits.

A file may leave out tensors of the backbone, which then stay as they are known here (see `versions`), and the second
name of a tied tensor. Whatever else is missing, unknown, or of another shape or type makes the file unusable: a model
that filled the gaps with chance would answer, and confidently.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from as2core.errors import DamagedModel

if TYPE_CHECKING:
    from torch import Tensor

FLOATS = ("float32", "float16", "bfloat16", "float64")


def check_tensors(
    tensors: Mapping[str, "Tensor"], state: Mapping[str, "Tensor"], where: str, optional: Collection[str] = ()
) -> None:
    """`tensors` of a file against a model's `state`; those in `optional` may be left out. Raises DamagedModel, which
    names the first tensor that does not fit."""
    if unknown := sorted(set(tensors) - set(state)):
        raise DamagedModel(f"{where} holds tensors this version of the program does not know: {unknown[0]}")
    for name, tensor in tensors.items():
        expected = state[name]
        if tensor.shape != expected.shape:
            raise DamagedModel(
                f"{where}: {name} has the shape {tuple(tensor.shape)} instead of {tuple(expected.shape)}"
            )
        if not _is_kind_of(tensor, expected):
            raise DamagedModel(f"{where}: {name} has the type {tensor.dtype} instead of {expected.dtype}")
    present = {state[name].data_ptr() for name in tensors}
    allowed = set(optional)
    missing = [n for n, t in state.items() if n not in tensors and n not in allowed and t.data_ptr() not in present]
    if missing:
        raise DamagedModel(f"{where} lacks {len(missing)} of the tensors that the model learned: {missing[0]}")


def _is_kind_of(tensor: "Tensor", expected: "Tensor") -> bool:
    kinds = [str(t.dtype).removeprefix("torch.") for t in (tensor, expected)]
    return kinds[0] == kinds[1] or all(kind in FLOATS for kind in kinds)
