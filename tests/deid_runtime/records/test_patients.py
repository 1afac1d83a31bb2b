import datetime
import gzip
import re
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from deid_runtime.errors import SettingsError
from deid_runtime.records.fields import RECORD_FIELDS
from deid_runtime.records.patients import checked_records, read_patients
from deid_runtime.spans import PatientRecord


def write(path: Path, data: str) -> Path:
    path.write_bytes(data.encode("utf-8"))
    return path


def fields_of(path: Path) -> dict[str, dict[str, str]]:
    return {patient: dict(record.fields) for patient, record in read_patients(path).items()}


EXPECTED = {
    "7": {"given": "Ayodele", "family": "Brandt-Ruiz", "dob": "1951-02-03", "mrn": "00123"},
    "8": {"given": "Jo", "dob": "1960-12-31"},
}


def test_jsonl_csv_and_parquet_say_the_same(tmp_path: Path) -> None:
    lines = (
        '{"id": 7, "First Name": "Ayodele", "last_name": " Brandt-Ruiz", "DOB": "1951-02-03", "mrn": "00123"'
        ', "_x": {}}\n'
        '\n{"id": "8", "given": "Jo", "family": null, "dob": "1960-12-31"}\n'
    )
    packed = tmp_path / "p.jsonl.gz"
    packed.write_bytes(gzip.compress(lines.encode()))
    table = pyarrow.table(
        {
            "id": [7, 8],
            "first-name": ["Ayodele", "Jo"],
            "surname": ["Brandt-Ruiz", None],
            "birth_date": [datetime.date(1951, 2, 3), datetime.date(1960, 12, 31)],
            "mrn": ["00123", ""],
        }
    )
    parquet.write_table(table, tmp_path / "p.parquet")
    csv = "\ufeffid,given,family,dob,mrn,_note\r\n7,Ayodele,Brandt-Ruiz,1951-02-03,00123,x\r\n8,Jo,,1960-12-31,,\r\n"

    assert fields_of(write(tmp_path / "p.jsonl", lines)) == EXPECTED
    assert fields_of(packed) == EXPECTED
    assert fields_of(tmp_path / "p.parquet") == EXPECTED
    assert fields_of(write(tmp_path / "p.csv", csv)) == EXPECTED


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        pytest.param(
            "p.csv",
            "id,given,shoe_size\n",
            r"p\.csv:1: the name of column 3 is unknown; .*Known names: id, given",
            id="unknown",
        ),
        pytest.param("p.csv", "given,family\nA,B\n", r"p\.csv:1: no column 'id'", id="no-id"),
        pytest.param("p.csv", "id,given,first\n1,A,B\n", "two columns have 'given'", id="twice"),
        pytest.param("p.csv", "id,given\n1,A\n1,B\n", r"p\.csv:3: this patient id occurs twice", id="same-patient"),
        pytest.param("p.csv", "id,given\n,A\n", r"p\.csv:2: column 'id' is empty", id="empty-id"),
        pytest.param("p.csv", "id,given\n1\n", r"p\.csv:2: 1 fields; the header has 2", id="ragged"),
        pytest.param("p.csv", 'id,given\n1,"A\n', "patient records: .*broken CSV", id="open-quote"),
        pytest.param("p.jsonl", '{"id": "1"}\n{"id": \n', r"p\.jsonl:2: the line is not valid JSON", id="json"),
        pytest.param("p.jsonl", '{"id": "1", "mrn": "1", "mrn": "2"}\n', r"p\.jsonl:1: .* has a key twice", id="keys"),
        pytest.param("p.jsonl", '{"id": "1", "mrn": 1.5}\n', r"p\.jsonl:1: column 'mrn' is float", id="float"),
        pytest.param("p.jsonl", '{"id": "1", "phone": ["1"]}\n', "is list; expected a string, with", id="list"),
        pytest.param("p.csv", "id,given\n1," + "x" * 2_001 + "\n", "has 2001 characters; the limit is 2000", id="long"),
        pytest.param("p.csv", "id,dob\n1,1931-02-08|1931-02-09\n", "has no complete date", id="two-dobs"),
        pytest.param("p.jsonl", '{"id": "1", "given": "\\ud800"}\n', "not valid UTF-8", id="surrogate"),
        pytest.param("p.parquet", "id,given\n", "not a Parquet file", id="not-parquet"),
        pytest.param("p.xlsx", "", "are read only from .jsonl", id="suffix"),
    ],
)
def test_whatever_is_wrong_is_an_error_with_its_line(tmp_path: Path, name: str, data: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        read_patients(write(tmp_path / name, data))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["id", "given", "given"], "two columns have 'given'"),
        (["id", "given", "shoe_size"], "the name of column 3 is unknown"),
        (["given", "family", "mrn"], "no column 'id'"),
    ],
)
@pytest.mark.parametrize("rows", [0, 1])
def test_the_columns_of_a_parquet_file_are_checked_also_without_rows(
    tmp_path: Path, names: list[str], message: str, rows: int
) -> None:
    columns = [pyarrow.array(["a"] * rows, pyarrow.string())] * len(names)
    parquet.write_table(pyarrow.table(columns, names), tmp_path / "p.parquet")

    with pytest.raises(SettingsError, match=rf"p\.parquet: .*{message}|{message}"):
        read_patients(tmp_path / "p.parquet")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        read_patients(tmp_path / "gone.csv")


def test_errors_and_reprs_quote_no_values(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", '{"id": "1", "given": "Ayodele"}\n')

    assert "Ayodele" not in repr(read_patients(path))


def test_every_name_stands_for_one_field() -> None:
    names = [name for field in RECORD_FIELDS for name in (field.name, *field.aliases)]

    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names)


@pytest.mark.parametrize("dob", ["02/08/31", "1937", "unknown"])
def test_a_date_of_birth_that_cannot_be_looked_for_is_an_error_without_it(tmp_path: Path, dob: str) -> None:
    with pytest.raises(SettingsError, match=r"p\.csv:2: column 'dob' has no complete date") as raised:
        read_patients(write(tmp_path / "p.csv", f"id,dob\n7,{dob}\n"))

    assert dob not in str(raised.value)


def test_a_table_without_a_header_is_an_error_without_its_values(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="Check that there is a header") as raised:
        read_patients(write(tmp_path / "p.csv", "8841207,Quist\n"))

    assert "8841207" not in str(raised.value)
    assert "Quist" not in str(raised.value)


def test_records_made_in_python_may_use_the_names_that_tables_do() -> None:
    [record] = checked_records({"7": PatientRecord("7", {"Last Name": "Quist", "date_of_birth": "2/8/1931"})}).values()

    assert dict(record.fields) == {"family": "Quist", "dob": "2/8/1931"}


@pytest.mark.parametrize(
    ("key", "fields", "message"),
    [
        ("7", {"shoe_size": "9"}, "name of column 1 is unknown"),
        ("7", {"given": "Ann", "dob": "long ago"}, "no complete date"),
        ("7", {"family": "Quist", "surname": "Orr"}, "two columns have 'family'"),
        ("8", {"family": "Quist"}, "it belongs to patient 7"),
    ],
)
def test_a_wrong_record_made_in_python_is_an_error(key: str, fields: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        checked_records({key: PatientRecord("7", fields)})
