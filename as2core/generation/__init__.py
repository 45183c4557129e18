"""Texts from a generative ranker's model: questions for a passage, passages for a question."""
