from pathlib import Path

import pytest

from app.corpora.language import is_english, is_english_text

ENGLISH = """When was the Eiffel Tower finished?
Does the warranty cover water damage caused by descaling too late?
why?
what is 3 + 4
filter cleaning interval
coffee machine error E05
descaling
Eiffel Tower height
HTTP 404
Charles de Gaulle birthplace
Rio de la Plata length
El Niño effects on rainfall
São Paulo population
Los Alamos
Where is Bir el Gubi?
When did Le Corbusier build the Villa Savoye?
treatment for sjögren syndrome
α-helix stability
What does 東京 mean in English?
how do I say "où est la gare" in French
Kim Jong-un age
dove symbolism
hoe handle length
die cast metal price
yin yang symbol
BLE range
van Gogh sunflowers year"""
OTHER = """Wie hoch ist der Eiffelturm?
Warum?
Was kostet ein Essen?
Was ist das?
Wann wurde der Turm fertig?
Quelle est la hauteur de la tour Eiffel ?
Qui a construit la tour Eiffel ?
Combien coûte le billet ?
¿Quién diseñó el puente?
Cuando se termino la torre Eiffel
la historia de la torre Eiffel
Dove si trova il ponte?
Chi ha progettato il ponte?
Qual é a altura da torre?
Hoe hoog is de Eiffeltoren?
Hur högt är tornet?
Hvornår blev broen åbnet?
Mikä on tornin korkeus?
Kiedy otwarto wieżę Eiffla?
Jaká je výška věže?
Milyen magas az Eiffel-torony?
Când a fost construit turnul?
Eyfel Kulesi ne kadar yüksek?
Berapa tinggi Menara Eiffel?
Tháp Eiffel cao bao nhiêu mét?
Какова высота Эйфелевой башни?
Ποιο είναι το ύψος του πύργου;
エッフェル塔の高さは？
كم يبلغ ارتفاع برج إيفل؟
मीनार की ऊँचाई क्या है?
에펠탑의 높이는?"""


@pytest.mark.parametrize("question", ENGLISH.splitlines())
def test_english_questions_keywords_and_names_get_no_hint(question):
    assert is_english(question)


def test_one_word_again_and_again_is_no_language():
    assert is_english("pump " * 1000)


@pytest.mark.parametrize("question", OTHER.splitlines())
def test_questions_in_other_languages_are_told_apart(question):
    assert not is_english(question)


GERMAN = "Der Filter wird alle sechs Monate gewechselt. Das Gerät ist vorher vom Netz zu nehmen."


@pytest.mark.parametrize(
    "text",
    [
        GERMAN,
        "Le filtre est changé tous les six mois. Il faut débrancher la machine avant de le retirer.",
        "Фильтр меняют каждые шесть месяцев. Перед этим машину отключают от сети.",
        "过滤器每六个月更换一次。更换前请断开电源。",
        "Filtras keičiamas kas šešis mėnesius, prieš tai įrenginį išjungę iš tinklo ir palaukę penkias minutes. " * 3,
        f"{GERMAN} {GERMAN} The filter is a VX-90.",
    ],
)
def test_a_document_in_another_language_is_told(text):
    assert not is_english_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "VX-90 | 6 months | filter\nVX-60 | 12 months | belt",
        "Rio de la Plata",
        "Charles de Gaulle was born in Lille. He wrote “Le Fil de l'épée” and “Vers l'armée de métier”.",
        "The word 東京 is read Tōkyō, and means the capital in the east.",
        f"The German manual reads: {GERMAN} That means that the filter is changed, and the machine is off before.",
    ],
)
def test_an_english_text_with_foreign_names_or_a_list_is_english(text):
    assert is_english_text(text)


def test_every_article_that_is_shipped_is_english():
    articles = sorted((Path(__file__).parents[3] / "corpora").glob("*/articles/*.md"))
    assert len(articles) > 500 and all(is_english_text(path.read_text()) for path in articles)


def test_marks_that_open_quotations_and_never_close_them_are_read_at_once():
    marks = "\u201e" * 200_000
    assert is_english(f"How high is it? {marks}")
    assert is_english_text(f"The tower is high. {marks}")


def test_a_quotation_in_a_quotation_does_not_count():
    assert is_english("What does \u201eund er sagte \u00abja doch\u00bb\u201c mean in English, and who says it?")
