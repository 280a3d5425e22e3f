"""Numbers and times read and written as .NET does, by cultures.

A number may have thousands separators anywhere and a sign at either end.
"""

from __future__ import annotations

import math
import re
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from whorl.errors import did_you_mean
from whorl.formats.loom.values.arguments import float_text
from whorl.language.faults import EvaluationError
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable
    from zoneinfo import ZoneInfo

    from whorl.formats.loom.values.arguments import Number
    from whorl.language.calls import Run


@dataclass(frozen=True, slots=True)
class Culture:
    """The marks of numbers, the names of days and months, and the usual formats of dates."""

    point: str
    group: str
    short_date: str
    long_date: str
    short_time: str
    currency: str
    days: tuple[str, ...]
    months: tuple[str, ...]
    short_months: tuple[str, ...]
    short_days: tuple[str, ...]
    halves: tuple[str, str]
    infinity: str


# By language: its code, its days, its months, the short names of months and of days.
_NAMES_TEXT = """
en Sunday Monday Tuesday Wednesday Thursday Friday Saturday
January February March April May June July August September October November December
Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec Sun Mon Tue Wed Thu Fri Sat
de Sonntag Montag Dienstag Mittwoch Donnerstag Freitag Samstag
Januar Februar März April Mai Juni Juli August September Oktober November Dezember
Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez So Mo Di Mi Do Fr Sa
fr dimanche lundi mardi mercredi jeudi vendredi samedi
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc. dim. lun. mar. mer. jeu. ven. sam.
es domingo lunes martes miércoles jueves viernes sábado
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
ene feb mar abr may jun jul ago sept oct nov dic dom lun mar mié jue vie sáb
it domenica lunedì martedì mercoledì giovedì venerdì sabato
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
gen feb mar apr mag giu lug ago set ott nov dic dom lun mar mer gio ven sab
nl zondag maandag dinsdag woensdag donderdag vrijdag zaterdag
januari februari maart april mei juni juli augustus september oktober november december
jan feb mrt apr mei jun jul aug sep okt nov dec zo ma di wo do vr za
pt domingo segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
jan. fev. mar. abr. mai. jun. jul. ago. set. out. nov. dez. dom. seg. ter. qua. qui. sex. sáb.
da søndag mandag tirsdag onsdag torsdag fredag lørdag
januar februar marts april maj juni juli august september oktober november december
jan. feb. mar. apr. maj jun. jul. aug. sep. okt. nov. dec. søn. man. tir. ons. tor. fre. lør.
sv söndag måndag tisdag onsdag torsdag fredag lördag
januari februari mars april maj juni juli augusti september oktober november december
jan. feb. mars apr. maj juni juli aug. sep. okt. nov. dec. sön mån tis ons tors fre lör
nb søndag mandag tirsdag onsdag torsdag fredag lørdag
januar februar mars april mai juni juli august september oktober november desember
jan. feb. mars apr. mai juni juli aug. sep. okt. nov. des. søn. man. tir. ons. tor. fre. lør.
fi sunnuntai maanantai tiistai keskiviikko torstai perjantai lauantai
tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu heinäkuu elokuu syyskuu lokakuu marraskuu
joulukuu
tammi helmi maalis huhti touko kesä heinä elo syys loka marras joulu su ma ti ke to pe la
is sunnudagur mánudagur þriðjudagur miðvikudagur fimmtudagur föstudagur laugardagur
janúar febrúar mars apríl maí júní júlí ágúst september október nóvember desember
jan. feb. mar. apr. maí jún. júl. ágú. sep. okt. nóv. des. sun. mán. þri. mið. fim. fös. lau.
pl niedziela poniedziałek wtorek środa czwartek piątek sobota
styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień
sty lut mar kwi maj cze lip sie wrz paź lis gru niedz. pon. wt. śr. czw. pt. sob.
cs neděle pondělí úterý středa čtvrtek pátek sobota
leden únor březen duben květen červen červenec srpen září říjen listopad prosinec
led úno bře dub kvě čvn čvc srp zář říj lis pro ne po út st čt pá so
ja 日曜日 月曜日 火曜日 水曜日 木曜日 金曜日 土曜日
1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月
1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月 日 月 火 水 木 金 土
zh 星期日 星期一 星期二 星期三 星期四 星期五 星期六
一月 二月 三月 四月 五月 六月 七月 八月 九月 十月 十一月 十二月
1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月 周日 周一 周二 周三 周四 周五 周六
"""
# Decimal point, thousands separator, short date, long date, short time, currency.
_FORMS: dict[str, tuple[str, str, str, str, str, str]] = {
    "en": (".", ",", "M/d/yyyy", "dddd, MMMM d, yyyy", "h:mm tt", "$"),
    "en-gb": (".", ",", "dd/MM/yyyy", "d MMMM yyyy", "HH:mm", "£"),
    "en-au": (".", ",", "d/MM/yyyy", "dddd, d MMMM yyyy", "h:mm tt", "$"),
    "en-ca": (".", ",", "yyyy-MM-dd", "MMMM d, yyyy", "h:mm tt", "$"),
    "de": (",", ".", "dd.MM.yyyy", "dddd, d. MMMM yyyy", "HH:mm", "€"),
    "fr": (",", "\u202f", "dd/MM/yyyy", "dddd d MMMM yyyy", "HH:mm", "€"),
    "es": (",", ".", "d/M/yyyy", "dddd, d 'de' MMMM 'de' yyyy", "H:mm", "€"),
    "it": (",", ".", "dd/MM/yyyy", "dddd d MMMM yyyy", "HH:mm", "€"),
    "nl": (",", ".", "dd-MM-yyyy", "dddd d MMMM yyyy", "HH:mm", "€"),
    "pt": (",", ".", "dd/MM/yyyy", "dddd, d 'de' MMMM 'de' yyyy", "HH:mm", "R$"),
    "da": (",", ".", "dd.MM.yyyy", "dddd 'den' d. MMMM yyyy", "HH.mm", "kr."),
    "sv": (",", "\u00a0", "yyyy-MM-dd", "'den' d MMMM yyyy", "HH:mm", "kr"),
    "nb": (",", "\u00a0", "dd.MM.yyyy", "dddd d. MMMM yyyy", "HH:mm", "kr"),
    "fi": (",", "\u00a0", "d.M.yyyy", "dddd d. MMMM yyyy", "H.mm", "€"),
    "is": (",", ".", "d.M.yyyy", "dddd, d. MMMM yyyy", "HH:mm", "ISK"),
    "pl": (",", "\u00a0", "dd.MM.yyyy", "dddd, d MMMM yyyy", "HH:mm", "zł"),
    "cs": (",", "\u00a0", "dd.MM.yyyy", "dddd d. MMMM yyyy", "H:mm", "Kč"),
    "ja": (".", ",", "yyyy/MM/dd", "yyyy年M月d日dddd", "H:mm", "¥"),
    "zh": (".", ",", "yyyy/M/d", "yyyy年M月d日dddd", "HH:mm", "¥"),
}
_EVERYWHERE = (".", ",", "MM/dd/yyyy", "dddd, dd MMMM yyyy", "HH:mm", "¤")
_WORDS = iter(_NAMES_TEXT.split())
# Days, months, short months and short days by language.
_NAMES = {
    language: tuple(tuple(islice(_WORDS, count)) for count in (7, 12, 12, 7)) for language in _WORDS
}


