"""Gather names with culture, sex and frequency from all lists, for :mod:`deid_export.data.surrogate_pools`.

The first list that gives the culture of a name decides it: ``corrected_cultures.tsv`` beside this module, hand-written
lists, then Faker's, then popular names by country. ``told_sexes.tsv`` tells the sex of names where these lists do not.
Names of the census lists that no other list knows get the culture that the model of :mod:`name_cultures` finds most
likely among those that the reported race of bearers allows.
Two sources come last, so that few names are in no list: ``further_names.tsv`` beside this module, names by hand, and
all family and given names of the censuses of 2000 to 2020 that nothing else has.
"""

import csv
import gzip
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from deid_export.data import surrogate_lists
from deid_export.data.census import PER, SHARED_SEX, Census
from deid_export.data.hand_lists import corrected_rows, further_rows, hand_rows, sex_rows, world_rows
from deid_export.data.name_cultures import CultureModel
from deid_export.data.name_lists import eponyms
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.lists import read_rows
from deid_runtime.surrogates.name_pools import form_of_name

_LATIN = re.compile(r"[a-zß-ɏḀ-ỿ]{2,24}")
_MEASURED_PCT = 0.004  # the census rounds to 0.001 %: below this, the rank is more informative
_TAIL = 1.3  # how fast shares fall with the rank in the tail of the census list
_SURE_RATIO = 500  # the same for a name that another list has as a given name
_FREQUENT = 1000  # a name with this share would also be in the census list of the other kind
_LEAST_RATIO = 30  # a family name this many times as frequent as a given name is not a given name, and vice versa

