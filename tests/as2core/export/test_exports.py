"""What is exported scores as the ranker does, in the programs it is for."""

import importlib.util
import json
import math
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest
import torch
from safetensors.torch import load_file

from as2core.errors import BadSetting, DamagedModel
from as2core.export import export_ranker, import_ranker, onnx_int8
from as2core.nn.backbone import load_backbone
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.rankers.onnx import load_onnx
from as2core.rankers.word_overlap import WordOverlapRanker
from as2core.reranker import Reranker
from as2core.types import Candidate

QUESTION = "When was the tower finished?"
TEXTS = ["the tower was finished in 1889 .", "the river is long", "bread", "the heart of the city stands high . " * 30]
CANDIDATES = [Candidate(str(i), t) for i, t in enumerate(TEXTS)]
NEEDS_GPU = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")]


def shaken(backbone, exits=(2, 4, 6)):
    """A cascade whose head does something everywhere."""
    torch.manual_seed(3)
    ranker = CascadeRanker(backbone, exits=exits, drop_ratio=0.0, max_length=64, calibration=[(1.2, -0.3)] * len(exits))
    with torch.no_grad():
        for p in ranker.module.heads.parameters():
            p.normal_(std=0.3)
    return ranker


@pytest.fixture(scope="module")
def earlier_exit(tiny, tmp_path_factory):
    """earlier_exit("bert", "onnx") gives a cascade of three exits and where the second of them was exported, once for
    all tests: torch takes seconds for an ONNX file."""
    made = {}

    def get(kind, to):
        if (kind, to) not in made:
            cascade = shaken(load_backbone(tiny(kind, layers=3)), exits=(1, 2, 3))
            folder = tmp_path_factory.mktemp(f"{kind}-{to}") / "out"
            export_ranker(cascade, to, folder, card={"recipe": "mine", "metrics": {"AP": 0.9}}, depth=2)
            made[kind, to] = cascade, folder
        return made[kind, to]

    return get


def count_weights(folder):
    """How many numbers an export holds; shapes and the like, in a graph, are no weights."""
    if not (folder / "model.onnx").is_file():
        return sum(t.numel() for t in load_file(folder / "model.safetensors").values())
    tensors = onnx.load(folder / "model.onnx").graph.initializer
    return sum(math.prod(t.dims) for t in tensors if t.data_type == onnx.TensorProto.FLOAT)


def last_exit(ranker):
    return ranker.trace(QUESTION, CANDIDATES).exits[-1].scores


@pytest.fixture(params=["bert", "roberta", "electra"])
def cascade(request, tiny):
    return shaken(load_backbone(tiny(request.param)))


def test_a_hugging_face_directory_gives_the_same_logits(cascade, tmp_path):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    export_ranker(cascade, "hf", tmp_path / "out", card={"note": "a try"})
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "out", trust_remote_code=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    batch = tokenizer([QUESTION] * 4, TEXTS, padding=True, truncation=True, return_tensors="pt")
    with torch.inference_mode():
        got = model(**batch).logits[:, 0].numpy()
    np.testing.assert_allclose(got, last_exit(cascade), atol=1e-4)