@lru_cache(maxsize=64)
def culture_of(locale: str) -> Culture:
    """Returns the culture of a locale such as `de-DE`; the empty one is the invariant culture."""
    name = locale.lower().replace("_", "-")
    language = name.partition("-")[0].replace("no", "nb") if locale else "en"
    if language not in _NAMES:
        raise EvaluationError(
            f"the locale {locale!r} is not supported", help=did_you_mean(locale, list(_NAMES))
        )
    days, months, short_months, short_days = _NAMES[language]
    return Culture(
        *(_FORMS.get(name, _FORMS[language]) if locale else _EVERYWHERE),
        *(days, months, short_months, short_days),
        halves=("午前", "午後") if language == "ja" else ("AM", "PM"),
        infinity="∞" if locale else "Infinity",
    )


_DECIMAL_MAX = Decimal("79228162514264337593543950335")
DECIMAL = Context(prec=29, rounding=ROUND_HALF_EVEN)
_DIGITS_MAX = 1_000
_PLACES_MAX = 28


def _read_digits(
    text: str, culture: Culture, *, exponent: bool = True, trailing: bool = True
) -> str | None:
    """Returns a number in the notation of Python, or None if the text does not hold a number."""
    whole = rf"(?P<whole>[0-9][0-9{re.escape(culture.group)}]*+)?"
    places = rf"(?:{re.escape(culture.point)}(?P<places>[0-9]*+))?"
    power = r"(?:[eE](?P<power>[+-]?[0-9]+))?"
    pattern = rf"(?P<before>[+-])?\s*+{whole}{places}{power}\s*+(?P<after>[+-])?"
    match = re.fullmatch(pattern, text.strip()) if len(text) <= _DIGITS_MAX else None
    if match is None or (match["before"] and match["after"]):
        return None
    digits = (match["whole"] or "").replace(culture.group, "")
    is_refused = (match["power"] and not exponent) or (match["after"] and not trailing)
    if is_refused or not (digits or match["places"]):
        return None
    sign = "-" if "-" in (match["before"], match["after"]) else ""
    return f"{sign}{digits or 0}.{match['places'] or 0}e{match['power'] or 0}"


