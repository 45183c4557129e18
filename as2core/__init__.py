"""AS2 Workbench's library: choose the sentence that answers a question.

Importing it costs nothing: no model is loaded and torch is not imported until a ranker needs it. It sets one variable
of the environment, which has to be there before ONNX Runtime is imported (`as2core.telemetry`).
"""

from as2core.telemetry import disable_telemetry
from as2core.types import Candidate, Document, Hit, Passage, Question, Sentence

__version__ = "0.1.0"
__all__ = ["Candidate", "Document", "Hit", "Passage", "Question", "Sentence", "__version__"]

disable_telemetry()