def test_a_special_token_in_a_text_gives_the_same_logit_in_every_form(earlier_exit):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    question, text = "when [SEP] was the tower built", "the [SEP] tower [CLS]"
    cascade, folder = earlier_exit("bert", "hf")
    logit = cascade.trace(question, [Candidate("0", text)]).exits[1].scores
    model = AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=True).eval()
    with torch.inference_mode():
        exported = model(**AutoTokenizer.from_pretrained(folder)([question], [text], return_tensors="pt")).logits[:, 0]
    of_file = load_onnx(earlier_exit("bert", "onnx")[1]).score(question, [Candidate("0", text)])
    np.testing.assert_allclose([exported.numpy(), of_file], [logit, logit], atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "to"),
    [
        *((kind, "hf") for kind in ("bert", "roberta", "electra")),
        ("bert", "onnx"),
        *(pytest.param(kind, "onnx", marks=pytest.mark.slow) for kind in ("roberta", "electra")),
    ],
)
def test_an_earlier_exit_is_exported_without_the_layers_above_it(kind, to, earlier_exit):
    cascade, folder = earlier_exit(kind, to)
    back, card = import_ranker(folder)
    assert card == {"recipe": "mine", "exit": 2}  # the figures are those of the last exit
    exit_2 = cascade.trace(QUESTION, CANDIDATES).exits[1].scores
    np.testing.assert_allclose(back.score(QUESTION, CANDIDATES), exit_2, atol=1e-4)
    backbone = cascade.backbone
    parts = [backbone.embeddings, *filter(None, [backbone.project]), *backbone.blocks[:2], cascade.module.heads[1]]
    needed, layer = (sum(p.numel() for m in ms for p in m.parameters()) for ms in (parts, backbone.blocks[:1]))
    assert needed - layer < count_weights(folder) < needed + layer


def test_a_file_in_int8_scores_nearly_the_same_and_no_large_weight_is_float(earlier_exit, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_int8, "MIN_TABLE_ROWS", 64)  # the tiny backbone has few words
    cascade, folder = earlier_exit("bert", "onnx")
    shutil.copytree(folder, tmp_path / "small")
    onnx_int8.quantise(tmp_path / "small" / "model.onnx")
    expected = cascade.trace(QUESTION, CANDIDATES).exits[1].scores
    scores = load_onnx(tmp_path / "small").score(QUESTION, CANDIDATES)
    assert 0 < np.abs(scores - expected).max() < 0.05 * np.ptp(expected)
    assert count_weights(tmp_path / "small") < 0.3 * count_weights(folder)