def read_float(text: str, culture: Culture, *, trailing: bool = True) -> float | None:
    """Returns the float of a text, or None; too large a number is infinite."""
    word = text.strip().lower()
    if word in ("nan", "+nan", "-nan"):
        return math.nan
    if word.lstrip("+-") == culture.infinity.lower():
        return -math.inf if word.startswith("-") else math.inf
    digits = _read_digits(text, culture, trailing=trailing)
    return None if digits is None else float(digits)


def read_decimal(text: str, culture: Culture) -> Decimal | None:
    """Returns the decimal of a text with its places, or None."""
    digits = _read_digits(text, culture, exponent=False)
    if digits is None:
        return None
    places = text.partition(culture.point)[2].strip().rstrip("+-").strip()
    return to_decimal(Decimal(digits if places else digits.removesuffix(".0e0")))


def to_decimal(number: int | float | Decimal) -> Decimal:
    """Turn a number into a decimal of .NET, or raise if it does not fit."""
    if isinstance(number, float):
        if not math.isfinite(number):
            raise EvaluationError("an infinite float has no decimal value")
        number = Decimal(format(number, ".15g"))
    exact = DECIMAL.create_decimal(number)
    if abs(exact) > _DECIMAL_MAX:
        raise EvaluationError("the value was either too large or too small for a decimal")
    exponent = exact.as_tuple().exponent
    assert isinstance(exponent, int)
    if exponent < -_PLACES_MAX:
        exact = exact.quantize(Decimal(1).scaleb(-_PLACES_MAX), context=DECIMAL)
    return exact if exponent <= 0 else exact.quantize(Decimal(1), context=DECIMAL)


_STANDARD = re.compile(r"([A-Za-z])([0-9]{0,3})\Z")
_PICTURE_MAX = 200
# Wide enough for any float written out with 999 places.
_EXACT = Context(prec=1_400, rounding=ROUND_HALF_UP)


