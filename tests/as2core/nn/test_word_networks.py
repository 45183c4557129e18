"""Cosinet, Rel-CNN and Compare-Aggregate against arithmetic in numpy, and against the paper's parameter counts."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from as2core.errors import BadSetting
from as2core.nn.compare_aggregate import CompareAggregate, attend
from as2core.nn.context import CONTEXTS, Context, ListScorer
from as2core.nn.convolution import TextConvolution, WordConvolution
from as2core.nn.cosinet import Cosinet
from as2core.nn.rel_cnn import RelCNN
from as2core.nn.word_pairs import join_questions, word_pairs
from as2core.nn.word_vectors import WordVectors

KNOWN = {"tower": [3, 4], "tall": [0, 2], "bridge": [-1, 0], "iron": [5, 0]}
TEXTS = ["the tall tower tower", "iron", "", "bridge over tower bridge iron"]


def table(size: int = 2) -> WordVectors:
    rng = np.random.default_rng(0)
    drawn = {w: rng.normal(size=size) for w in "the tall tower iron bridge over when was it built".split()}
    known = KNOWN if size == 2 else drawn
    return WordVectors(
        lambda words: np.array([known.get(w, [0] * size) for w in words], dtype=np.float32).reshape(-1, size), size, {}
    )


def test_a_word_s_feature_is_its_largest_cosine_with_the_other_text_s_words():
    pairs = word_pairs("tall tower", ["iron tower", "bridge"], table())
    # cos(tall, iron) = 0, cos(tall, tower) = 8 / (2 * 5); cos(iron, tower) = 15 / (5 * 5); bridge points away from both
    np.testing.assert_allclose(pairs.question.cosine, [[0.8, 1], [0, -0.6]], atol=1e-6)
    np.testing.assert_allclose(pairs.candidate.cosine, [[0.6, 1], [0, 0]], atol=1e-6)
    np.testing.assert_array_equal(pairs.question.shared, [[0, 1], [0, 0]])
    np.testing.assert_array_equal(pairs.candidate.shared, [[0, 1], [0, 0]])
    np.testing.assert_array_equal(pairs.vectors[pairs.candidate.ids], [[[5, 0], [3, 4]], [[-1, 0], [0, 0]]])


def test_cosinet_s_pair_by_hand():
    torch.manual_seed(0)
    net = Cosinet(2, hidden=3, kernel=3)
    pairs = word_pairs("tall tower", ["iron tower bridge"], table())
    got = net(pairs)[0].detach().numpy()

    def encode(convolution, words, cosines):
        w = convolution.words.weight.detach().numpy().reshape(3, 3, 2)  # (place, filter, of the vector)
        r = convolution.related.weight.detach().numpy()  # (filter, place)
        b = convolution.related.bias.detach().numpy()
        rows = [np.zeros(3), *(np.array([*KNOWN[x], c]) for x, c in zip(words, cosines, strict=True)), np.zeros(3)]
        outputs = []
        for at in range(len(words)):
            out = b.copy()
            for place in range(3):
                out += w[place] @ rows[at + place][:2] + r[:, place] * rows[at + place][2]
            outputs.append(out)
        return np.maximum(np.max(outputs, axis=0), 0)

    q = encode(net.question, ["tall", "tower"], [0.8, 1.0])
    c = encode(net.candidate, ["iron", "tower", "bridge"], [0.6, 1.0, 0.0])
    np.testing.assert_allclose(got, [*(q * c), *(q - c)], atol=1e-5)


@pytest.mark.parametrize("kernel", [1, 2, 5])
def test_a_convolution_by_different_words_is_one_over_the_vectors_end_to_end(kernel):
    torch.manual_seed(1)
    pairs = word_pairs("when was it built", TEXTS, table(4))
    by_word, plain = WordConvolution(4, 1, 6, kernel), TextConvolution(5, 6, (kernel,))
    with torch.no_grad():
        of_words = by_word.words.weight.view(kernel, 6, 4).permute(1, 2, 0)  # (filters, size, kernel)
        plain.layers[0].weight.copy_(torch.cat([of_words, by_word.related.weight[:, None]], dim=1))
        plain.layers[0].bias.copy_(by_word.related.bias)
    side = pairs.candidate
    ends = torch.cat([pairs.vectors[side.ids], side.cosine[:, :, None]], dim=2)
    expected = plain(ends, side.mask)
    torch.testing.assert_close(by_word(pairs.vectors, side.ids, side.cosine[:, :, None]), expected)
    assert expected.shape == (len(TEXTS), 6)


def of_words(convolution: WordConvolution, words: list[str], related: np.ndarray) -> np.ndarray:
    """Kernel 1, so a text is the maximum over its words of one line each, after ReLU."""
    w, r, b = (p.detach().numpy() for p in (convolution.words.weight, *convolution.related.parameters()))
    return np.max([np.maximum(w @ KNOWN[x] + r @ e + b, 0) for x, e in zip(words, related, strict=True)], axis=0)


def test_rel_cnn_s_pair_and_score_by_hand():
    torch.manual_seed(0)
    net = RelCNN(2, hidden=3, kernel=1)
    relation, m = net.relation.weight.detach().numpy(), net.similar.weight.detach().numpy()
    q = of_words(net.question, ["tall", "tower"], relation[[0, 1]])  # the tower is shared
    c = of_words(net.candidate, ["iron", "tower", "bridge"], relation[[0, 1, 0]])
    pair = np.array([*q, q @ m @ c, *c])
    pairs = word_pairs("tall tower", ["iron tower bridge"], table())
    np.testing.assert_allclose(net(pairs)[0].detach(), pair, atol=1e-5)
    scorer = ListScorer(net, "none")
    u, a, v, b = (p.detach().numpy() for p in scorer.head.parameters())
    np.testing.assert_allclose(scorer(pairs).detach(), v @ np.tanh(u @ pair + a) + b, atol=1e-5)


def test_compare_aggregate_s_pair_by_hand():
    torch.manual_seed(0)
    net = CompareAggregate(2, hidden=3, kernels=(1, 2))
    g, gb, u, ub = (p.detach().numpy() for p in (*net.gate.parameters(), *net.content.parameters()))

    def project(words):
        x = np.array([KNOWN[w] for w in words])
        return np.tanh(x @ u.T + ub) / (1 + np.exp(-(x @ g.T + gb)))

    def aggregate(convolution, words):
        (w1, b1), (w2, b2) = ([p.detach().numpy() for p in layer.parameters()] for layer in convolution.layers)
        after = np.vstack([words[1:], np.zeros(3)])  # a kernel of two reads a word and the next
        narrow, wide = words @ w1[:, :, 0].T + b1, words @ w2[:, :, 0].T + after @ w2[:, :, 1].T + b2
        return np.maximum(np.concatenate([narrow.max(0), wide.max(0)]), 0)

    q, c = project(["tall", "tower"]), project(["iron", "tower", "bridge"])
    near = np.exp(q @ c.T)
    about_q, about_c = (near / near.sum(1, keepdims=True)) @ c, (near / near.sum(0)).T @ q
    got = net(word_pairs("tall tower", ["iron tower bridge"], table()))[0].detach()
    np.testing.assert_allclose(got, [*aggregate(net.question, q * about_q), *aggregate(net.candidate, c * about_c)],
                               atol=1e-5)  # fmt: skip


def test_compare_aggregate_s_projections_tell_words_of_unit_length_apart_from_the_start():
    torch.manual_seed(0)
    net, words = CompareAggregate(384, hidden=50), torch.nn.functional.normalize(torch.randn(20, 384), dim=1)
    for layer in (net.gate, net.content):
        assert 0.3 < layer(words).std() < 1  # with torch's own start it is 0.03


def test_attention_is_the_softmax_over_the_real_words():
    near, words = torch.tensor([[[0.0, math.log(3), 9.0]]]), torch.tensor([[[4.0], [8.0], [100.0]]])
    assert attend(near, words, torch.tensor([[True, True, False]])).item() == pytest.approx(0.25 * 4 + 0.75 * 8)


NETS = {
    "cosinet": lambda: Cosinet(4, hidden=6),
    "rel-cnn": lambda: RelCNN(4, hidden=6),
    "compare-aggregate": lambda: CompareAggregate(4, hidden=6),
}


@pytest.mark.parametrize("net", NETS)
def test_a_batch_of_pairs_is_encoded_as_each_alone(net):
    torch.manual_seed(0)
    encoder = NETS[net]()
    together = encoder(
        join_questions([word_pairs("when was it built", TEXTS, table(4)), word_pairs("", TEXTS[:1], table(4))])
    )
    alone = [encoder(word_pairs("when was it built", [t], table(4))) for t in TEXTS]
    alone.append(encoder(word_pairs("", TEXTS[:1], table(4))))
    assert together.shape == (5, encoder.size)
    torch.testing.assert_close(together, torch.cat(alone), atol=1e-6, rtol=1e-5)


def count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


# Table 4 of the paper, in thousands, with vectors of 300 numbers
COSINET = {"none": 904, "rnn": 1170, "birnn": 1120, "lstm": 1990, "bilstm": 1810}
COMPARE_AGGREGATE = {"none": 2890, "rnn": 5050, "birnn": 4870, "lstm": 11530, "bilstm": 10810}


@pytest.mark.parametrize("context", CONTEXTS)
def test_parameters_are_as_many_as_in_the_paper_s_table(context):
    assert count(ListScorer(Cosinet(300), context)) / 1000 == pytest.approx(COSINET[context], abs=10)
    assert count(ListScorer(CompareAggregate(300), context)) / 1000 == pytest.approx(COMPARE_AGGREGATE[context], abs=10)


def test_a_recurrent_layer_in_numpy_over_lists_of_unequal_length():
    torch.manual_seed(0)
    layer = Context("rnn", 3, 2)
    w, u, b, c = (p.detach().numpy() for p in layer.layer.parameters())
    pairs = torch.randn(5, 3)
    expected = []
    for of_one in pairs.split([2, 3]):
        state = np.zeros(2)
        for x in of_one.numpy():
            state = np.tanh(w @ x + b + u @ state + c)
            expected.append(state)
    np.testing.assert_allclose(layer(pairs, [2, 3]).detach(), expected, atol=1e-6)


@pytest.mark.parametrize("context", ["birnn", "bilstm"])
def test_both_directions_share_the_state(context):
    assert Context(context, 10, 6)(torch.randn(4, 10), [1, 3]).shape == (4, 6)
    odd = ListScorer(Cosinet(4, hidden=7), context)  # three a direction
    assert odd(word_pairs("when was it built", TEXTS, table(4))).shape == (len(TEXTS),)


def test_an_unknown_context_is_refused():
    with pytest.raises(BadSetting, match="none, rnn, birnn, lstm, bilstm"):
        Context("gru", 4, 2)
