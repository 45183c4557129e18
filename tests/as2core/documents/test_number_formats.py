"""Values as a sheet shows them. The expected texts are what Excel shows, but for dates of figures alone."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.styles.numbers import BUILTIN_FORMATS

from as2core.documents.number_formats import format_value

DAY = datetime(2026, 3, 1)
ACCOUNTS = '_("$"* #,##0.00_);_("$"* \\(#,##0.00\\);_("$"* "-"??_);_(@_)'


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (None, "General", ""),
        ("0012", "0.00", "0012"),
        (True, "General", "TRUE"),
        (12.500000001, "General", "12.5"),
        (0.1 + 0.2, "General", "0.3"),
        (7.0, "General", "7"),
        (-2.5, "General", "-2.5"),
        (4006381333931, "General", "4006381333931"),
        (1e20, "0", "1e+20"),
        (1e-9, "General", "1e-09"),
        (5, "@", "5"),
        (1234.5, "#,##0.00", "1,234.50"),
        (1234567, "#,##0", "1,234,567"),
        (1.005, "0.00", "1.01"),
        (12.0, "0.##", "12"),
        (0.5, ".00", ".50"),
        (-3.2, "0.0", "-3.2"),
        (-3, "0;[Red]0", "-3"),
        (-3, '0;"minus "0', "-minus 3"),
        (3, ";;;", ""),
        (471, "00000", "00471"),
        (493012345, "000-00-0000", "493-01-2345"),
        (4922112345, "(000) 000-000", "(4922) 112-345"),
        (1_500_000, '0.0,,"M"', "1.5M"),
        (0.125, "0.0%", "12.5%"),
        (0.145, "0%", "15%"),
        (5, '0" kg"', "5 kg"),
        (5, 'General" pcs"', "5 pcs"),
        (12.5, "#,##0.00\\ [$\u20ac-407]", "12.50 \u20ac"),
        (12.5, "[$EUR ]#,##0.00_-", "EUR 12.50"),
        (12.5, '"\u00a3"#,##0.00', "\u00a312.50"),
        (1250, ACCOUNTS, "$1,250.00"),
        (-3.5, ACCOUNTS, "$(3.50)"),
        (0, ACCOUNTS, "$-"),
        (2.5, "[>1]0.0;0", "2.5"),
        (0.5, "# ?/?", "0.5"),
        (12345, "0.00E+00", "12345"),
    ],
)
def test_numbers_are_read_by_their_format(value, number_format, shown):
    assert format_value(value, number_format) == shown


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (DAY, "mm-dd-yy", "2026-03-01"),
        (DAY, "dd/mm/yyyy;@", "2026-03-01"),
        (date(2026, 3, 1), "General", "2026-03-01"),
        (DAY.replace(hour=9, minute=30), "m/d/yy h:mm", "2026-03-01 09:30"),
        (DAY.replace(hour=9, minute=30), "h:mm", "9:30"),
        (DAY.replace(hour=9, minute=30), "General", "2026-03-01 09:30"),
        (DAY, "yyyy-mm-dd h:mm:ss", "2026-03-01"),
        (DAY, "mm/yyyy", "2026-03"),
        (DAY, "yyyy", "2026"),
        (DAY, "dd.mm.", "1 March"),
        (DAY, "dddd", "Sunday"),
        (DAY, "[$-409]d\\-mmm\\-yy;@", "1-Mar-2026"),
        (DAY, "[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy", "Sunday, March 01, 2026"),
        (DAY, 'd. mmmm "in" yyyy', "1. March in 2026"),
        (time(9, 30), "hh:mm", "09:30"),
        (time(9, 30), "h:mm:ss", "9:30"),
        (time(9, 30, 5), "h:mm:ss", "9:30:05"),
        (time(17, 0), "h:mm AM/PM", "5:00 PM"),
        (time(0, 15), "h:mm AM/PM", "12:15 AM"),
        (time(0, 4, 5), "mm:ss", "04:05"),
        (time(9, 29, 59, 999_999), "h:mm", "9:30"),
        (timedelta(hours=26, minutes=5), "[h]:mm", "26:05"),
        (timedelta(days=1), "[hh]:mm:ss", "24:00"),
        (timedelta(seconds=3725), "[h]:mm:ss", "1:02:05"),
        (datetime.max, "yyyy-mm-dd", "9999-12-31"),
    ],
)
def test_dates_and_times_are_read_by_their_format(value, number_format, shown):
    assert format_value(value, number_format) == shown


@given(st.decimals(0, 10**12, places=2), st.sampled_from(["0.00", "#,##0.00"]))
def test_a_price_keeps_its_cents(price, number_format):
    shown = format_value(float(price), number_format)
    assert Decimal(shown.replace(",", "")) == price and shown[-3] == "."


MOMENTS = st.datetimes(datetime(1900, 3, 1)) | st.times() | st.timedeltas(timedelta(), timedelta(999))
FORMATS = st.sampled_from(sorted(BUILTIN_FORMATS.values())) | st.text('0#?.,%"\\_*[]$;@/ymdhsAPE+-Ge ', max_size=12)


@given(st.floats(allow_nan=False) | st.integers() | MOMENTS, FORMATS)
def test_no_format_keeps_a_value_from_being_read(value, number_format):
    assert isinstance(format_value(value, number_format), str)