def format_number(run: Run, number: Number, form: str, culture: Culture) -> str:
    run.check_text(len(form) + 1_400, "formatNumber")
    if isinstance(number, float) and not math.isfinite(number):
        return float_text(number).replace("Infinity", culture.infinity)
    exact = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    standard = _STANDARD.match(form or "G")
    if standard is None:
        if len(form) > _PICTURE_MAX:
            raise EvaluationError(f"a number format has at most {_PICTURE_MAX} characters")
        if re.search("[eE][+-]?0|[‰;]", form):
            reason = "sections, exponents and ‰ are not supported"
            raise EvaluationError(f"the number format {form!r} is not valid: {reason}")
        return _fill_picture(exact, form, culture)
    letter = standard[1].upper()
    places = int(standard[2]) if standard[2] else None
    if letter == "D" and exact != exact.to_integral_value():
        raise EvaluationError(f"the number format {letter!r} is for integers")
    write = _WRITERS.get(letter)
    if write is None:
        raise EvaluationError(f"the number format {form!r} is not valid")
    written = write(exact, places, culture)
    if letter != "G" and exact < 0 and any(digit in "123456789" for digit in written):
        written = f"-{written}"
    return written


def _rounded(number: Decimal, places: int | None) -> str:
    """Writes the absolute value of a number with some decimal places, rounding halves up."""
    quantum = Decimal(1).scaleb(-2 if places is None else -places)
    return format(abs(number).quantize(quantum, context=_EXACT), "f")


def _grouped(number: Decimal, places: int | None, culture: Culture) -> str:
    """Writes the absolute value of a number with the marks of a culture."""
    whole, _, decimals = _rounded(number, places).partition(".")
    parts = [whole[max(0, end - 3) : end] for end in range(len(whole), 0, -3)]
    return culture.group.join(reversed(parts)) + (f"{culture.point}{decimals}" if decimals else "")


def _general(number: Decimal, places: int | None, culture: Culture) -> str:
    if places:
        raise EvaluationError("the number format 'G' takes no places", help="use 'N' or 'F'")
    return format(number.normalize(_EXACT), "f").replace(".", culture.point)


# Each writes the size of a number, but for the general format, which has the sign, too.
_WRITERS: dict[str, Callable[[Decimal, int | None, Culture], str]] = {
    "N": _grouped,
    "F": lambda number, places, culture: _rounded(number, places).replace(".", culture.point),
    "C": lambda number, places, culture: (
        culture.currency + _grouped(number, places, culture)
        if culture.point == "."
        else f"{_grouped(number, places, culture)}\u00a0{culture.currency}"
    ),
    "P": lambda number, places, culture: (
        _grouped(number * 100, places, culture) + ("%" if culture.point == "." else "\u00a0%")
    ),
    "D": lambda number, places, culture: (
        format(abs(number), "f").partition(".")[0].zfill(places or 1)
    ),
    "G": _general,
}


_PIECE = re.compile(r"""'[^']*'|"[^"]*"|\\.|.""", re.DOTALL)


def _fill_picture(number: Decimal, form: str, culture: Culture) -> str:
    value, pieces = abs(number), _PIECE.findall(form)
    point = pieces.index(".") if "." in pieces else len(pieces)
    slots = [index for index, piece in enumerate(pieces) if piece in ("0", "#")]
    before = [index for index in slots if index < point]
    after = [index for index in slots if index > point]
    value *= Decimal(100) ** pieces.count("%")
    # Commas right before the point divide by a thousand each; others group the digits.
    scaling = pieces[before[-1] + 1 : point].count(",") if before else 0
    value = value.scaleb(-3 * scaling)
    digits = format(value.quantize(Decimal(1).scaleb(-len(after)), context=_EXACT), "f")
    whole, _, places = digits.partition(".")
    least = len(before) - next((at for at, i in enumerate(before) if pieces[i] == "0"), len(before))
    whole = whole.lstrip("0").rjust(least, "0")
    needed = max((at + 1 for at, i in enumerate(after) if pieces[i] == "0"), default=0)
    places = places[:needed] + places[needed:].rstrip("0")
    groups = len(before) > 1 and "," in pieces[before[0] : before[-1]]
    mark = culture.group if groups else ""
    # From the right; the first place takes all digits that are left.
    marked = [d + (mark if at and at % 3 == 0 else "") for at, d in enumerate(reversed(whole))]
    filled = dict(zip(reversed(before), marked, strict=False))
    if before:
        filled[before[0]] = "".join(reversed(marked[len(before) - 1 :]))
    filled |= dict(zip(after, places, strict=False)) | {point: culture.point if places else ""}
    is_signed = number < 0 and any(digit in "123456789" for digit in whole + places)
    parts = (filled.get(index, _shown(piece)) for index, piece in enumerate(pieces))
    return "-" * is_signed + "".join(parts)


