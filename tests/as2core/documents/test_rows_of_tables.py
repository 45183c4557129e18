"""How a table's rows become sentences: whole, and with what names the table."""

from document_files import split, split_page

HEADER = "<tr><th>Shop</th><th>Open</th></tr>"
LONG = "It runs for as long as the lamp is on. " * 12


def make_table(*rows, before=""):
    cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"{before}<table>{HEADER}{cells}</table>"


def test_a_row_is_one_sentence_whatever_stops_are_in_it():
    page = make_table(("Lund", "Daily. Not on Dec. 24!"), ("Malmö", "Is it open? No."))
    assert split_page(page) == ["Shop: Lund | Open: Daily. Not on Dec. 24!", "Shop: Malmö | Open: Is it open? No."]


def test_each_row_has_the_tables_title_before_it_without_its_number():
    table = make_table(("Lund", "9"), ("Malmö", "10"), before="<p><b>Table 3.1. Opening hours</b></p>")
    assert split_page(f"<p>Come in.</p>{table}<p>See you.</p>") == [
        "Come in.",
        "Opening hours: Shop: Lund | Open: 9",
        "Opening hours: Shop: Malmö | Open: 10",
        "See you.",
    ]


def test_without_a_title_each_row_has_the_heading_of_its_section():
    tables = make_table(("Lund", "9"), ("Malmö", "10")), make_table(("Lund", "11"), ("Malmö", "12"))
    page = f"<h2>1. Weekdays</h2>{tables[0]}<h2>Sundays</h2><p>Some shops open:</p>{tables[1]}"
    assert split_page(page) == [
        "1. Weekdays: Shop: Lund | Open: 9",
        "Weekdays: Shop: Malmö | Open: 10",
        "Sundays: Some shops open: Shop: Lund | Open: 11",
        "Sundays: Shop: Malmö | Open: 12",
    ]


def test_of_a_long_row_each_sentence_has_the_first_cell_before_it():
    sentences = split_page(make_table(("Timer", LONG), ("Lamp", "On.")))
    assert sentences[:2] == [
        "Shop: Timer | Open: It runs for as long as the lamp is on.",
        "Shop: Timer | It runs for as long as the lamp is on.",
    ]
    assert (len(sentences), sentences[-1]) == (13, "Shop: Lamp | Open: On.")


def test_a_sentence_above_a_table_is_no_title_of_it():
    table = make_table(("1.", "9"), ("2.", "10"))
    assert split_page(f"<p>Bring:</p><ul><li>a pen</ul><p>All are here.</p>{table}") == [
        "Bring: a pen",
        "All are here.",
        "Shop: 1. | Open: 9",
        "Shop: 2. | Open: 10",
    ]


def test_the_rows_of_a_markdown_table_are_rows():
    text = "# Help\n\n## Hours\n\n|Shop|Open|\n|-|-|\n|Lund|Daily. Ring twice.|\n|Malmö|10|\n"
    sentences = split("a.md", text)
    assert sentences == ["Hours: Shop: Lund | Open: Daily. Ring twice.", "Hours: Shop: Malmö | Open: 10"]


def test_a_line_that_names_a_table_is_read_where_no_table_is():
    assert split("a.txt", "Table 3.") == ["Table 3."]


def test_a_table_that_leads_to_other_pages_is_not_read():
    links = "<tr><td><a href='a'>Prev</a></td><th>Part 2</th><td><a href='b'>Next</a></td></tr>"
    page = (
        "<div class='navheader'><table>{0}</table></div><p>Press it.</p><div class='navfooter'><table>{0}</table></div>"
    )
    assert split_page(page.format(links)) == ["Press it."]
