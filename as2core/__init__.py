"""AS2 Workbench's library: choose the sentence that answers a question.

Importing it costs nothing: no model is loaded and torch is not imported until a ranker needs it. It sets two
variables of the environment, which have to be there before ONNX Runtime and torch are imported (`as2core.telemetry`,
`as2core.threads`).
"""

from as2core.telemetry import disable_telemetry
from as2core.threads import stop_spinning
from as2core.types import Candidate, Document, Hit, Passage, Question, Sentence

__version__ = "0.1.0"
__all__ = ["Candidate", "Document", "Hit", "Passage", "Question", "Sentence", "__version__"]

disable_telemetry()
stop_spinning()