def _shown(piece: str) -> str:
    """Returns the text for a piece of a picture, or "" if the piece is a digit or a mark."""
    if piece in ("0", "#", ".", ","):
        return ""
    if len(piece) == 1:
        return piece
    return piece[1:] if piece[0] == "\\" else piece[1:-1]


SECOND = 10_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
TICKS_MAX = date.max.toordinal() * DAY
_EPOCH = (date(1970, 1, 1).toordinal() - 1) * DAY


@dataclass(frozen=True, slots=True)
class Moment:
    """A date with a time; `utc` means that it is known to be in UTC."""

    ticks: int
    utc: bool

    @property
    def date(self) -> date:
        return date.fromordinal(self.ticks // DAY + 1)

    @property
    def time(self) -> int:
        """Returns the ticks since midnight."""
        return self.ticks % DAY

    def plus(self, ticks: int) -> Moment:
        return Moment(checked(self.ticks + ticks), self.utc)

    def plus_months(self, months: int) -> Moment:
        """Returns the same day some months later, or the last day of that month."""
        day = self.date
        count = day.year * 12 + day.month - 1 + months
        year, month = count // 12, count % 12 + 1
        if not 1 <= year <= 9999:
            raise _beyond()
        moved = date(year, month, min(day.day, monthrange(year, month)[1]))
        return Moment((moved.toordinal() - 1) * DAY + self.time, self.utc)


def checked(ticks: int) -> int:
    """Returns ticks that are a valid date; raises otherwise."""
    if 0 <= ticks < TICKS_MAX:
        return ticks
    raise _beyond()


def _beyond() -> EvaluationError:
    return EvaluationError("the result is a date outside the years 1 to 9999")


def from_epoch(seconds: float) -> Moment:
    """Returns the moment so many seconds after 1970 in UTC, to the microsecond."""
    return Moment(checked(_EPOCH + round(seconds * 1_000_000) * 10), utc=True)


def in_zone(moment: Moment, zone: ZoneInfo) -> Moment:
    """Returns the local time in a zone of a moment in UTC."""
    return Moment(checked(moment.ticks + _offset(moment, UTC, zone)), utc=False)


def from_zone(moment: Moment, zone: ZoneInfo) -> Moment:
    """Returns the moment in UTC of a local time in a zone."""
    return Moment(checked(moment.ticks - _offset(moment, zone, zone)), utc=True)


def _offset(moment: Moment, own: tzinfo, zone: ZoneInfo) -> int:
    """Returns the offset of a zone in ticks at a moment, which is a time of its own zone."""
    local = datetime.min + timedelta(microseconds=moment.ticks // 10)
    try:
        offset = local.replace(tzinfo=own).astimezone(zone).utcoffset()
    except OverflowError:
        raise _beyond() from None
    assert offset is not None
    return round(offset.total_seconds()) * SECOND


def format_span(ticks: int) -> str:
    """Write a span as .NET does: `[-][d.]hh:mm:ss[.fffffff]`."""
    days, rest = divmod(abs(ticks), DAY)
    lead = "-" * (ticks < 0) + (f"{days}." if days else "")
    fraction = f".{rest % SECOND:07d}" if rest % SECOND else ""
    hours, minutes, seconds = rest // HOUR, rest % HOUR // MINUTE, rest % MINUTE // SECOND
    return f"{lead}{hours:02d}:{minutes:02d}:{seconds:02d}{fraction}"


# Windows name = name in the tz database; ST is "Standard Time". As CLDR maps them; where a zone was
# renamed, the names follow each other, the newest first.
_ZONES_TEXT = """
Dateline ST = Etc/GMT+12; UTC-11 = Etc/GMT+11; Aleutian ST = America/Adak;
Hawaiian ST = Pacific/Honolulu; Marquesas ST = Pacific/Marquesas; Alaskan ST = America/Anchorage;
UTC-09 = Etc/GMT+9; Pacific ST (Mexico) = America/Tijuana; UTC-08 = Etc/GMT+8;
Pacific ST = America/Los_Angeles; US Mountain ST = America/Phoenix;
Mountain ST (Mexico) = America/Mazatlan; Mountain ST = America/Denver;
Yukon ST = America/Whitehorse; Central America ST = America/Guatemala;
Central ST = America/Chicago; Easter Island ST = Pacific/Easter;
Central ST (Mexico) = America/Mexico_City; Canada Central ST = America/Regina;
SA Pacific ST = America/Bogota; Eastern ST (Mexico) = America/Cancun;
Eastern ST = America/New_York; Haiti ST = America/Port-au-Prince; Cuba ST = America/Havana;
US Eastern ST = America/Indiana/Indianapolis America/Indianapolis;
Turks And Caicos ST = America/Grand_Turk; Paraguay ST = America/Asuncion;
Atlantic ST = America/Halifax; Venezuela ST = America/Caracas;
Central Brazilian ST = America/Cuiaba; SA Western ST = America/La_Paz;
Pacific SA ST = America/Santiago; Newfoundland ST = America/St_Johns;
Tocantins ST = America/Araguaina; E. South America ST = America/Sao_Paulo;
SA Eastern ST = America/Cayenne;
Argentina ST = America/Argentina/Buenos_Aires America/Buenos_Aires;
Greenland ST = America/Nuuk America/Godthab; Montevideo ST = America/Montevideo;
Magallanes ST = America/Punta_Arenas; Saint Pierre ST = America/Miquelon; Bahia ST = America/Bahia;
UTC-02 = Etc/GMT+2; Mid-Atlantic ST = Etc/GMT+2; Azores ST = Atlantic/Azores;
Cape Verde ST = Atlantic/Cape_Verde; UTC = Etc/UTC; Coordinated Universal Time = Etc/UTC;
GMT ST = Europe/London; Greenwich ST = Atlantic/Reykjavik Africa/Abidjan;
Sao Tome ST = Africa/Sao_Tome; Morocco ST = Africa/Casablanca; W. Europe ST = Europe/Berlin;
Central Europe ST = Europe/Budapest; Romance ST = Europe/Paris;
Central European ST = Europe/Warsaw; W. Central Africa ST = Africa/Lagos; Jordan ST = Asia/Amman;
GTB ST = Europe/Bucharest; Middle East ST = Asia/Beirut; Egypt ST = Africa/Cairo;
E. Europe ST = Europe/Chisinau; Syria ST = Asia/Damascus; West Bank ST = Asia/Hebron;
South Africa ST = Africa/Johannesburg; FLE ST = Europe/Kyiv Europe/Kiev;
Israel ST = Asia/Jerusalem; South Sudan ST = Africa/Juba; Kaliningrad ST = Europe/Kaliningrad;
Sudan ST = Africa/Khartoum; Libya ST = Africa/Tripoli; Namibia ST = Africa/Windhoek;
Arabic ST = Asia/Baghdad; Turkey ST = Europe/Istanbul; Arab ST = Asia/Riyadh;
Belarus ST = Europe/Minsk; Russian ST = Europe/Moscow; E. Africa ST = Africa/Nairobi;
Iran ST = Asia/Tehran; Arabian ST = Asia/Dubai; Astrakhan ST = Europe/Astrakhan;
Azerbaijan ST = Asia/Baku; Russia Time Zone 3 = Europe/Samara; Mauritius ST = Indian/Mauritius;
Saratov ST = Europe/Saratov; Georgian ST = Asia/Tbilisi; Volgograd ST = Europe/Volgograd;
Caucasus ST = Asia/Yerevan; Afghanistan ST = Asia/Kabul; West Asia ST = Asia/Tashkent;
Ekaterinburg ST = Asia/Yekaterinburg; Pakistan ST = Asia/Karachi; Qyzylorda ST = Asia/Qyzylorda;
India ST = Asia/Kolkata Asia/Calcutta; Sri Lanka ST = Asia/Colombo;
Nepal ST = Asia/Kathmandu Asia/Katmandu; Central Asia ST = Asia/Bishkek;
Bangladesh ST = Asia/Dhaka; Omsk ST = Asia/Omsk; Myanmar ST = Asia/Yangon Asia/Rangoon;
SE Asia ST = Asia/Bangkok; Altai ST = Asia/Barnaul; W. Mongolia ST = Asia/Hovd;
North Asia ST = Asia/Krasnoyarsk; N. Central Asia ST = Asia/Novosibirsk; Tomsk ST = Asia/Tomsk;
China ST = Asia/Shanghai; North Asia East ST = Asia/Irkutsk; Singapore ST = Asia/Singapore;
W. Australia ST = Australia/Perth; Taipei ST = Asia/Taipei; Ulaanbaatar ST = Asia/Ulaanbaatar;
Aus Central W. ST = Australia/Eucla; Transbaikal ST = Asia/Chita; Tokyo ST = Asia/Tokyo;
North Korea ST = Asia/Pyongyang; Korea ST = Asia/Seoul; Yakutsk ST = Asia/Yakutsk;
Cen. Australia ST = Australia/Adelaide; AUS Central ST = Australia/Darwin;
E. Australia ST = Australia/Brisbane; AUS Eastern ST = Australia/Sydney;
West Pacific ST = Pacific/Port_Moresby; Tasmania ST = Australia/Hobart;
Vladivostok ST = Asia/Vladivostok; Lord Howe ST = Australia/Lord_Howe;
Bougainville ST = Pacific/Bougainville; Russia Time Zone 10 = Asia/Srednekolymsk;
Magadan ST = Asia/Magadan; Norfolk ST = Pacific/Norfolk; Sakhalin ST = Asia/Sakhalin;
Central Pacific ST = Pacific/Guadalcanal; Russia Time Zone 11 = Asia/Kamchatka;
Kamchatka ST = Asia/Kamchatka; New Zealand ST = Pacific/Auckland; UTC+12 = Etc/GMT-12;
Fiji ST = Pacific/Fiji; Chatham Islands ST = Pacific/Chatham; UTC+13 = Etc/GMT-13;
Tonga ST = Pacific/Tongatapu; Samoa ST = Pacific/Apia; Line Islands ST = Pacific/Kiritimati
"""
WINDOWS_ZONES: dict[str, str] = {
    name.strip().replace(" ST", " Standard Time"): zone.strip()
    for name, _, zone in (entry.partition("=") for entry in _ZONES_TEXT.split(";"))
}
_DATABASE_NAME = re.compile(r"[A-Za-z_]+(?:/[A-Za-z0-9_+-]+){0,2}\Z")


def windows_zone(name: str) -> list[str]:
    """Returns the names that databases have for a Windows zone; empty if it is unknown."""
    wanted = name.strip().lower()
    return next((zone.split() for key, zone in WINDOWS_ZONES.items() if key.lower() == wanted), [])


@lru_cache(maxsize=256)
def zone_named(name: str) -> ZoneInfo:
    """Returns a zone; case does not matter in Windows names."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    windows = windows_zone(name)
    # Some zones were renamed; databases know one of the names, or both.
    for candidate in windows or filter(_DATABASE_NAME.match, [name.strip()]):
        try:
            return ZoneInfo(candidate)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            continue
    if windows:
        raise EvaluationError(
            f"this machine has no time zone database that knows {name!r}",
            help="install the package 'tzdata'",
        )
    raise EvaluationError(
        f"the time zone id {name!r} is not valid", help=did_you_mean(name, list(WINDOWS_ZONES))
    )