#: Rough weights of cultures among names of the United States (ancestry in the American Community Survey).
PRIORS = {
    "english": 40.0, "german": 12.0, "irish": 6.0, "italian": 5.0, "polish": 4.0, "french": 4.0, "spanish": 12.0,
    "nordic": 3.0, "dutch": 2.0, "russian": 2.0, "czech": 2.0, "greek": 1.0, "indian": 2.0, "chinese": 1.5,
    "vietnamese": 1.0, "filipino": 1.0, "korean": 1.0, "arabic": 1.5, "croatian": 1.0, "hungarian": 1.0,
}  # fmt: skip
#: Lists of names of one form in ``own_names.tsv`` (O'Brien, McKay, St. Clair), which are not cultures.
_OF_FORM = frozenset({"oirish", "ditalian", "mcscots", "lefrench", "saint"})
_EUROPEAN = frozenset(
    "english irish scottish welsh german italian french polish czech russian dutch nordic greek hungarian portuguese "
    "croatian romanian baltic finnish icelandic armenian hebrew".split()
)
_NEAR_EAST = frozenset("arabic persian turkish azeri".split())
_ASIAN = frozenset(
    "chinese vietnamese korean japanese indian punjabi bengali pakistani filipino khmer hmong thai burmese nepali "
    "indonesian pacific".split()
)
_AFRICAN = frozenset({*"yoruba igbo hausa ghanaian ethiopian somali haitian zulu".split(), "east african"})
#: Cultures of few listed names, whose pools a wrong guess would spoil.
_FAR = frozenset({*_ASIAN, *_AFRICAN, *_NEAR_EAST, "native", "armenian", "hebrew", "icelandic"})
_KINDS = ("given", "family")
_LEAST_LEAD = 3.0  # nats: the best culture is 20 times as likely as the next
_LEAST_MARGIN = 4.0  # nats by which a culture must be likelier than English, for a given name of the United States
_OF_COUNTRIES = {
    "spanish": "AR BO CL CO CR CU DO EC ES GT MX PA PE PR PY SV UY VE", "english": "AU CA GB NZ US GG IM JE",
    "irish": "IE", "portuguese": "BR PT", "french": "BE FR LU MC", "german": "AT CH DE LI", "italian": "IT SM",
    "nordic": "DK FO NO", "icelandic": "IS", "finnish": "FI", "dutch": "NL", "polish": "PL", "czech": "CZ SK",
    "hungarian": "HU", "romanian": "MD RO", "greek": "CY GR", "baltic": "EE LT LV", "russian": "BG BY RU UA",
    "croatian": "BA HR ME MK RS SI", "turkish": "TR", "azeri": "AZ", "armenian": "AM", "persian": "IR",
    "arabic": "AE DZ EG IQ JO KW LB LY MA SA TN", "hebrew": "IL", "indian": "IN", "pakistani": "PK", "bengali": "BD",
    "nepali": "NP", "chinese": "CN TW", "japanese": "JP", "korean": "KR", "vietnamese": "VN", "thai": "TH",
    "filipino": "PH", "khmer": "KH", "haitian": "HT",
}  # fmt: skip
#: Cultures of ``lexicon/hand_names.tsv`` that are one culture here; the others have several, or none of ours.
_OF_HAND_LISTS = {
    "chinese": "chinese", "arabic": "arabic", "filipino": "filipino", "korean": "korean", "persian": "persian",
    "somali": "somali", "ethiopian": "ethiopian", "greek": "greek", "vietnamese": "vietnamese", "haitian": "haitian",
    "japanese": "japanese", "hispanic": "spanish", "turkish": "turkish", "hmong": "hmong", "armenian": "armenian",
    "polynesian": "pacific", "native american": "native", "hebrew yiddish": "hebrew",
    "african american": "african american", "polish": "polish", "czech": "czech", "hungarian": "hungarian",
    "romanian": "romanian", "balkan": "croatian", "russian": "russian", "baltic": "baltic", "finnish": "finnish",
    "nordic": "nordic", "dutch": "dutch", "german": "german", "french": "french", "italian": "italian",
    "portuguese": "portuguese", "english": "english", "malay": "indonesian", "tamil": "south indian",
    "telugu": "south indian", "malayali": "south indian", "bengali": "bengali", "marathi": "indian",
    "punjabi": "punjabi", "nepali": "nepali", "pakistani": "pakistani", "yoruba": "yoruba", "igbo": "igbo",
    "hausa": "hausa", "ghanaian": "ghanaian", "east african": "east african", "congolese": "central african",
}  # fmt: skip
_AMONG_OF_HAND_LISTS = {
    "albanian": {"croatian", "turkish", "italian"},
    "celtic": {"irish", "scottish", "welsh"},
    "caribbean": {"english", "haitian", "african american"},
    "southeast asian": {"vietnamese", "khmer", "thai", "burmese", "hmong"},
    "east asian": {"korean", "japanese"},
    "sinhala": {"indian", "south indian"},
    "southern african": {"zulu", "sotho", "shona"},
    "south asian": {"indian", "punjabi", "bengali", "pakistani", "nepali"},
    "slavic": {"russian", "polish", "czech", "croatian"},
    "west african": {"yoruba", "igbo", "hausa", "ghanaian"},
    "west european": {"german", "italian", "french", "dutch", "nordic", "portuguese"},
    "khmer lao thai burmese": {"khmer", "thai", "burmese"},
}
#: Lists of ``names_extra.csv.gz`` of one culture, and of one sex.
_OF_EXTRA_LISTS = {
    "norwayLastNames": "nordic", "norwayFirstNamesGirls": "nordic", "norwayFirstNamesBoys": "nordic",
    "spanishFirstNames": "spanish", "spanishLastNames": "spanish",
}  # fmt: skip
_SEX_OF_EXTRA_LISTS = {"norwayFirstNamesGirls": "F", "norwayFirstNamesBoys": "M", "neutralNames": "U"}

Row = tuple[str, str, str]  # name, culture, sex


@dataclass(frozen=True, slots=True)
class Claimed:
    """A name with its culture and sex as a given name and its culture as a family name, each empty if it is not one.

    Shares are bearers per ten million people of the United States, 0 when unknown.
    """

    name: str
    culture: str = ""
    sex: str = ""
    family_culture: str = ""
    share: float = 0.0
    family_share: float = 0.0
    is_by_hand: bool = False  # in the lists of names by culture, not only in others
    is_doubtful: bool = False  # recognised, but its culture is too uncertain to offer it
    is_of_census_alone: bool = False  # one of the names of :meth:`Claims.add_rest_of_census`


