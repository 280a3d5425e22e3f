"""Dates as .NET reads and writes them, and time zones by their Windows names."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from whorl.dialects.loom.values.moments import WINDOWS_ZONES
from whorl.language import Expression, Json, LanguageError, MappingScope, evaluate

NOWHERE = MappingScope({"$now": 0})


def value(source: str) -> Json:
    return evaluate(Expression("logic", source), NOWHERE)


AFTERNOON = "2024-03-05T14:07:09.0120000Z"


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("d", "3/5/2024"),
        ("D", "Tuesday, March 5, 2024"),
        ("t", "2:07 PM"),
        ("T", "2:07:09 PM"),
        ("f", "Tuesday, March 5, 2024 2:07 PM"),
        ("F", "Tuesday, March 5, 2024 2:07:09 PM"),
        ("g", "3/5/2024 2:07 PM"),
        ("G", "3/5/2024 2:07:09 PM"),
        ("M", "March 5"),
        ("y", "March 2024"),
        ("o", AFTERNOON),
        ("r", "Tue, 05 Mar 2024 14:07:09 GMT"),
        ("s", "2024-03-05T14:07:09"),
        ("u", "2024-03-05 14:07:09Z"),
        ("U", "Tuesday, March 5, 2024 2:07:09 PM"),
        ("yyyy-MM-dd", "2024-03-05"),
        ("yy M d", "24 3 5"),
        ("ddd dd MMM", "Tue 05 Mar"),
        ("HH:mm:ss.fff", "14:07:09.012"),
        ("h:m:s t", "2:7:9 P"),
        ("ss.FFFFFFF", "09.012"),
        ("yyyyMMddTHHmmssZ", "20240305T140709Z"),
        ("'at' HH\\h", "at 14h"),
        ('"quoted" yyyy', "quoted 2024"),
        ("%d", "5"),
        ("zzz", "+00:00"),
        ("%K", "Z"),
        ("yyyyy", "02024"),
        ("gg", "A.D."),
    ],
)
def test_format(form: str, expected: str) -> None:
    quoted = form.replace("'", "''")

    assert expected == value(f"@formatDateTime('{AFTERNOON}', '{quoted}')")


def test_fraction_that_is_zero_goes_with_its_point() -> None:
    assert value("@formatDateTime('2024-03-05', 'HH:mm:ss.FFF')") == "00:00:00"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-03-05", "2024-03-05T00:00:00.0000000"),
        ("2024-03", "2024-03-01T00:00:00.0000000"),
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
        ("March 5, 2024", "2024-03-05T00:00:00.0000000"),
        ("5 March 2024 08:00", "2024-03-05T08:00:00.0000000"),
        ("2024/03/05", "2024-03-05T00:00:00.0000000"),
    ],
)
def test_reading(text: str, expected: str) -> None:
    assert expected == value(f"@formatDateTime('{text}')")


@pytest.mark.parametrize(
    ("text", "locale", "form", "expected"),
    [
        ("05.03.2024", "de-DE", None, "2024-03-05T00:00:00.0000000"),
        ("5. März 2024", "de-DE", None, "2024-03-05T00:00:00.0000000"),
        ("5/3/2024", "en-GB", None, "2024-03-05T00:00:00.0000000"),
        ("5 de marzo de 2024", "es-ES", None, "2024-03-05T00:00:00.0000000"),
        ("05032024", "en-US", "ddMMyyyy", "2024-03-05T00:00:00.0000000"),
        ("Mar 5 24, 02 PM", "en-US", "MMM d yy, hh tt", "2024-03-05T14:00:00.0000000"),
        ("2024-03-05T14:07:09.5Z", "en-US", "yyyy-MM-ddTHH:mm:ss.FFFK", None),
        ("12 AM 3/5/2024", "en-US", "h tt M/d/yyyy", "2024-03-05T00:00:00.0000000"),
    ],
)
def test_reading_by_language_and_pattern(
    text: str, locale: str, form: str | None, expected: str | None
) -> None:
    call = f"@parseDateTime('{text}', '{locale}'" + (f", '{form}')" if form else ")")

    assert (expected or "2024-03-05T14:07:09.5000000Z") == value(call)


@pytest.mark.parametrize(
    "text",
    ["", "2024-13-01", "2024-02-30", "25:00", "2024-01-01T25:00", "13:00 PM", "now", "1" * 500],
)
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(LanguageError):
        value(f"@formatDateTime('{text}')")


def test_pattern_names_each_part_once() -> None:
    with pytest.raises(LanguageError) as caught:
        value("@parseDateTime('1111', 'en-US', 'dMdM')")

    assert "twice" in caught.value.message


@pytest.mark.parametrize("name", sorted(WINDOWS_ZONES))
def test_every_windows_zone_is_in_the_database(name: str) -> None:
    assert ZoneInfo(WINDOWS_ZONES[name].split()[0]) is not None
    assert isinstance(value(f"@convertFromUtc('2024-01-01T12:00:00Z', '{name.upper()}')"), str)


def test_zones_know_summer_time() -> None:
    def local(day: str) -> Json:
        return value(f"@convertFromUtc('{day}T12:00:00Z', 'Eastern Standard Time', 'HH:mm')")

    assert local("2024-03-09") == "07:00"
    assert local("2024-03-11") == "08:00"


def test_zones_have_database_names_too() -> None:
    assert value("@convertFromUtc('2024-01-01T12:00:00Z', 'Europe/Paris', 'HH:mm')") == "13:00"


@pytest.mark.parametrize(
    ("span", "form", "expected"),
    [
        ("1.02:03:04.5", "c", "1.02:03:04.5000000"),
        ("02:03", "G", "0:02:03:00.0000000"),
        ("-1.02:00:00", "c", "-1.02:00:00"),
        ("1.02:03:04", "dd\\.hh\\:mm", "01.02:03"),
        ("00:00:01.25", "s\\.ff", "1.25"),
        ("3", "c", "3.00:00:00"),
    ],
)
def test_time_spans(span: str, form: str, expected: str) -> None:
    assert expected == value(f"@formatTimeSpan('{span}', '{form}')")
