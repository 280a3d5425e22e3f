"""Cultures: how languages and countries write numbers and dates, as .NET has it."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice

from whorl.errors import did_you_mean
from whorl.language.faults import EvaluationError
from whorl.lazily import dataclass


@dataclass(frozen=True, slots=True)
class Culture:
    """The marks of numbers, the names of days and months, and the usual forms of dates."""

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
    """Return the culture of a locale such as `de-DE`; the empty one belongs to no country."""
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
