import pytest

from as2core.generation.rules import ask_by_rule, lowercase_words


@pytest.mark.parametrize(
    ("sentence", "questions"),
    [
        ("The tower was finished in 1889.", ["When was the tower finished?"]),
        (
            "Glass bulbs were blown in Murano in the 13th century, where furnaces stood.",
            ["When were Glass bulbs blown in Murano?", "Where were Glass bulbs blown?"],
        ),
        ("The lamp was invented by Ada Stone.", ["Who was the lamp invented by?"]),
        ("The sails are made of flax and hemp.", ["What are the sails made of?"]),
        ("The bridge is about 40 metres long.", ["How long is the bridge?"]),
        ("The mast is called a spar.", ["What is the mast called?"]),
        ("A brig is a ship with two masts, both square-rigged.", ["What is a brig?"]),
        ("Mary Anning was an English fossil collector and geologist.", ["Who was Mary Anning?"]),
        ("The mill had closed because the river could no longer turn it.", ["Why had the mill closed?"]),
        ("In 1912 the mill was sold, and its wheel was taken out.", ["When was the mill sold?"]),
        ("The mill (near Ulm) will be opened again in May 2030.", ["When will the mill be opened again?"]),
        ("The engine, a gift of the town, was built in Leeds.", ["Where was the engine built?"]),
        ("Contributing: The mill was sold in 1912.", ["When was the mill sold?"]),  # a heading, or a term
        ("Mills: Wheels: The mill was sold in 1912.", ["When was the mill sold?"]),
        ("5.2 Who owns the mill? The mill was sold in 1912.", ["When was the mill sold?"]),
        ("Traditionally the sails are made of flax.", ["What are the sails made of?"]),
    ],
)
def test_a_statement_is_turned(sentence, questions):
    assert ask_by_rule(sentence) == questions


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "It was finished in 1889.",  # who knows what
        "They are made of oak.",
        "The mill closed in 1912.",  # another verb would change its form
        "What is made of oak?",
        "He said that the mill was sold in 1912.",
        "The men who built it were paid in 1889.",
        "The builders knew the ground was made of sand.",
        "“The mill was sold in 1912,” said the miller.",
        "When the ice melts, the road is closed by the police.",
        "There was a mill at Ulm.",
        "The mill has three wheels.",
        "The mill was born by accident.",
        "Skin cancer Skin cancer is a disease of the skin.",
        "What is sold? Only the mill, not its wheel.",
        "bin: No wheels of the mill are owned by a miller.",
        "Traditionally this job is taken by a miller.",
    ],
)
def test_what_is_no_plain_statement_asks_nothing(sentence):
    assert ask_by_rule(sentence) == []


def test_how_a_text_writes_its_words_tells_names_from_nouns():
    texts = ["All glass is hard.", "So is glass.", "They met Cook there.", "Then Cook and a cook ate.", "It is Cook."]
    small = lowercase_words(texts)
    assert ask_by_rule("Glass is a hard material.", small) == ["What is glass?"]
    assert ask_by_rule("Cook was born in 1728.", small) == ["When was Cook born?"]
    assert ask_by_rule("Cook Islands are a country.", lowercase_words(["they cook fish"])) == ["What are Cook Islands?"]


def test_a_question_stays_within_eighteen_words():
    assert ask_by_rule("The mill was sold " + "and sold " * 20 + "in 1912.") == []


def test_a_sentence_that_is_longer_than_sentences_are_asks_nothing():
    assert ask_by_rule("The tower was built in 1889.")
    assert ask_by_rule("The tower was built in 1889 [" + " [A" * 30_000) == []
