"""A label file imported in one call; the page and the command line do it in two."""

from app.exchange import imports, label_files


def import_labels(wb, corpus_id, name, data, fmt="auto", annotator=imports.IMPORT, *, split="", by=None):
    """As `imports.store_labels`; `data` is the content, or a path."""
    return imports.store_labels(wb, corpus_id, label_files.read_labels(name, data, fmt), annotator, split=split, by=by)
