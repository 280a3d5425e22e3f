"""Moments, spans of time and time zones, as .NET counts, writes and names them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from whorl.errors import did_you_mean
from whorl.language.faults import EvaluationError
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

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
        """The ticks since midnight."""
        return self.ticks % DAY

    def plus(self, ticks: int) -> Moment:
        return Moment(checked(self.ticks + ticks), self.utc)

    def plus_months(self, months: int) -> Moment:
        """Return the same day some months later, or the last one that the month has."""
        day = self.date
        count = day.year * 12 + day.month - 1 + months
        year, month = count // 12, count % 12 + 1
        if not 1 <= year <= 9999:
            raise _beyond()
        last = 31 if month == 12 else (date(year, month + 1, 1) - date(year, month, 1)).days
        moved = date(year, month, min(day.day, last))
        return Moment((moved.toordinal() - 1) * DAY + self.time, self.utc)


def checked(ticks: int) -> int:
    """Return ticks that are a date; refuse others."""
    if 0 <= ticks < TICKS_MAX:
        return ticks
    raise _beyond()


def _beyond() -> EvaluationError:
    return EvaluationError("the result is a date outside the years 1 to 9999")


def from_epoch(seconds: float) -> Moment:
    """Return the moment so many seconds after 1970 in UTC, to the microsecond."""
    return Moment(checked(_EPOCH + round(seconds * 1_000_000) * 10), utc=True)


def in_zone(moment: Moment, zone: ZoneInfo) -> Moment:
    """Return what clocks in a zone show at a moment in UTC."""
    at = _datetime(moment).replace(tzinfo=UTC)
    try:
        offset = at.astimezone(zone).utcoffset()
    except OverflowError:
        raise _beyond() from None
    return Moment(checked(moment.ticks + _ticks(offset)), utc=False)


def from_zone(moment: Moment, zone: ZoneInfo) -> Moment:
    """Return the moment in UTC at which clocks in a zone show this."""
    offset = _datetime(moment).replace(tzinfo=zone).utcoffset()
    return Moment(checked(moment.ticks - _ticks(offset)), utc=True)


def _datetime(moment: Moment) -> datetime:
    return datetime.min + timedelta(microseconds=moment.ticks // 10)


def _ticks(offset: timedelta | None) -> int:
    assert offset is not None
    return round(offset.total_seconds()) * SECOND


_SPAN = re.compile(
    r"\s*(?P<sign>-)?(?:(?P<days>\d{1,8})(?:[.:](?=\d))?)?"
    r"(?:(?P<hours>\d{1,2}):(?P<minutes>\d{1,2})(?::(?P<seconds>\d{1,2})(?:\.(?P<part>\d{1,7}))?)?)?"
    r"\s*\Z"
)
_PIECE = re.compile(r"'(?P<quoted>[^']*)'|\\(?P<escaped>.)|(?P<letters>([dhmsfF])\4*)|(?P<other>.)")


def read_span(text: str) -> int:
    """Return the ticks of a span written as .NET does: `[-][d.]hh:mm:ss[.fffffff]`."""
    match = _SPAN.match(text) if len(text) < 100 else None
    if match is None or not text.strip(" -"):
        raise EvaluationError(f"the value {text[:60]!r} is not a valid time span")
    units = {"days": DAY, "hours": HOUR, "minutes": MINUTE, "seconds": SECOND}
    ticks = sum(int(match[name] or 0) * unit for name, unit in units.items())
    ticks += int((match["part"] or "0").ljust(7, "0"))
    return -ticks if match["sign"] else ticks


def format_span(ticks: int, form: str) -> str:
    """Write a span by `c`, `g`, `G` or a pattern such as `hh\\:mm`."""
    size = abs(ticks)
    parts = {
        "d": size // DAY,
        "h": size % DAY // HOUR,
        "m": size % HOUR // MINUTE,
        "s": size % MINUTE // SECOND,
        "f": size % SECOND,
    }
    if form not in ("", "c", "t", "T", "g", "G"):
        return "".join(_piece(parts, piece) for piece in _PIECE.finditer(form))
    # Days and fractions of a second are written only where there are some, but for `G`.
    days = str(parts["d"]) if parts["d"] or form == "G" else ""
    hours = f"{parts['h']:{'d' if form == 'g' else '02d'}}"
    fraction = f".{parts['f']:07d}" if parts["f"] or form == "G" else ""
    if form == "g":
        fraction = fraction.rstrip("0")
    mark = ":" if form in ("g", "G") else "."
    lead = f"{'-' * (ticks < 0)}{days}{mark if days else ''}"
    return f"{lead}{hours}:{parts['m']:02d}:{parts['s']:02d}{fraction}"


def _piece(parts: dict[str, int], piece: re.Match[str]) -> str:
    letters = piece["letters"]
    if letters:
        is_fraction = letters[0] in "fF"
        digits = f"{parts['f']:07d}" if is_fraction else str(parts[letters[0]])
        return digits[: len(letters)] if is_fraction else digits.zfill(len(letters))
    if piece["other"]:
        raise EvaluationError(
            f"the time span format has {piece['other']!r}; write a backslash before it"
        )
    return piece["quoted"] or piece["escaped"] or ""


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


@lru_cache(maxsize=256)
def zone_named(name: str) -> ZoneInfo:
    """Return a zone; case does not matter in Windows names."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    given = name.strip()
    windows = next((key for key in WINDOWS_ZONES if key.lower() == given.lower()), None)
    # Some zones were renamed; databases know one of the names, or both.
    names = WINDOWS_ZONES[windows] if windows else given if _DATABASE_NAME.match(given) else ""
    for candidate in names.split():
        try:
            return ZoneInfo(candidate)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            continue
    if windows is not None:
        raise EvaluationError(
            f"this machine has no time zone database that knows {windows!r}",
            help="install the package 'tzdata'",
        )
    raise EvaluationError(
        f"the time zone id {name!r} is not valid", help=did_you_mean(name, list(WINDOWS_ZONES))
    )