def _rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def family_shares(folder: Path) -> dict[str, tuple[str, float]]:
    """Return normal form -> (name, share) of the family names of the census."""
    found: dict[str, tuple[str, float]] = {}
    last_rank = 1.0
    for row in _rows(folder / "surnames_us.csv.gz"):
        pct, rank = float(row["pct_1990"] or 0), float(row["rank_1990"] or 0)
        if pct >= _MEASURED_PCT:
            share, last_rank = pct / 100 * PER, max(last_rank, rank)
        elif rank:
            share = _MEASURED_PCT / 100 * PER * (last_rank / rank) ** _TAIL
        else:
            share = float(row["count_2010"] or 0) / 30  # of 295 million people
        found[normal_form(row["name"])] = (row["name"], share)
    return found


def given_shares(folder: Path) -> dict[str, tuple[str, str, float]]:
    """Return normal form -> (name, sex, share) of the given names of the social security lists."""
    rows = _rows(folder / "first_names_us.csv.gz")
    total = sum(float(row["count"]) for row in rows)
    found = {}
    for row in rows:
        girls, boys = float(row["count_f"] or 0), float(row["count_m"] or 0)
        shared = min(girls, boys) >= SHARED_SEX * (girls + boys)
        sex = "U" if shared else "F" if girls > boys else "M"
        found[normal_form(row["name"])] = (row["name"], sex, float(row["count"]) / total * PER)
    return found


