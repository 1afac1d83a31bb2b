"""Cases that name people, of many cultures and in every case, and clinical text that names none."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_runtime.detectors.people import find_people


def people(text: str) -> list[str]:
    [found] = find_people([text])
    return [text[span.start : span.end] for span in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Full names in plain sentences
        ("Rosalind Okafor tolerated the procedure well.", "Rosalind Okafor"),
        ("We will see Gwendolyn Thackeray again in six weeks.", "Gwendolyn Thackeray"),
        ("Blood was drawn from Tanisha Gaines before the dose.", "Tanisha Gaines"),
        ("It was explained to Eusebio Villarreal that he needs a scan.", "Eusebio Villarreal"),
        ("Overnight Selamawit Tekle pulled out the line.", "Selamawit Tekle"),
        ("Next is Hodan Warsame, who missed two visits.", "Hodan Warsame"),
        ("Because Behrouz Rahimi could not swallow, a tube was placed.", "Behrouz Rahimi"),
        ("The chart of Gurpreet Dhaliwal was reviewed.", "Gurpreet Dhaliwal"),
        ("The incision on Luzviminda Macaraeg was dressed.", "Luzviminda Macaraeg"),
        ("Neither Kwabena Boateng nor the family remembers.", "Kwabena Boateng"),
        ("Sione Taufa's potassium was 5.9.", "Sione Taufa"),
        ("We talked at length; Wilbert Tsosie wants to go home.", "Wilbert Tsosie"),
        ("Records for Oksana Hrytsenko were requested.", "Oksana Hrytsenko"),
        ("Dose held until Stavros Papadopoulos is seen by renal.", "Stavros Papadopoulos"),
        ("The swelling that Tigran Petrosyan noticed is gone.", "Tigran Petrosyan"),
        ("Labs on Ildiko Szabo came back normal.", "Ildiko Szabo"),
        ("Today Ji-won Pak reports less pain.", "Ji-won Pak"),
        ("Kyung-ae Lim developed a fever.", "Kyung-ae Lim"),
        ("I saw Chue Xiong in clinic.", "Chue Xiong"),
        ("Nguyen Thi Hanh was found on the floor.", "Nguyen Thi Hanh"),
        ("The family of Thuy Pham was called.", "Thuy Pham"),
        ("Zhang Wei has no known allergies.", "Zhang Wei"),
        ("The swelling that Mei-Fen Hsu noticed is gone.", "Mei-Fen Hsu"),
        ("Juan de la Cruz is a 57-year-old with diabetes.", "Juan de la Cruz"),
        ("Karen P. Lewison was seen today.", "Karen P. Lewison"),
        ("Mary Ann O'Sullivan was seen today.", "Mary Ann O'Sullivan"),
        ("Seen today: José Luis Quintanilla García, accompanied.", "José Luis Quintanilla García"),
        ("Ahmed bin Rashid elected surgery.", "Ahmed bin Rashid"),
        ("Robert Hall was seen in clinic.", "Robert Hall"),
        ("Maria Young denies chest pain.", "Maria Young"),
        # A name in no list next to a listed one
        ("Rosalind Xybrowski was seen again.", "Rosalind Xybrowski"),
        ("Scan of Qorvella Johnson-Garcia unchanged.", "Qorvella Johnson-Garcia"),
        # A name in no list that does, suffers or owns what only a person can
        ("Achterberg was called about the scan.", "Achterberg"),
        ("Achterberg's creatinine rose to 2.1.", "Achterberg"),
        ("Yesterday Zdzieblowski fell in the bathroom.", "Zdzieblowski"),
        ("Xhaferaj's wife is at bedside.", "Xhaferaj"),
        # A given name that is also a word, at the start of a sentence, with a verb of people alone
        ("Bill paid for the cream.", "Bill"),
        ("It rained all week; Jack swims daily now.", "Jack"),
        ("Will says the cuff is too tight.", "Will"),
        ("Grace found him on the landing.", "Grace"),
        ("Frank visits twice a week.", "Frank"),
        # Two ordinary words as the subject of a verb for people
        ("Daisy Rivers denies chest pain.", "Daisy Rivers"),
        # In any case
        ("maria lopez tolerated the procedure well.", "maria lopez"),
        ("we will see kwabena boateng again in six weeks.", "kwabena boateng"),
        ("the chart of oksana shevchenko was reviewed.", "oksana shevchenko"),
        ("labs on hodan warsame came back normal.", "hodan warsame"),
        ("the family of thuy pham was called.", "thuy pham"),
        ("overnight nguyen thi hanh developed a fever.", "nguyen thi hanh"),
        ("we will see seong min cho again.", "seong min cho"),
        ("THE CHART OF OKSANA SHEVCHENKO WAS REVIEWED.", "OKSANA SHEVCHENKO"),
        ("LABS ON ROSALIND OKAFOR CAME BACK NORMAL.", "ROSALIND OKAFOR"),
        ("WE WILL SEE GURPREET DHALIWAL AGAIN.", "GURPREET DHALIWAL"),
        # Across the end of a full line
        ("He will be followed in clinic next Monday by Rosalind\nOkafor with repeat films.", "Rosalind\nOkafor"),
        # Family, Given
        ("Okafor, Rosalind denies pain.", "Okafor, Rosalind"),
        ("LOPEZ, MARIA   DOB 1/2/1950", "LOPEZ, MARIA"),
        ("Patient: Nguyen, Van Anh", "Nguyen, Van Anh"),
        ("Pt: Brown, Maria J", "Brown, Maria J"),
        ("name: lopez, maria", "lopez, maria"),
        # Titles
        ("discussed with Dr. Kaczander today", "Kaczander"),
        ("follow up with dr patel next week", "patel"),
        ("follow up with dr. brown next week", "brown"),
        ("Seen by Dr. J. K. Rowstone.", "J. K. Rowstone"),
        ("Mrs. Braithwaite called.", "Braithwaite"),
        ("MR. HAWKINS IS STABLE.", "HAWKINS"),
        ("ms. connor is a 50-year-old", "connor"),
        ("Nurse Adebayo gave the dose.", "Adebayo"),
        ("Sra. Villaseñor habla español.", "Villaseñor"),
        # Kin and care
        ("lives with her sister Xochitl in town", "Xochitl"),
        ("her sister xochitl called back", "xochitl"),
        ("His wife, Farideh, is at bedside.", "Farideh"),
        ("daughter Grace at bedside", "Grace"),
        ("roommate Tyrone called EMS", "Tyrone"),
        ("his brother mahmoud drove him", "mahmoud"),
        ("SON KWAME AT BEDSIDE", "KWAME"),
        ("son-in-law Anatoly helps", "Anatoly"),
        ("a friend named Kim", "Kim"),
        ("the aunt, whose name is Carmen", "Carmen"),
        ("daughter (Ngozi) translates", "Ngozi"),
        # Labels
        ("Patient: Zbigniew Wójcik", "Zbigniew Wójcik"),
        ("Patient: Doctor Shamvi, please look.", "Shamvi"),
        ("Pt: Xylorana Qwestfield", "Xylorana Qwestfield"),
        ("PATIENT: ABDULLAHI WARSAME", "ABDULLAHI WARSAME"),
        ("pt: oluwaseun adeyemi", "oluwaseun adeyemi"),
        ("Attending: Lindqvist", "Lindqvist"),
        ("Surgeon: Ralph Menard", "Ralph Menard"),
        ("cc: Thorvaldsen", "Thorvaldsen"),
        ("Emergency contact: Tevita Vainikolo", "Tevita Vainikolo"),
        # Credentials
        ("Rhonda Ackerman, PhD did the testing.", "Rhonda Ackerman"),
        ("report given to Winifred, RN at noon", "Winifred"),
        ("j. chen, md", "chen"),
        ("Xandrisha, RN", "Xandrisha"),
        ("Signed: Lindqvist, M.D.", "Lindqvist"),
        ("PRIYA NAIR, NP", "PRIYA NAIR"),
        # Acts, greetings, closings
        ("Electronically signed by Hovsepian on Monday", "Hovsepian"),
        ("Dictated by Rebecca Richardson", "Rebecca Richardson"),
        ("I spoke with Carlos about the plan.", "Carlos"),
        ("plan d/w Okonkwo", "Okonkwo"),
        ("paged Venkataraman at 0300", "Venkataraman"),
        ("spoke with fatima at length", "fatima"),
        ("Dear Despina,", "Despina"),
        ("Sincerely,\n\nHovhannes Sarkissian", "Hovhannes Sarkissian"),
        ("Reviewed with the attending Halvorsen.", "Halvorsen"),
        # A given name alone
        ("Connie will weigh the patient on Friday.", "Connie"),
        ("She stated that Angelica was going home.", "Angelica"),
        ("Natalie was placed under general anesthesia.", "Natalie"),
        ("Today Fatima reports less pain.", "Fatima"),
        ("Thuy's drain was removed.", "Thuy"),
        ("Gregory denies fever.", "Gregory"),
        ("Harold, a retired welder, is short of breath.", "Harold"),
        ("I examined Svetlana at bedside.", "Svetlana"),
        ("natalie denies chest pain.", "natalie"),
        ("The team asked why Theresa cannot sleep.", "Theresa"),
        # A family name, or a town of that name, that ends its phrase
        ("He drafted plans for a firm in Stanfield, and then retired.", "Stanfield"),
        ("It was discussed at length with Strickland.", "Strickland"),
    ],
)
def test_people(text: str, expected: str) -> None:
    assert people(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "Will follow up with cardiology in 2 weeks.",
        "May Grunwald Giemsa stain was negative.",
        "Foley catheter in place, draining clear urine.",
        "Page Dr on call for fever.",
        "Page Dr. with any temperature over 101.",
        "Bell palsy on the left, resolved.",
        "Bell's palsy resolved.",
        "Grant application is pending.",
        "Allegra 180 mg daily.",
        "Allegra was stopped.",
        "Dose per Kg of body weight.",
        "Sun Downing in the evening.",
        "Black Box warning discussed.",
        "Ashkenazi Jewish ancestry.",
        "Glasgow Coma Scale 15.",
        "New York Heart Association class III.",
        "Down syndrome, stable.",
        "Foster Kennedy syndrome was considered.",
        "An Austin Flint murmur was heard.",
        "She takes St John's wort.",
        "A Jackson Pratt drain was placed.",
        "Jackson-Pratt to bulb suction.",
        "Marcus Gunn pupil on the left.",
        "A Judkins left catheter was advanced.",
        "The Mayfield head holder was used.",
        "A Homer Wright rosette was seen.",
        "Cornelia de Lange syndrome.",
        "Robert Jones bandage applied.",
        "Stevens Johnson syndrome in 2004.",
        "Kirby Bauer testing was done.",
        "Passy Muir valve trial.",
        "Hans Christian Andersen Hospital called.",
        "He was seen at Mary Washington Hospital.",
        "She lives on Martin Luther King Boulevard.",
        "Kaiser Permanente declined.",
        "Parkinson disease since 2010.",
        "Crohn's disease flare.",
        "Graves disease, Hashimoto thyroiditis.",
        "Babinski was negative, Hoffman was positive.",
        "Murphy's sign negative.",
        "Apgar was 8 and 9.",
        "Kerlix and Coban were applied.",
        "In April 2004 and June of 2008 he was well.",
        "On January 17 she returned; follow up in August.",
        "Seen on Monday and Tuesday.",
        "She said, December, November, September.",
        "Patient Denies pain. Patient Reports nausea.",
        "Patient: Tolerated procedure well.",
        "PATIENT: STABLE. ATTENDING PHYSICIAN NOTIFIED.",
        "Attending Physician, MD",
        "Case Manager, RN",
        "Primary Nurse, RN, at bedside.",
        "He saw the eye doctor. She has noticed improvement.",
        "MR TRACE, AR MILD, TR 2.4 M/S.",
        "An MR myelogram was done. MR angiogram normal.",
        "MS changes on MRI.",
        "mother denies fever. father states he is well. wife reports snoring.",
        "Mark found on left thigh. Stone passed overnight. Penny swallowed by toddler. Chip found in enamel.",
        "Baby slept well. Man says he saw it. Will ask renal. Daily smokes 10. Olive oil helps him. Can eat solids.",
        "mother statess he is ok. sister deneis seizures.",
        "discussed with patient. reviewed with family. seen by ortho.",
        "Wound covered with Xeroform. Treated with Keflex, then by Lasix.",
        "followed by Mastisol and Steri-Strips.",
        "spoke with pharmacy. per protocol. by mouth. with meals.",
        "Dear Doctor:",
        "Sincerely,\n\nDepartment of Surgery",
        "rose in potassium; mark the site; grant leave; chase labs; drew blood.",
        "pt will bill insurance; art line in place; ray of hope.",
        "the brown hill was long and the young bush was green",
        "WILL FOLLOW. MARK LESIONS. GRANT LEAVE.",
        "VITAL SIGNS STABLE. ABDOMEN SOFT. NO RALES.",
        "Heart: RRR. Lungs: clear. Neck: supple.",
        "Grace Hospital and Mercy Medical Center.",
        "Rose Bengal staining was seen.",
        "He drank a bottle of Jim Beam.",
        "San Juan and Santa Fe; Puerto Rico; Sierra Leone.",
        "Paris, Texas",
        "Bair Hugger on, Yankauer at bedside.",
        "Moya Moya was suggested.",
        "d/w NOK, seen by TVN, reviewed by SHO",
        "hemovac drain was pulled by surgery",
        "transferred to st. luke's hospital by ambulance",
        "Cipro, Flagyl, Zosyn; Advair, Singulair.",
        "",
        "J. K. L.",
        "Cycle length 600 ms. RA-ERP was 250 ms. Hill was seen.",
        "Doctor: How're you feeling? Patient: We've been well.",
        "Patient: July was bad.",
        "de la de la van der",
        "A curved Glover was placed around the bronchus.",
        "The nodule was dissected with Richards essential shavers.",
    ],
)
def test_no_people(text: str) -> None:
    assert people(text) == []


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Rosalind Okafor was seen.", "PATIENT"),
        ("her sister Xochitl", "PATIENT"),
        ("seen by Dr. Okafor", "DOCTOR"),
        ("Rosalind Okafor, MD", "DOCTOR"),
        ("Okafor, Rosalind, MD", "DOCTOR"),
        ("Attending: Okafor", "DOCTOR"),
        ("Patient: Okafor", "PATIENT"),
        ("cardiologist Rosalind Okafor", "DOCTOR"),
        ("Mr. Okafor", "PATIENT"),
        ("seen at Kaiser San Rafael", "HOSPITAL"),
        ("seen at home by Rosalind Okafor", "PATIENT"),
    ],
)
def test_labels(text: str, label: str) -> None:
    [found] = find_people([text])

    assert [span.label for span in found] == [label]


def test_sources_say_how_sure_a_rule_is() -> None:
    [sure], [unsure], [alone] = find_people(
        ["Rosalind Okafor was seen.", "The plan is fine with Charlotte.", "the plan is fine with quist today"]
    )

    assert (sure.score >= 0.7, sure.sources) == (True, ("rule:people",))
    assert (unsure.score < 0.7, unsure.sources) == (True, ("rule:people:weak",))
    assert (alone.score >= 0.7, alone.sources) == (True, ("rule:people:alone",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Her children are Zbygniew, Rosalind and Kyle.", ["Zbygniew", "Rosalind", "Kyle"]),
        ("Oyelaran and Rosalind visited.", ["Oyelaran", "Rosalind"]),
        ("They see Rosalind, and Zbygniew.", ["Rosalind", "Zbygniew"]),
        ("Crohn, Graves and Addison disease.", []),
        ("Given Allegra, Claritin and Zyrtec.", []),
        ("Rosalind, Ativan given.", []),
    ],
)
def test_an_unlisted_word_beside_a_given_name_in_a_list_is_a_person(text: str, expected: list[str]) -> None:
    found = people(text)

    assert [name for name in expected if name not in found] == []
    assert not {"Crohn", "Graves", "Addison", "Allegra", "Claritin", "Zyrtec", "Ativan"}.intersection(found)


@pytest.mark.parametrize("text", ["Why is David so tired?", "Why is Jordan so tired?"])
def test_a_common_given_name_is_no_town_of_that_name(text: str) -> None:
    [[found]] = find_people([text])

    assert found.sources == ("rule:people:alone",)


_PIECES = st.sampled_from(
    "Maria maria MARIA Lopez lopez LOPEZ Brown will de la J. Dr. dr MD , RN sister Xochitl : \n Nguyen Min-jun 's "
    "O'Brien - 12 é with signed by was denies".split(" ")
)


@given(st.lists(st.one_of(_PIECES, st.text(max_size=4)), max_size=25).map(" ".join), st.text(max_size=60))
def test_spans_are_disjoint_words_and_rows_do_not_depend_on_each_other(text: str, other: str) -> None:
    [found, _] = find_people([text, other])

    assert found == find_people([text])[0]
    assert found == sorted(found)
    assert all(left.end <= right.start for left, right in pairwise(found))
    assert all(text[span.start].isalpha() and text[span.end - 1].isalpha() for span in found)


@pytest.mark.parametrize(
    "piece",
    [
        "A",
        "a. ",
        "Maria ",
        "a'",
        "de la ",
        "Maria\n",
        "J. ",
        "Xyzq-",
        "Maria, ",
        "MARIA, MD ",
        "xochitl ",
        "her sister qzx",
        "Dr. ",
    ],
)
def test_time_is_linear(piece: str) -> None:
    find_people([piece * (100_000 // len(piece))])


@pytest.mark.parametrize(
    "text",
    [
        "Keflexin was started.",
        "Leukeran was called in to the pharmacy.",
        "Duodenitis was seen and biopsied.",
        "Zyntavo's side effects were explained.",
        "Vostrikov's sign was positive.",
        "Tavneos was brought by the pharmacy.",
    ],
)
def test_an_unlisted_brand_or_eponym_is_no_person(text: str) -> None:
    assert people(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Catheter care given, george complaining of bladder spasm.", "george"),
        ("Fluid balance positive 1.8 L, hannelore to be weighed daily.", "hannelore"),
        ("Pressure area care with gosia, heels clear.", "gosia"),
        ("Overnight kowalczyk pulled the tube out twice.", "kowalczyk"),
        ("SIDE ROOM, LOUISE INFECTION CONTROL AWARE", "LOUISE"),
        ("LEVEL BEFORE THE DOSE PLEASE, PHAM", "PHAM"),
        ("Oluwaseun weighed and measured.", "Oluwaseun"),
    ],
)
def test_a_usual_name_that_is_no_word_needs_no_evidence(text: str, expected: str) -> None:
    assert people(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "The linea alba was identified.",  # a word of anatomy
        "Says mama and dada.",
        "Do not remove the kara.",
        "Bed to chair with sara stedy.",  # a product
        "Ordered LISA and SARA scores for him.",  # acronyms among words in lower case
        "Lauren diffuse type, CPS 10.",  # an eponym before one of its words
        "Wagner 3 heel ulcer.",  # a family name that begins a sentence
        "Hope to go home.",
        "bub took the bottle well, bo x1, ana negative",  # short words
    ],
)
def test_a_name_that_may_be_a_word_a_thing_or_an_acronym_needs_evidence(text: str) -> None:
    assert people(text) == []
