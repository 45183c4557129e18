"""Settings with which a tiny model is trained in a moment."""

from as2core.training.settings import TrainSettings

FAST = TrainSettings(epochs=2, learning_rate=3e-3, batch_questions=4, negatives=3, freeze_embeddings=False, seed=1)
