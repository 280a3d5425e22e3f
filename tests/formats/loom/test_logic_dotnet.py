"""Dates, time zones by their Windows names, and numbers, as .NET reads and writes them."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from whorl.formats.loom.values.formats import WINDOWS_ZONES
from whorl.language import Expression, Json, LanguageError, MappingScope, evaluate

NOWHERE = MappingScope({"$now": 0})
AFTERNOON = "2024-03-05T14:07:09.0120000Z"


def value(source: str) -> Json:
    return evaluate(Expression("logic", source), NOWHERE)


DATE_FORMATS = [
    *(("d", "3/5/2024"), ("D", "Tuesday, March 5, 2024"), ("t", "2:07 PM"), ("T", "2:07:09 PM")),
    *(("f", "Tuesday, March 5, 2024 2:07 PM"), ("F", "Tuesday, March 5, 2024 2:07:09 PM")),
    *(("g", "3/5/2024 2:07 PM"), ("G", "3/5/2024 2:07:09 PM"), ("M", "March 5")),
    *(("y", "March 2024"), ("o", "2024-03-05T14:07:09.0120000Z")),
    *(("r", "Tue, 05 Mar 2024 14:07:09 GMT"), ("s", "2024-03-05T14:07:09")),
    *(("u", "2024-03-05 14:07:09Z"), ("U", "Tuesday, March 5, 2024 2:07:09 PM")),
    *(("yyyy-MM-dd", "2024-03-05"), ("yy M d", "24 3 5"), ("ddd dd MMM", "Tue 05 Mar")),
    *(("HH:mm:ss.fff", "14:07:09.012"), ("h:m:s t", "2:7:9 P"), ("ss.FFFFFFF", "09.012")),
    *(("yyyyMMddTHHmmssZ", "20240305T140709Z"), ("'at' HH\\h", "at 14h")),
    *(('"quoted" yyyy', "quoted 2024"), ("%d", "5"), ("zzz", "+00:00"), ("%K", "Z")),
    *(("yyyyy", "02024"), ("gg", "A.D.")),
]
DATES = [
    *(("2024-03-05", "2024-03-05T00:00:00.0000000"), ("2024-03", "2024-03-01T00:00:00.0000000")),
    ("2024-03-05T14:07", "2024-03-05T14:07:00.0000000"),
    ("2024-03-05 14:07:09.1234567", "2024-03-05T14:07:09.1234567"),
    ("2024-03-05T14:07:09Z", "2024-03-05T14:07:09.0000000Z"),
    ("2024-03-05T14:07:09+02:00", "2024-03-05T12:07:09.0000000Z"),
    ("2024-03-05T00:07:09-0130", "2024-03-05T01:37:09.0000000Z"),
    ("20240305T140709Z", "2024-03-05T14:07:09.0000000Z"),
    ("3/5/2024", "2024-03-05T00:00:00.0000000"),
    ("3/5/24 2:07:09 PM", "2024-03-05T14:07:09.0000000"),
    ("12/31/2024 12:00 AM", "2024-12-31T00:00:00.0000000"),
    ("Tue, 05 Mar 2024 14:07:09 GMT", "2024-03-05T14:07:09.0000000Z"),
    ("5 March 2024 08:00", "2024-03-05T08:00:00.0000000"),
]
NUMBER_FORMATS = [
    *(("1234.567", "N", "1,234.57"), ("-1234.567", "N0", "-1,235"), ("1234.567", "F1", "1234.6")),
    *(("0.5", "P0", "50%"), ("12.5", "C", "$12.50"), ("-12.5", "C0", "-$13")),
    *(("42", "D5", "00042"), ("-42", "D5", "-00042")),
    *(("1234.5", "G", "1234.5"), ("1234567.891", "#,##0.00", "1,234,567.89")),
    *(("0", "#,##0.00", "0.00"), ("12.34", "#,##0.00", "12.34"), ("12", "##-##", "-12")),
    *(("0.5", "#.##", ".5"), ("12", "0000", "0012"), ("12.3", "0.0##", "12.3")),
    *(("0.125", "0.0%", "12.5%"), ("1234567", "0,,.0", "1.2")),
    *(("-5", "0.0", "-5.0"), ("5551234", "###-####", "555-1234")),
    *(("3", "'no. '0", "no. 3"), ("2.5", "0", "3")),
]
OTHERS: list[tuple[str, Json]] = [
    ("@formatDateTime('2024-03-05', 'HH:mm:ss.FFF')", "00:00:00"),
    ("@parseDateTime('05.03.2024', 'de-DE')", "2024-03-05T00:00:00.0000000"),
    ("@parseDateTime('5. März 2024', 'de-DE')", "2024-03-05T00:00:00.0000000"),
    ("@parseDateTime('5/3/2024', 'en-GB')", "2024-03-05T00:00:00.0000000"),
    ("@parseDateTime('05032024', 'en-US', 'ddMMyyyy')", "2024-03-05T00:00:00.0000000"),
    (
        "@parseDateTime('Mar 5 24, 02 PM', 'en-US', 'MMM d yy, hh tt')",
        "2024-03-05T14:00:00.0000000",
    ),
    (
        "@parseDateTime('2024-03-05T14:07:09.5Z', 'en-US', 'yyyy-MM-ddTHH:mm:ss.FFFK')",
        "2024-03-05T14:07:09.5000000Z",
    ),
    ("@parseDateTime('2024-03-05T14:07:09.1234567', 'en-US', 'o')", "2024-03-05T14:07:09.1234560"),
    ("@parseDateTime('12 AM 3/5/2024', 'en-US', 'h tt M/d/yyyy')", "2024-03-05T00:00:00.0000000"),
    ("@convertFromUtc('2024-03-09T12:00:00Z', 'Eastern Standard Time', 'HH:mm')", "07:00"),
    ("@convertFromUtc('2024-03-11T12:00:00Z', 'Eastern Standard Time', 'HH:mm')", "08:00"),
    ("@convertFromUtc('2024-01-01T12:00:00Z', 'Europe/Paris', 'HH:mm')", "13:00"),
    ("@dateDifference('2024-03-05T01:00:00.5', '2024-03-04')", "-1.01:00:00.5000000"),
    ("@formatNumber(1234.5, 'N2', 'de-DE')", "1.234,50"),
    ("@formatNumber(1234.5, '#,##0.0', 'fr-FR')", "1\u202f234,5"),
    *(("@formatNumber(9, 'C', 'de-DE')", "9,00\u00a0€"), ("@float('1,2,3.5')", 123.5)),
    *(("@float(' -1 ')", -1.0), ("@float('1-')", -1.0), ("@float('+.5e1')", 5.0)),
    *(("@float('1e400')", "Infinity"), ("@float('NaN')", "NaN"), ("@{decimal('1.50')}", "1.50")),
    *(("@{mul(decimal('1.5'), 2)}", "3.0"), ("@{sub(decimal('1'), decimal('0.9'))}", "0.1")),
    ("@{div(decimal('1'), 3)}", "0.3333333333333333333333333333"),
    *(("@{mod(decimal('7.5'), 2)}", "1.5"), ("@{max(decimal('1.5'), 2)}", "2")),
    *(("@{createArray(decimal('2'))}", "[2.0]"), ("@{int(decimal('2.0'))}", "2")),
    *(("@decimal('1.5')", 1.5), ("@createArray(decimal('1.5'), float('NaN'))", [1.5, "NaN"])),
    *(("@{0.0}", "0"), ("@{-0.0}", "-0"), ("@{100000000000000.0}", "100000000000000")),
    *(("@{1000000000000000.0}", "1E+15"), ("@{0.0001}", "0.0001"), ("@{0.00001234}", "1.234E-05")),
    *(("@{1.5e300}", "1.5E+300"), ("@{123.456}", "123.456")),
]


@pytest.mark.parametrize(
    ("source", "form", "expected"),
    [
        *((f"formatDateTime('{AFTERNOON}'", form, expected) for form, expected in DATE_FORMATS),
        *((f"formatNumber({number}", form, expected) for number, form, expected in NUMBER_FORMATS),
    ],
)
def test_format(source: str, form: str, expected: str) -> None:
    quoted = form.replace("'", "''")

    assert expected == value(f"@{source}, '{quoted}')")


@pytest.mark.parametrize(("text", "expected"), DATES)
def test_reading(text: str, expected: str) -> None:
    assert expected == value(f"@formatDateTime('{text}')")


@pytest.mark.parametrize(("source", "expected"), OTHERS)
def test_cultures_decimals_and_floats(source: str, expected: Json) -> None:
    assert expected == value(source)


@pytest.mark.parametrize(
    "text",
    ["", "2024-13-01", "2024-02-30", "25:00", "2024-01-01T25:00", "13:00 PM", "now", "1" * 500],
)
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(LanguageError):
        value(f"@formatDateTime('{text}')")


@pytest.mark.parametrize("name", sorted(WINDOWS_ZONES))
def test_every_windows_zone_is_in_the_database(name: str) -> None:
    assert ZoneInfo(WINDOWS_ZONES[name].split()[0]) is not None
    assert isinstance(value(f"@convertFromUtc('2024-01-01T12:00:00Z', '{name.upper()}')"), str)