def test_quantising_a_file_leaves_the_program_s_log_as_it_was(earlier_exit, tmp_path):
    shutil.copytree(earlier_exit("bert", "onnx")[1], tmp_path / "small")
    program = (
        "import logging, pathlib\nfrom as2core.export.onnx_int8 import quantise\n"
        f"quantise(pathlib.Path({str(tmp_path / 'small' / 'model.onnx')!r}))\n"
        "print(len(logging.getLogger().handlers), logging.getLogger().level)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == (["0", "30"], "")


def test_a_file_in_int8_ranks_by_its_directory_and_is_refused_as_a_version(earlier_exit):
    cascade, folder = earlier_exit("bert", "onnx-int8")
    best = Reranker(str(folder)).rank(QUESTION, TEXTS, top_k=1)
    assert best[0]["corpus_id"] == np.argmax(cascade.trace(QUESTION, CANDIDATES).exits[1].scores)
    with pytest.raises(DamagedModel, match="weights in int8, which cannot be trained: import another export"):
        import_ranker(folder)


def test_an_exit_that_is_not_there_is_refused_with_those_that_are(cascade, tmp_path):
    with pytest.raises(BadSetting, match="no exit after layer 3; cascade has exits after: 2, 4, 6"):
        export_ranker(cascade, "onnx", tmp_path / "out", card={}, depth=3)
    with pytest.raises(BadSetting, match="as2 keeps every exit"):
        export_ranker(cascade, "as2", tmp_path / "out", card={}, depth=4)
    assert not (tmp_path / "out").exists()


def test_what_was_exported_comes_back_as_a_cross_encoder_with_its_card_and_calibration(cascade, tmp_path):
    export_ranker(cascade, "hf", tmp_path / "out", card={"note": "a try"})
    back, card = import_ranker(tmp_path / "out")
    np.testing.assert_allclose(back.score(QUESTION, CANDIDATES), last_exit(cascade), atol=1e-5)
    assert card["note"] == "a try"
    assert back.calibration == ((1.2, -0.3),)


def test_a_version_s_own_directory_keeps_all_exits(backbone, tmp_path):
    cascade = shaken(backbone)
    export_ranker(cascade, "as2", tmp_path / "out", card={"note": "whole"})
    back, card = import_ranker(tmp_path / "out")
    assert back.exits == (2, 4, 6)
    np.testing.assert_allclose(last_exit(back), last_exit(cascade), atol=1e-6)
    assert card["note"] == "whole"


@pytest.mark.slow
def test_one_onnx_file_scores_the_same_whatever_the_batch_and_length(backbone, tmp_path):
    import onnxruntime

    cascade = shaken(backbone)
    export_ranker(cascade, "onnx", tmp_path / "out", card={})
    assert len(list((tmp_path / "out").glob("*.onnx*"))) == 1
    session = onnxruntime.InferenceSession(tmp_path / "out" / "model.onnx", providers=["CPUExecutionProvider"])
    for few in (CANDIDATES, CANDIDATES[:1], CANDIDATES[1:3]):
        batch = backbone.tokenizer(
            [QUESTION] * len(few),
            [c.text for c in few],
            padding=True,
            truncation=True,
            max_length=64,
            return_tensors="np",
        )
        fed = {k: batch[k].astype(np.int64) for k in ("input_ids", "attention_mask")}
        [got] = session.run(["logits"], fed)
        np.testing.assert_allclose(got, cascade.trace(QUESTION, few).exits[-1].scores, atol=1e-4)


@pytest.mark.slow
def test_an_onnx_file_comes_back_as_a_cross_encoder_with_its_card_and_calibration(cascade, tmp_path):
    export_ranker(cascade, "onnx", tmp_path / "out", card={"note": "a try"})
    back, card = import_ranker(tmp_path / "out")
    np.testing.assert_allclose(back.score(QUESTION, CANDIDATES), last_exit(cascade), atol=1e-5)
    assert card["note"] == "a try"
    assert back.calibration == ((1.2, -0.3),)


@pytest.mark.slow
def test_a_cascade_never_trained_leaves_as_an_onnx_file_and_comes_back(backbone, tmp_path):
    cascade = CascadeRanker(backbone, drop_ratio=0.0, max_length=64)  # the head's last bias is zero
    export_ranker(cascade, "onnx", tmp_path / "out", card={})
    back, _ = import_ranker(tmp_path / "out")
    np.testing.assert_allclose(back.score(QUESTION, CANDIDATES), last_exit(cascade), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=NEEDS_GPU)])
def test_an_onnx_export_leaves_the_ranker_as_and_where_it_was(device, backbone, tmp_path):
    cascade = shaken(backbone)
    cascade.module.to(device).train()
    export_ranker(cascade, "onnx", tmp_path / "out", card={})
    assert all(m.training for m in cascade.module.modules())
    assert {p.device.type for p in cascade.module.parameters()} == {device}
    cascade.module.cpu().eval()
    back, _ = import_ranker(tmp_path / "out")
    np.testing.assert_allclose(back.score(QUESTION, CANDIDATES), last_exit(cascade), atol=1e-5)


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is None,
    reason="sentence-transformers is not installed: `pip install sentence-transformers` to see it load ours",
)
def test_sentence_transformers_loads_the_directory_and_scores_the_same(cascade, tmp_path):
    export_ranker(cascade, "cross-encoder", tmp_path / "out", card={})
    script = (
        "import json, sys\n"
        "from sentence_transformers import CrossEncoder\n"
        "model = CrossEncoder(sys.argv[1], trust_remote_code=True, device='cpu')\n"
        "question, texts = json.loads(sys.argv[2])\n"
        "print(json.dumps([float(x) for x in model.predict([(question, t) for t in texts])]))\n"
    )
    asked = json.dumps([QUESTION, TEXTS])
    run = [sys.executable, "-c", script, str(tmp_path / "out"), asked]
    said = subprocess.run(run, capture_output=True, text=True, check=True, cwd=tmp_path)
    np.testing.assert_allclose(json.loads(said.stdout.splitlines()[-1]), last_exit(cascade), atol=1e-4)


