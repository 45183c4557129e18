"""AS2 Workbench's library: choose the sentence that answers a question.

Importing it costs nothing: no model is loaded and torch is not imported until a ranker needs it. It sets two
variables of the environment, which have to be there before ONNX Runtime and torch are imported
(`as2core.system.telemetry`, `as2core.system.threads`).
"""

from typing import TYPE_CHECKING

from as2core.system.telemetry import disable_telemetry
from as2core.system.threads import stop_spinning
from as2core.types import Candidate, Document, Hit, Passage, Question, Sentence
from as2core.version import __version__

if TYPE_CHECKING:
    from as2core.reranker import Reranker

__all__ = ["Candidate", "Document", "Hit", "Passage", "Question", "Reranker", "Sentence", "__version__"]

disable_telemetry()
stop_spinning()


def __getattr__(name: str) -> object:
    """`as2core.Reranker`, which the other names here do without."""
    if name == "Reranker":
        from as2core.reranker import Reranker

        return Reranker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