def _listed_rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield (kind, name, culture, sex) of the lists that give the culture; the first culture of a name counts."""
    for kind, name, culture, sex in read_rows("own_names.tsv"):
        yield kind, name, culture, sex
    for name, culture, sex in read_rows("given_names.tsv"):
        yield "given", name, "english" if culture == "english rare" else culture, sex
    for name, culture in read_rows("family_names.tsv"):
        yield "family", name, "english" if culture == "english rare" else culture, ""


class Claims:
    """Collects the names: ``given`` and ``family`` map a normal form to (name, culture, sex)."""

    def __init__(self, folder: Path, census: Census) -> None:
        """``folder`` has the public lists."""
        self._folder, self._census = folder, census
        self._doubtful: set[str] = set()
        self._of_census_alone: set[str] = set()
        self._corrected = {(kind, normal_form(name)): culture for kind, name, culture in corrected_rows()}
        self._told_sex = {normal_form(name): sex for name, sex in sex_rows()}
        self.given: dict[str, tuple[str, str, str]] = {}
        self.family: dict[str, tuple[str, str, str]] = {}
        for kind, name, culture, sex in _listed_rows():
            self._add(kind, name, culture, sex)
        self._formal = {normal_form(name) for name, *_ in read_rows("nicknames.tsv")}
        for name, sex, _ in read_rows("nicknames.tsv"):
            # Names with nicknames share pools, so that the surrogate of a name also has nicknames.
            form = normal_form(name)
            self.given[form] = (name, self.given[form][1] if form in self.given else "english", sex)
        self._models = {
            kind: CultureModel(
                (
                    (form, culture)
                    for form, (_, culture, _) in known.items()
                    if _LATIN.fullmatch(form) and culture not in _OF_FORM
                ),
                PRIORS,
            )
            for kind, known in (("given", self.given), ("family", self.family))
        }
        sexes = ((form, sex) for form, (_, _, sex) in self.given.items() if sex in ("F", "M") and form.isascii())
        self._sexes = CultureModel(sexes, {})

    def _add(self, kind: str, name: str, culture: str, sex: str) -> None:
        known, form = self.given if kind == "given" else self.family, normal_form(name)
        if kind == "given":
            sex = self._told_sex.get(form, sex)
        known.setdefault(form, (name, self._corrected.get((kind, form), culture), sex))

    def _sex(self, form: str) -> str:
        return self._sexes.likely(form) if form.isascii() else "U"

    def add_lists(self) -> None:
        """Add the hand-written lists for detection, popular names by country and all of Faker's family names."""
        for kind, name, told in hand_rows():
            among = _AMONG_OF_HAND_LISTS.get(told, ())
            culture = _OF_HAND_LISTS.get(told) or self._models[kind].likely(normal_form(name), among)
            self._add(kind, name, culture, self._sex(normal_form(name)) if kind == "given" else "")
        for kind, name, cultures in world_rows():
            form = normal_form(name)
            culture = cultures[0] if len(cultures) == 1 else self._models[kind].likely(form, set(cultures))
            self._add(kind, name, culture, self._sex(form) if kind == "given" else "")
        country = {code: culture for culture, codes in _OF_COUNTRIES.items() for code in codes.split()}
        for kind, file in (("given", "first_names_by_country"), ("family", "surnames_by_country")):
            for row in _rows(self._folder / f"{file}.csv.gz"):
                form = normal_form(row["name"])
                if row["country"] in country and _LATIN.fullmatch(form) and " " not in row["name"].strip():
                    sex = row.get("gender") or "U"
                    self._add(kind, row["name"].strip(), country[row["country"]], sex if sex in ("F", "M") else "U")
        for name, culture in surrogate_lists.all_family_names().items():
            if _LATIN.fullmatch(normal_form(name)):
                self._add("family", name, "english" if culture == "english rare" else culture, "")
        for name, (culture, sex) in surrogate_lists.all_given_names().items():
            if _LATIN.fullmatch(normal_form(name)):
                self._add("given", name, "english" if culture == "english rare" else culture, sex)

    def add_further(self) -> None:
        """Add names that no list so far has: short lists, those by hand for surrogates alone, and eponyms."""
        known = self.given.keys() | self.family.keys()
        for row in _rows(self._folder / "names_extra.csv.gz"):
            form = normal_form(row["name"])
            if row["kind"] in ("given", "family") and form not in known and _LATIN.fullmatch(form):
                culture = _OF_EXTRA_LISTS.get(row["list"]) or self._models[row["kind"]].likely(form)
                sex = _SEX_OF_EXTRA_LISTS.get(row["list"]) or self._sex(form)
                self._add(row["kind"], row["name"].strip(), culture, sex if row["kind"] == "given" else "")
        for kind, name, culture, sex in further_rows():
            if normal_form(name) not in known:
                self._add(kind, name, culture, sex)
        for word in eponyms(self._folder.parent):  # Dr. Karnofsky: recognised, never offered
            form = normal_form(word)
            if form not in self.given and form not in self.family and _LATIN.fullmatch(form):
                self._add("family", word.capitalize(), self._models["family"].likely(form), "")
                self._doubtful.add(form)

    def _family_culture(self, form: str) -> str:
        model, race = self._models["family"], self._census.races(form)
        if race.get("hispanic", 0) >= 0.5:
            return model.likely(form, {"spanish", "portuguese"} if race.get("black", 0) < 0.1 else {"spanish"})
        if race.get("api", 0) >= 0.5:
            return model.likely(form, _ASIAN)
        if race.get("native", 0) >= 0.5:
            return "native"
        if race.get("black", 0) >= 0.5:
            return model.likely(form, _AFRICAN) if model.margin(form, _AFRICAN, _EUROPEAN) > 3 else "english"
        if race.get("white", 0) >= 0.6:
            return model.likely(form, _EUROPEAN | _NEAR_EAST)
        return model.likely(form)

    def add_census(self) -> None:
        """Add the family names of the census and the given names of the social security lists."""
        for form, (name, _) in family_shares(self._folder).items():
            if form not in self.family and _LATIN.fullmatch(form):
                culture = self._family_culture(form)
                is_sure = form in self._census.family and self._models["family"].lead(form) >= _LEAST_LEAD
                if culture in _FAR and not is_sure:
                    self._doubtful.add(form)
                self._add("family", name, culture, "")
        race_of = {
            normal_form(row["name"]): {
                race: float(row[f"p_{race}"] or 0) for race in ("white", "black", "api", "hispanic")
            }
            for row in _rows(self._folder / "first_names_us.csv.gz")
        }
        for form, (name, sex, _) in given_shares(self._folder).items():
            if form in self.given or not _LATIN.fullmatch(form):
                continue
            # These lists give races for the commonest names alone, and those of white or black bearers are English.
            is_common = bool(race_of[form]["white"] or race_of[form]["black"])
            self._add_given_of_census(form, name, sex, race_of[form], is_common=is_common)

    def _add_given_of_census(
        self, form: str, name: str, sex: str, race: Mapping[str, float], *, is_common: bool = False
    ) -> None:
        model = self._models["given"]
        if race["hispanic"] >= 0.5:
            culture = "spanish"
        elif race["api"] >= 0.5:
            culture = model.likely(form, _ASIAN)
        elif is_common:
            culture = "english"
        else:
            # In a list of the United States, a name is English unless its letters say clearly which other culture:
            # else Jshaun and Moishe stand for Pádraig.
            found = model.likely(form)
            is_clear = model.margin(form, {found}, {"english"}) > _LEAST_MARGIN and model.lead(form) >= _LEAST_LEAD
            culture = found if is_clear else "english"
        if culture in _FAR and model.lead(form) < _LEAST_LEAD:
            self._doubtful.add(form)
        self._add("given", name, culture, sex)

    def add_rest_of_census(self) -> None:
        """Add the names of the censuses of 2000 to 2020 that no list so far has, each with at least 100 bearers."""
        known = self.given.keys() | self.family.keys()
        self._of_census_alone = {*self._census.family, *self._census.given} - known
        for form in self._census.family:
            if form not in known and _LATIN.fullmatch(form):
                culture = self._family_culture(form)
                if culture in _FAR and self._models["family"].lead(form) < _LEAST_LEAD:
                    self._doubtful.add(form)
                name = f"Mc{form[2:].capitalize()}" if form.startswith("mc") else form.capitalize()
                self._add("family", name, culture, "")
        for form, (sex, _, race) in self._census.given.items():
            if form not in known and _LATIN.fullmatch(form):
                self._add_given_of_census(form, form.capitalize(), sex, race)

    def _likely_claims(
        self, form: str, given: Row, family: Row, shares: tuple[float, float], sure: tuple[set[str], set[str]]
    ) -> tuple[Row | None, Row | None]:
        """Return both claims of a name, or one of them if the other is far less likely.

        ``sure`` are the given and the family names of the lists by culture. A share of 0 is unknown: the public lists
        have only a part of the names.
        """
        ratio = shares[1] / shares[0] if all(shares) else 1.0
        is_sure_given = form in sure[0]
        if form not in self._formal:
            is_form = not is_sure_given and family[1] in _OF_FORM
            is_family_alone = not is_sure_given and shares[1] > _FREQUENT and not shares[0]
            if is_form or is_family_alone or ratio > (_SURE_RATIO if is_sure_given else _LEAST_RATIO):
                return None, family
        if form not in sure[1] and (ratio < 1 / _LEAST_RATIO or shares[0] > _FREQUENT > shares[1]):
            return given, None
        return given, family

    def claimed(self) -> dict[str, Claimed]:
        """Return normal form -> name with all claims. A far less likely kind that only a census list has is omitted.

        Smith is not a given name although some people have it, and Maria is not a family name.
        """
        sure_given, sure_family = set(self.given), set(self.family)
        by_hand = {kind: {normal_form(name) for each, name, _ in hand_rows() if each == kind} for kind in _KINDS}
        self.add_lists()
        self.add_census()
        self.add_further()
        self.add_rest_of_census()
        of_given, of_family = given_shares(self._folder), family_shares(self._folder)
        found = {}
        for form in (*self.given, *(form for form in self.family if form not in self.given)):
            given, family = self.given.get(form), self.family.get(form)
            shares = (
                of_given[form][2] if form in of_given else self._census.given_share(form),
                of_family[form][1] if form in of_family else self._census.family_share(form),
            )
            if given and family and form in by_hand["given"] - by_hand["family"] - sure_family:
                family = (family[0], given[1], "")  # the census lists tell no culture: Mele is a Tongan name
            if given and family:
                given, family = self._likely_claims(form, given, family, shares, (sure_given, sure_family))
            spellings = [each[0] for each in (given, family) if each]
            # Dangelo is D'Angelo without its apostrophe: prefer the spelling that has a form to keep.
            name = next((spelling for spelling in spellings if form_of_name(spelling)), spellings[0])
            one = Claimed(name, share=shares[0] if given else 0.0, family_share=shares[1] if family else 0.0)
            if given:
                one = replace(one, culture=given[1], sex=given[2])
            found[form] = replace(
                one,
                family_culture=family[1] if family else "",
                is_doubtful=form in self._doubtful,
                is_by_hand=form in sure_given or form in sure_family,
                is_of_census_alone=form in self._of_census_alone,
            )
        return found
