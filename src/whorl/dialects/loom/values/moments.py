"""Moments, spans of time and time zones, as .NET counts, writes and names them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from whorl.errors import did_you_mean
from whorl.language.faults import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable


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
        """The day."""
        return date.fromordinal(self.ticks // DAY + 1)

    @property
    def time(self) -> int:
        """The ticks since midnight."""
        return self.ticks % DAY

    def plus(self, ticks: int) -> Moment:
        """Return the moment that much later."""
        return Moment(checked(self.ticks + ticks), self.utc)

    def plus_months(self, months: int) -> Moment:
        """Return the same day some months later, or the last one that the month has."""
        if not -120_000 <= months <= 120_000:
            raise _beyond()
        day = self.date
        count = day.year * 12 + day.month - 1 + months
        year, month = count // 12, count % 12 + 1
        if not 1 <= year <= 9999:
            raise _beyond()
        last = days_in_month(year, month)
        moved = date(year, month, min(day.day, last))
        return Moment((moved.toordinal() - 1) * DAY + self.time, self.utc)


def days_in_month(year: int, month: int) -> int:
    """Return how many days a month has."""
    if month == 12:
        return 31
    return (date(year, month + 1, 1) - date(year, month, 1)).days


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


def write_span(ticks: int) -> str:
    """Write a span; days and fractions of a second only where there are some."""
    size = abs(ticks)
    days, fraction = size // DAY, size % SECOND
    clock = f"{size % DAY // HOUR:02d}:{size % HOUR // MINUTE:02d}:{size % MINUTE // SECOND:02d}"
    sign = "-" * (ticks < 0)
    return f"{sign}{f'{days}.' if days else ''}{clock}{f'.{fraction:07d}' if fraction else ''}"


def read_span(text: str) -> int:
    """Return the ticks of a span."""
    found = _SPAN.match(text) if len(text) < 100 else None
    if found is None or not text.strip(" -"):
        raise EvaluationError(f"the value {text[:60]!r} is not a valid time span")
    ticks = (
        int(found["days"] or 0) * DAY
        + int(found["hours"] or 0) * HOUR
        + int(found["minutes"] or 0) * MINUTE
        + int(found["seconds"] or 0) * SECOND
        + int((found["part"] or "0").ljust(7, "0"))
    )
    return -ticks if found["sign"] else ticks


def format_span(ticks: int, form: str) -> str:
    """Write a span by `c`, `g`, `G` or a pattern such as `hh\\:mm`."""
    if form in ("", "c", "t", "T"):
        return write_span(ticks)
    size = abs(ticks)
    if form in ("g", "G"):
        fraction = f".{size % SECOND:07d}"
        days = f"{size // DAY}:" if form == "G" or size >= DAY else ""
        hours = f"{size % DAY // HOUR:02d}" if form == "G" else str(size % DAY // HOUR)
        rest = f":{size % HOUR // MINUTE:02d}:{size % MINUTE // SECOND:02d}"
        tail = fraction if form == "G" else fraction.rstrip("0").rstrip(".")
        return f"{'-' * (ticks < 0)}{days}{hours}{rest}{tail}"
    return "".join(_piece(size, piece) for piece in _PIECE.finditer(form))


def _piece(size: int, piece: re.Match[str]) -> str:
    letters = piece["letters"]
    if letters:
        return (
            _WRITERS[letters[0]](size).zfill(len(letters))
            if letters[0] in "dhms"
            else (f"{size % SECOND:07d}"[: len(letters)])
        )
    if piece["other"]:
        raise EvaluationError(
            f"the time span format has {piece['other']!r}, which needs a backslash before it"
        )
    return piece["quoted"] or piece["escaped"] or ""


_WRITERS: dict[str, Callable[[int], str]] = {
    "d": lambda size: str(size // DAY),
    "h": lambda size: str(size % DAY // HOUR),
    "m": lambda size: str(size % HOUR // MINUTE),
    "s": lambda size: str(size % MINUTE // SECOND),
}


WINDOWS_ZONES: dict[str, str] = {
    "Dateline Standard Time": "Etc/GMT+12",
    "UTC-11": "Etc/GMT+11",
    "Aleutian Standard Time": "America/Adak",
    "Hawaiian Standard Time": "Pacific/Honolulu",
    "Marquesas Standard Time": "Pacific/Marquesas",
    "Alaskan Standard Time": "America/Anchorage",
    "UTC-09": "Etc/GMT+9",
    "Pacific Standard Time (Mexico)": "America/Tijuana",
    "UTC-08": "Etc/GMT+8",
    "Pacific Standard Time": "America/Los_Angeles",
    "US Mountain Standard Time": "America/Phoenix",
    "Mountain Standard Time (Mexico)": "America/Mazatlan",
    "Mountain Standard Time": "America/Denver",
    "Yukon Standard Time": "America/Whitehorse",
    "Central America Standard Time": "America/Guatemala",
    "Central Standard Time": "America/Chicago",
    "Easter Island Standard Time": "Pacific/Easter",
    "Central Standard Time (Mexico)": "America/Mexico_City",
    "Canada Central Standard Time": "America/Regina",
    "SA Pacific Standard Time": "America/Bogota",
    "Eastern Standard Time (Mexico)": "America/Cancun",
    "Eastern Standard Time": "America/New_York",
    "Haiti Standard Time": "America/Port-au-Prince",
    "Cuba Standard Time": "America/Havana",
    "US Eastern Standard Time": "America/Indiana/Indianapolis America/Indianapolis",
    "Turks And Caicos Standard Time": "America/Grand_Turk",
    "Paraguay Standard Time": "America/Asuncion",
    "Atlantic Standard Time": "America/Halifax",
    "Venezuela Standard Time": "America/Caracas",
    "Central Brazilian Standard Time": "America/Cuiaba",
    "SA Western Standard Time": "America/La_Paz",
    "Pacific SA Standard Time": "America/Santiago",
    "Newfoundland Standard Time": "America/St_Johns",
    "Tocantins Standard Time": "America/Araguaina",
    "E. South America Standard Time": "America/Sao_Paulo",
    "SA Eastern Standard Time": "America/Cayenne",
    "Argentina Standard Time": "America/Argentina/Buenos_Aires America/Buenos_Aires",
    "Greenland Standard Time": "America/Nuuk America/Godthab",
    "Montevideo Standard Time": "America/Montevideo",
    "Magallanes Standard Time": "America/Punta_Arenas",
    "Saint Pierre Standard Time": "America/Miquelon",
    "Bahia Standard Time": "America/Bahia",
    "UTC-02": "Etc/GMT+2",
    "Mid-Atlantic Standard Time": "Etc/GMT+2",
    "Azores Standard Time": "Atlantic/Azores",
    "Cape Verde Standard Time": "Atlantic/Cape_Verde",
    "UTC": "Etc/UTC",
    "Coordinated Universal Time": "Etc/UTC",
    "GMT Standard Time": "Europe/London",
    "Greenwich Standard Time": "Atlantic/Reykjavik Africa/Abidjan",
    "Sao Tome Standard Time": "Africa/Sao_Tome",
    "Morocco Standard Time": "Africa/Casablanca",
    "W. Europe Standard Time": "Europe/Berlin",
    "Central Europe Standard Time": "Europe/Budapest",
    "Romance Standard Time": "Europe/Paris",
    "Central European Standard Time": "Europe/Warsaw",
    "W. Central Africa Standard Time": "Africa/Lagos",
    "Jordan Standard Time": "Asia/Amman",
    "GTB Standard Time": "Europe/Bucharest",
    "Middle East Standard Time": "Asia/Beirut",
    "Egypt Standard Time": "Africa/Cairo",
    "E. Europe Standard Time": "Europe/Chisinau",
    "Syria Standard Time": "Asia/Damascus",
    "West Bank Standard Time": "Asia/Hebron",
    "South Africa Standard Time": "Africa/Johannesburg",
    "FLE Standard Time": "Europe/Kyiv Europe/Kiev",
    "Israel Standard Time": "Asia/Jerusalem",
    "South Sudan Standard Time": "Africa/Juba",
    "Kaliningrad Standard Time": "Europe/Kaliningrad",
    "Sudan Standard Time": "Africa/Khartoum",
    "Libya Standard Time": "Africa/Tripoli",
    "Namibia Standard Time": "Africa/Windhoek",
    "Arabic Standard Time": "Asia/Baghdad",
    "Turkey Standard Time": "Europe/Istanbul",
    "Arab Standard Time": "Asia/Riyadh",
    "Belarus Standard Time": "Europe/Minsk",
    "Russian Standard Time": "Europe/Moscow",
    "E. Africa Standard Time": "Africa/Nairobi",
    "Iran Standard Time": "Asia/Tehran",
    "Arabian Standard Time": "Asia/Dubai",
    "Astrakhan Standard Time": "Europe/Astrakhan",
    "Azerbaijan Standard Time": "Asia/Baku",
    "Russia Time Zone 3": "Europe/Samara",
    "Mauritius Standard Time": "Indian/Mauritius",
    "Saratov Standard Time": "Europe/Saratov",
    "Georgian Standard Time": "Asia/Tbilisi",
    "Volgograd Standard Time": "Europe/Volgograd",
    "Caucasus Standard Time": "Asia/Yerevan",
    "Afghanistan Standard Time": "Asia/Kabul",
    "West Asia Standard Time": "Asia/Tashkent",
    "Ekaterinburg Standard Time": "Asia/Yekaterinburg",
    "Pakistan Standard Time": "Asia/Karachi",
    "Qyzylorda Standard Time": "Asia/Qyzylorda",
    "India Standard Time": "Asia/Kolkata Asia/Calcutta",
    "Sri Lanka Standard Time": "Asia/Colombo",
    "Nepal Standard Time": "Asia/Kathmandu Asia/Katmandu",
    "Central Asia Standard Time": "Asia/Bishkek",
    "Bangladesh Standard Time": "Asia/Dhaka",
    "Omsk Standard Time": "Asia/Omsk",
    "Myanmar Standard Time": "Asia/Yangon Asia/Rangoon",
    "SE Asia Standard Time": "Asia/Bangkok",
    "Altai Standard Time": "Asia/Barnaul",
    "W. Mongolia Standard Time": "Asia/Hovd",
    "North Asia Standard Time": "Asia/Krasnoyarsk",
    "N. Central Asia Standard Time": "Asia/Novosibirsk",
    "Tomsk Standard Time": "Asia/Tomsk",
    "China Standard Time": "Asia/Shanghai",
    "North Asia East Standard Time": "Asia/Irkutsk",
    "Singapore Standard Time": "Asia/Singapore",
    "W. Australia Standard Time": "Australia/Perth",
    "Taipei Standard Time": "Asia/Taipei",
    "Ulaanbaatar Standard Time": "Asia/Ulaanbaatar",
    "Aus Central W. Standard Time": "Australia/Eucla",
    "Transbaikal Standard Time": "Asia/Chita",
    "Tokyo Standard Time": "Asia/Tokyo",
    "North Korea Standard Time": "Asia/Pyongyang",
    "Korea Standard Time": "Asia/Seoul",
    "Yakutsk Standard Time": "Asia/Yakutsk",
    "Cen. Australia Standard Time": "Australia/Adelaide",
    "AUS Central Standard Time": "Australia/Darwin",
    "E. Australia Standard Time": "Australia/Brisbane",
    "AUS Eastern Standard Time": "Australia/Sydney",
    "West Pacific Standard Time": "Pacific/Port_Moresby",
    "Tasmania Standard Time": "Australia/Hobart",
    "Vladivostok Standard Time": "Asia/Vladivostok",
    "Lord Howe Standard Time": "Australia/Lord_Howe",
    "Bougainville Standard Time": "Pacific/Bougainville",
    "Russia Time Zone 10": "Asia/Srednekolymsk",
    "Magadan Standard Time": "Asia/Magadan",
    "Norfolk Standard Time": "Pacific/Norfolk",
    "Sakhalin Standard Time": "Asia/Sakhalin",
    "Central Pacific Standard Time": "Pacific/Guadalcanal",
    "Russia Time Zone 11": "Asia/Kamchatka",
    "Kamchatka Standard Time": "Asia/Kamchatka",
    "New Zealand Standard Time": "Pacific/Auckland",
    "UTC+12": "Etc/GMT-12",
    "Fiji Standard Time": "Pacific/Fiji",
    "Chatham Islands Standard Time": "Pacific/Chatham",
    "UTC+13": "Etc/GMT-13",
    "Tonga Standard Time": "Pacific/Tongatapu",
    "Samoa Standard Time": "Pacific/Apia",
    "Line Islands Standard Time": "Pacific/Kiritimati",
}


_DATABASE_NAME = re.compile(r"[A-Za-z_]+(?:/[A-Za-z0-9_+-]+){0,2}\Z")


@lru_cache(maxsize=256)
def zone_named(name: str) -> ZoneInfo:
    """Return a zone; case does not matter in Windows names."""
    lowered = name.strip().lower()
    windows = next((key for key in WINDOWS_ZONES if key.lower() == lowered), None)
    if windows is not None:
        # Some zones were renamed; databases know one of the names, or both.
        candidates = WINDOWS_ZONES[windows].split()
    else:
        candidates = [name.strip()] if _DATABASE_NAME.match(name.strip()) else []
    for candidate in candidates:
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
