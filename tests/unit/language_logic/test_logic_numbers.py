"""Numbers as .NET reads and writes them."""

from __future__ import annotations

import pytest

from whorl.language import Expression, Json, LanguageError, MappingScope, evaluate

NOWHERE = MappingScope({})


def value(source: str) -> Json:
    return evaluate(Expression("logic", source), NOWHERE)


@pytest.mark.parametrize(
    ("number", "form", "expected"),
    [
        ("1234.567", "N", "1,234.57"),
        ("-1234.567", "N0", "-1,235"),
        ("1234.567", "F1", "1234.6"),
        ("0.5", "P0", "50%"),
        ("12.5", "C", "$12.50"),
        ("-12.5", "C0", "-$13"),
        ("42", "D5", "00042"),
        ("-42", "D5", "-00042"),
        ("255", "X", "FF"),
        ("255", "x4", "00ff"),
        ("1234.5", "E2", "1.23E+003"),
        ("0.00123", "e3", "1.230e-003"),
        ("999.9", "E0", "1E+003"),
        ("1234.5", "G", "1234.5"),
        ("1234.5", "G2", "1.2E+03"),
        ("1234.5", "G4", "1235"),
        ("1234.5", "R", "1234.5"),
        ("1234567.891", "#,##0.00", "1,234,567.89"),
        ("0", "#,##0.00", "0.00"),
        ("12.34", "#,##0.00", "12.34"),
        ("12", "##-##", "-12"),
        ("0.5", "#.##", ".5"),
        ("12", "0000", "0012"),
        ("12.3", "0.0##", "12.3"),
        ("0.125", "0.0%", "12.5%"),
        ("1234567", "0,,.0", "1.2"),
        ("-5", "0;(0);zero", "(5)"),
        ("0", "0;(0);zero", "zero"),
        ("-5", "0.0", "-5.0"),
        ("5551234", "###-####", "555-1234"),
        ("3", "'no. '0", "no. 3"),
        ("12345", "0.00E+00", "1.23E+04"),
        ("2.5", "0", "3"),
    ],
)
def test_format(number: str, form: str, expected: str) -> None:
    quoted = form.replace("'", "''")

    assert expected == value(f"@formatNumber({number}, '{quoted}')")


def test_format_of_a_culture() -> None:
    assert value("@formatNumber(1234.5, 'N2', 'de-DE')") == "1.234,50"
    assert value("@formatNumber(1234.5, '#,##0.0', 'fr-FR')") == "1\u202f234,5"
    assert value("@formatNumber(9, 'C', 'de-DE')") == "9,00\u00a0€"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2,3.5", 123.5),
        (" -1 ", -1.0),
        ("1-", -1.0),
        ("+.5e1", 5.0),
        ("1e400", "Infinity"),
        ("NaN", "NaN"),
    ],
)
def test_reading_floats(text: str, expected: Json) -> None:
    assert expected == value(f"@float('{text}')")


@pytest.mark.parametrize(
    "text", ["", "-", ".", "1-2", "-1-", "(1)", "1e", "0x10", "1 2", "9" * 2000]
)
def test_what_is_no_float_is_refused(text: str) -> None:
    assert value(f"@isFloat('{text}')") is False
    with pytest.raises(LanguageError):
        value(f"@float('{text}')")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("@{decimal('1.50')}", "1.50"),
        ("@{mul(decimal('1.5'), 2)}", "3.0"),
        ("@{sub(decimal('1'), decimal('0.9'))}", "0.1"),
        ("@{div(decimal('1'), 3)}", "0.3333333333333333333333333333"),
        ("@{mod(decimal('7.5'), 2)}", "1.5"),
        ("@{max(decimal('1.5'), 2)}", "2"),
        ("@{createArray(decimal('2'))}", "[2.0]"),
        ("@{int(decimal('2.0'))}", "2"),
    ],
)
def test_decimals_keep_their_places(source: str, expected: str) -> None:
    assert expected == value(source)


def test_decimal_leaves_the_language_as_a_number() -> None:
    assert value("@decimal('1.5')") == 1.5
    assert value("@createArray(decimal('1.5'), float('NaN'))") == [1.5, "NaN"]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("0.0", "0"),
        ("-0.0", "-0"),
        ("100000000000000.0", "100000000000000"),
        ("1000000000000000.0", "1E+15"),
        ("0.0001", "0.0001"),
        ("0.00001234", "1.234E-05"),
        ("1.5e300", "1.5E+300"),
        ("123.456", "123.456"),
    ],
)
def test_floats_print_as_short_as_they_can(number: str, expected: str) -> None:
    assert expected == value(f"@{{{number}}}")