def test_what_a_format_cannot_hold_is_refused_with_the_one_that_can(tmp_path):
    with pytest.raises(BadSetting, match="export it as as2"):
        export_ranker(WordOverlapRanker(), "hf", tmp_path / "out", card={})
    assert not list(tmp_path.iterdir())


def test_an_unknown_format_and_a_full_folder_are_refused(backbone, tmp_path):
    with pytest.raises(BadSetting, match="known: hf, cross-encoder, onnx, onnx-int8, as2"):
        export_ranker(shaken(backbone), "gguf", tmp_path / "out", card={})
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(BadSetting, match="give a new or an empty folder"):
        export_ranker(shaken(backbone), "as2", tmp_path / "full", card={})


def test_a_folder_without_a_version_is_said_to_be_none(tmp_path):
    with pytest.raises(DamagedModel, match="give a directory that as2 exported"):
        import_ranker(tmp_path)


@pytest.mark.parametrize("content", [b"", b"no graph at all"])
def test_an_onnx_file_of_another_program_is_said_to_be_none_of_ours(tmp_path, content):
    (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(DamagedModel, match="no file that as2 exported"):
        import_ranker(tmp_path)


@pytest.mark.parametrize("to", ["hf", "cross-encoder", "onnx", "onnx-int8"])
def test_a_classifier_over_cls_is_exported_as_as2_alone(to, backbone, tmp_path):
    twin = CrossEncoderRanker(backbone, pool="cls")
    with pytest.raises(BadSetting, match="export it as as2"):
        export_ranker(twin, to, tmp_path / "out", card={})
    assert not list(tmp_path.iterdir())
    export_ranker(twin, "as2", tmp_path / "out", card={})
    np.testing.assert_allclose(import_ranker(tmp_path / "out")[0].score(QUESTION, CANDIDATES),
                               twin.score(QUESTION, CANDIDATES), atol=1e-6)  # fmt: skip


def test_a_version_is_named_after_its_folder(backbone, tmp_path):
    export_ranker(shaken(backbone), "as2", tmp_path / "mine", card={})
    ranker, card = import_ranker(tmp_path / "mine")
    assert ranker.name == card["name"] == "mine"


def test_what_comes_back_counts_as_trained(backbone, tmp_path):
    export_ranker(shaken(backbone), "hf", tmp_path / "out", card={})
    assert import_ranker(tmp_path / "out")[0].is_trained


@pytest.mark.parametrize("to", ["hf", "cross-encoder", "onnx"])
def test_an_export_ranks_by_its_directory_alone(earlier_exit, to):
    cascade, folder = earlier_exit("bert", to)
    best = Reranker(str(folder)).rank(QUESTION, TEXTS)
    exit_2 = cascade.trace(QUESTION, CANDIDATES).exits[1].scores
    assert [r["corpus_id"] for r in best] == np.argsort(-exit_2).tolist()


def test_an_onnx_file_ranks_without_importing_torch_or_transformers(earlier_exit):
    _, folder = earlier_exit("bert", "onnx")
    program = (
        "import sys, as2core\n"
        f"as2core.Reranker({str(folder)!r}).rank({QUESTION!r}, {TEXTS!r})\n"
        "print(*{'torch', 'transformers', 'onnxruntime'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["onnxruntime"]


def test_an_export_with_settings_or_as_a_part_says_how_it_becomes_a_version(earlier_exit):
    from as2core.lookup import load_ranker

    folder = earlier_exit("bert", "hf")[1]
    for spec in (f"{folder}:engine=torch", f"sequential:stages=jaccard@2+{folder}", f"cascade:first={folder}"):
        with pytest.raises(BadSetting, match=f"is an export .* import it with `as2 versions import {folder}`"):
            load_ranker(spec)
