"""A model of the hub is loaded by the commit that its name holds."""

import contextlib

import pytest
import transformers

from as2core.errors import As2Error
from as2core.nn.backbone import load_backbone
from as2core.nn.hub import split_revision
from as2core.rankers.classifier import load_classifier
from as2core.rankers.generative import load_question_lm
from as2core.rankers.seq2seq_classifier import is_seq2seq

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_a_name_may_hold_a_commit_and_a_directory_an_at_sign(tmp_path):
    assert split_revision(f"org/name@{COMMIT}") == ("org/name", COMMIT)
    assert split_revision("org/name@v1.0") == ("org/name", "v1.0")
    assert split_revision("org/name") == ("org/name", "main")
    folder = tmp_path / "a@b"
    folder.mkdir()
    assert split_revision(str(folder)) == (str(folder), "main")


@pytest.mark.parametrize("load", [load_backbone, load_classifier, load_question_lm, is_seq2seq])
def test_every_kind_of_model_is_asked_for_at_that_commit(load, monkeypatch):
    requests = []

    def refuse(name, *rest, revision=None, **more):
        requests.append((name, revision))
        raise OSError("no network here")

    for loader in ("AutoConfig", "AutoModelForSequenceClassification"):
        monkeypatch.setattr(getattr(transformers, loader), "from_pretrained", refuse)
    with contextlib.suppress(As2Error):
        load(f"org/name@{COMMIT}")
    assert requests == [("org/name", COMMIT)]
