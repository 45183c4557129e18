"""The type of an encoder's products: bfloat16, where the device has instructions for it, or float32. Weights,
classifiers and sums stay in float32 (torch's autocast).
"""

from as2core.errors import BadSetting

DTYPES = ("auto", "bfloat16", "float32")


def has_bfloat16(device: str) -> bool:
    """Whether a device of torch ("cpu", "cuda:1") has instructions for bfloat16; others would only imitate it."""
    import torch

    if device.startswith("cuda"):
        is_emulation_enough = False
        return torch.cuda.is_available() and torch.cuda.is_bf16_supported(is_emulation_enough)
    return bool(torch.cpu._is_avx512_bf16_supported())


def require_dtype(name: str, device: str) -> None:
    """Raises BadSetting unless it is one of DTYPES that the device can compute in."""
    if name not in DTYPES:
        raise BadSetting(f"no dtype {name!r}; known: {', '.join(DTYPES)}")
    if name == "bfloat16" and not has_bfloat16(device):
        owner = "GPU" if device.startswith("cuda") else "processor"
        need = "compute capability 8.0, as an A100" if owner == "GPU" else "AVX512-BF16"
        raise BadSetting(f"dtype=bfloat16: this {owner} has no instructions for it ({need}): leave it out, or float32")
