import csv
import gzip
from pathlib import Path

from deid_export.data.census import Census
from deid_export.data.hand_lists import world_rows
from deid_export.data.name_lists import corpus_words, family_names, given_names, pack, rarer_names
from deid_runtime.lexicon.word_codes import FAMILY, GIVEN, load_lexicon, word_key


def _write(folder: Path, name: str, rows: list[dict[str, str]]) -> None:
    folder.mkdir(exist_ok=True)
    with gzip.open(folder / f"{name}.csv.gz", "wt", encoding="utf-8", newline="") as out:
        table = csv.DictWriter(out, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


def _data(folder: Path) -> Path:
    lists = folder / "gazetteers"
    counts = {"Zxaria": "250000", "Zxbeth": "9000", "Zxcora": "150"}
    _write(lists, "first_names_us", [{"name": name, "count": count} for name, count in counts.items()])
    _write(lists, "first_names_by_country", [{"name": "Zxdél"}, {"name": "Zx Two"}])
    _write(lists, "names_extra", [{"name": "Zxero", "kind": "given"}, {"name": "Zxfam", "kind": "family"}])
    ranks = {"ZXSMITH": ("3", ""), "Zxbrook": ("9000", "990"), "Zxrare": ("60000", ""), "Zxnone": ("", "")}
    _write(
        lists,
        "surnames_us",
        [{"name": name, "rank_1990": old, "rank_2010": new} for name, (old, new) in ranks.items()],
    )
    _write(lists, "surnames_by_country", [{"name": "O'Zx"}])
    return folder


def test_names_have_a_class_by_frequency(tmp_path: Path) -> None:
    data = _data(tmp_path)
    given, family = given_names(data, set()), family_names(data, set())

    assert [given.get(key) for key in ("zxaria", "zxbeth", "zxcora", "zxdel", "zxero")] == [3, 2, 1, 2, 1]
    assert [family.get(key) for key in ("zxsmith", "zxbrook", "zxrare", "zxnone", "ozx")] == [3, 3, 1, 1, 2]
    assert "zxtwo" not in given
    assert given["fadumo"] == 2  # from our own lists


def test_a_usual_word_is_no_name_because_it_is_in_a_list_by_hand_alone(tmp_path: Path) -> None:
    data = _data(tmp_path)
    family = family_names(data, {"zxsmith", "amenyo", "abdi"})

    assert "amenyo" in family_names(data, set())
    assert "amenyo" not in family
    assert family["zxsmith"] == 3  # in a public list too


def test_words_of_the_corpus_stand_outside_of_identifiers_in_two_batches(tmp_path: Path) -> None:
    note = '%% patient id=P given=A family=B sex=F\n%% note id={}-1 type="Note"\n{}\n'
    (tmp_path / "A.txt").write_text(note.format("A", "wound zipped; Xybrace on. <PATIENT>Zqname</PATIENT>"))
    (tmp_path / "B.txt").write_text(note.format("B", "wound closed. Xybrace off. Zqname sign."))

    words, brands = corpus_words(tmp_path)

    assert words == {"wound": 2}
    assert brands == {"xybrace"}


def test_packing_gives_the_same_bytes_whatever_the_order() -> None:
    codes = {"b": 1, "a": 1, "c": 64}

    assert pack(codes) == pack(dict(reversed(codes.items())))


def test_packaged_lists_are_large() -> None:
    assert len(load_lexicon()) > 150_000


def test_names_that_only_a_census_has_are_usual_from_five_letters_on_and_never_words() -> None:
    family = {"zxabro": (3.0, {}), "zxa": (1.0, {}), "plane": (1.0, {}), "october": (1.0, {}), "nurofen": (1.0, {})}
    given = {"zxabro": ("F", 2.0, {}), "zxe": ("M", 2.0, {}), "zxknown": ("F", 1.0, {})}
    found = list(rarer_names(Census(family=family, given=given), {"zxknown"}, {"plane"}))

    assert ("zxabro", 0, 2) in found
    assert ("zxabro", 2, 0) in found
    assert ("zxa", 0, 1) in found
    assert {"plane", "october", "zxknown"}.isdisjoint(key for key, _, _ in found)


def test_names_of_the_world_have_a_kind_and_cultures_and_are_found() -> None:
    rows = list(world_rows())
    keys = [(kind, name) for kind, name, _ in rows]

    assert len(set(keys)) == len(keys) > 20_000
    assert {kind for kind, _ in keys} == {"given", "family"}
    assert all(culture and culture.islower() for _, _, cultures in rows for culture in cultures)
    assert load_lexicon()["haukur"] & GIVEN == 2
    missing = [name for _, name in keys if not load_lexicon().get(word_key(name), 0) & (GIVEN | FAMILY)]
    assert len(missing) < len(keys) / 50  # words by now
