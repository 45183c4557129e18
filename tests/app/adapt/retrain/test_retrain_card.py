"""What the card of a retrain tells."""

from dataclasses import replace

import pytest
from city_questions import finish_retrain, made_up
from label_files import import_labels

from app.adapt import label_noise, retrain_job, training
from app.adapt.label_selection import LabelSelection
from app.adapt.settings import RetrainSettings
from app.versions import registry
from as2core.data import jsonl
from as2core.rankers.passage_cache import fingerprint


def test_the_card_tells_before_and_after_with_intervals_a_test_exits_and_the_frozen_benchmark(wb, corpus_id):
    result = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1)).id).result
    for side in ("before", "after"):
        mean = sum(q[side] for q in result["per_question"]) / len(result["per_question"])
        assert result[side]["AP"] == pytest.approx(mean)
        low, high = result["intervals"][side]["AP"]
        assert low <= result[side]["AP"] <= high
        assert set(result["per_exit"][side]) == {"1", "2", "3"}
        assert 0 < result["frozen"][side]["AP"] <= 1
    assert [b["name"] for b in result["baselines"]] == ["words", "shipped"]  # the questions came in a file
    assert result["baselines"][1]["metrics"] == result["before"]
    paired = result["paired"]
    assert result["baselines"][1]["gain"] == paired
    gain = result["after"]["AP"] - result["baselines"][0]["metrics"]["AP"]
    assert result["baselines"][0]["gain"]["difference"] == pytest.approx(gain)
    assert paired["difference"] == pytest.approx(result["after"]["AP"] - result["before"]["AP"])
    assert paired["wins"] + paired["losses"] + paired["ties"] == len(result["per_question"])
    card = registry.load_card(wb, result["version"])
    assert card["parent"] == "cascade"
    assert card["data"]["sha256"] == result["snapshot"]
    assert card["metrics"] == result["after"]
    assert {"seed", "settings", "paired", "frozen"} <= set(card)


def test_without_whole_lists_the_probabilities_are_calibrated_on_the_shipped_questions(wb, corpus_id):
    jsonl.write(made_up(7, seed=6, prefix="shipped"), wb.settings.starter_dir / "dev.jsonl")
    result = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1)).id).result
    assert registry.load_card(wb, result["version"])["calibration"]["questions"] == 7


def test_wikiqa_s_dev_questions_judge_too_where_they_are_at_hand(wb, corpus_id, tmp_path):
    from as2core.data import wikiqa

    dev = made_up(5, seed=8, prefix="Q")
    (tmp_path / "data" / "wikiqa").mkdir(parents=True)
    (tmp_path / "data" / "wikiqa" / "WikiQA-dev.tsv").write_text("".join(wikiqa.to_lines(dev)), encoding="utf-8")
    at_hand = replace(wb, settings=wb.settings.model_copy(update={"data_dir": tmp_path / "data"}))
    asked = [*made_up(24), replace(dev[0], qid="again")]
    import_labels(at_hand, corpus_id, "more.jsonl", jsonl.dumps(asked).encode(), annotator="ann")
    result = finish_retrain(
        at_hand, retrain_job.start_retrain(at_hand, corpus_id, RetrainSettings(kind="calibration")).id
    ).result
    for side in ("before", "after"):
        assert set(result["frozen_others"]["wikiqa-dev"][side]) >= {"AP", "RR", "P@1", "nDCG@10"}
    card = registry.load_card(at_hand, result["version"])
    assert card["frozen_others"] == result["frozen_others"]
    assert dev[0].text not in card["trained_on"]


def test_labels_that_look_wrong_are_not_learnt_from_and_are_on_the_card(wb, corpus_id, monkeypatch):
    judges = []

    def without_one(judge, questions, *, seed, synonyms, train_judge, on_progress):
        judges.append(judge.name)
        assert fingerprint(train_judge(questions, 0).module, 0) != fingerprint(judge.module, 0)
        first, *others = questions
        wrong = next(c for c in first.candidates if c.label == 0)
        kept = replace(first, candidates=tuple(c for c in first.candidates if c != wrong))
        return label_noise.FilteredLabels((kept, *others), 0.2, ((first, wrong),))

    monkeypatch.setattr(label_noise, "filter_labels", without_one)
    trained, train = [], training.train
    monkeypatch.setattr(training, "train", lambda *a: trained.append(a[1]) or train(*a))
    result = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1)).id).result
    assert judges == ["cascade"]
    assert sum(q.negatives for q in trained[0].parts.train) == result["labels"]["incorrect"] - 1
    assert registry.load_card(wb, result["version"])["left_out"] == result["left_out"]
    assert (result["left_out"]["labels"], result["left_out"]["correct"]) == (1, 0)
    for told in ({"kind": "calibration"}, {"epochs": 1, "choice": LabelSelection(doubtful=True)}):
        assert (
            finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(**told)).id).result["left_out"]
            == {}
        )
    assert judges == ["cascade"]


def test_the_card_says_where_the_questions_came_from_and_whose_labels_were_learnt(wb, corpus_id, ann):
    first = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration"))
    told = finish_retrain(wb, first.id).result["labels"]
    assert told["origins"] == {"imported": told["questions"]}
    assert told["givers"] == {"ann": told["correct"] + told["incorrect"]}
    import_labels(wb, corpus_id, "more.jsonl", jsonl.dumps(made_up(24)).encode(), annotator="bob")
    choice = LabelSelection(annotators=("bob",))
    result = finish_retrain(
        wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration", choice=choice)).id
    ).result
    assert set(result["labels"]["givers"]) == {"bob"}
    assert registry.load_card(wb, result["version"])["data"]["origins"] == {"imported": result["labels"]["questions"]}
