"""Rows of the papers' tables that no experiment here runs, with the reason: they stand in the results beside those that
are run, so that nothing is dropped unsaid."""

from as2core.experiments.base import Row

NOT_RUN = "not run"


def _row(finding: str, paper: str, reason: str) -> Row:
    return Row(finding, paper, NOT_RUN, reason)


ROWS: dict[str, tuple[Row, ...]] = {
    "cascade": (
        _row(
            "Table 2: monolithic models of 4 to 12 layers on TREC-QA",
            "MAP 77.2 78.5 88.2 90.5 91.6; CT 67.9 89.7 92.3 92.3 92.4",
            "each needs five trainings on TREC-QA's 53,417 pairs after a transfer on ASNQ: a GPU and ASNQ's file; here "
            "monolithic models are trained on WikiQA alone",
        ),
        _row(
            "Table 3: ASNQ and GPD",
            "ASNQ MAP 66.3 (CT), 65.5 (TANDA); GPD 57.8, 58.0",
            "GPD is Amazon's own and not public; ASNQ has to be built from Natural Questions (`as2 data build asnq`), "
            "and takes a GPU",
        ),
    ),
    "structure": (
        _row(
            "Table 5: SQuAD-sent",
            "MRR 83.60 WO+RR, 91.81 Cosinet, 91.97 with BiRNN, 92.05 CA with BiRNN, 95.62 BERT-base",
            "not among these experiments: 87 thousand questions, up to half an hour a model on the paper's GPU; "
            "`as2 data build squad-sent` makes the set, `as2 train` and `as2 eval` a row of it",
        ),
        _row(
            "Table 6: NQ-LA",
            "MAP 57.30 RR, 69.74 Cosinet, 73.28 listwise with BiRNN, 74.21 CA, listwise with BiRNN",
            "Natural Questions is not at hand (42 GB); `as2 data build nq-la` makes the set from it",
        ),
    ),
    "generation": (
        _row(
            "Table 2: YahooQA, WikiPassageQA and InsuranceQA; GPT2 and BART, base and large",
            "WikiPassageQA MAP .808, InsuranceQA .444, YahooQA .970 (BART-large, RLL)",
            "neither the sets nor GPT2's and BART's weights are at hand, and they take a GPU; "
            "`generative:as=paper,backbone=NAME` is the model",
        ),
        _row(
            "Tables 4 and 5: questions generated from passages, passages from questions",
            "examples, without figures",
            "there is nothing to compare with: `as2 generate` shows such texts of the model here",
        ),
    ),
    "tanda": (
        _row(
            "Tables 3 and 4: BERT and RoBERTa, base and large, on the test parts",
            "WikiQA MAP .813 to .920, TREC-QA .857 to .943",
            "the weights and ASNQ are not at hand; `classifier:model=NAME` trains them with the paper's settings",
        ),
        _row(
            "Table 8: Alexa's own questions, fine-tuned on noisy ones",
            "sample 1: MAP .506 to .654 without transfer, .585 to .680 with it",
            "the sets are not public",
        ),
    ),
    "rerank": (
        _row(
            "Table 3: GPD",
            "P@1 .270 Jaccard, .450 CA, .476 all candidates",
            "GPD and the training set SBTS are Amazon's own and not public",
        ),
        _row(
            "Tables 4 and 5: ASNQ and ASNQ++ with BERT-base and BERT-large",
            "ASNQ .569 CA, .571 all; ASNQ++ .528, .536",
            "ASNQ is not at hand: WikiQA's questions are filled up in the same way (`as2 data build asnq++`)",
        ),
    ),
}
