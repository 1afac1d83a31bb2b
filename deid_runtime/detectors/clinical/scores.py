"""Scores, scales, grades and stages, and the fractions and sums in which they are written."""

import re
from collections.abc import Iterator
from typing import Final

from deid_runtime.detectors.clinical.forms import NOT_AGE, SMALL, anchors, any_of, words_of
from deid_runtime.detectors.clinical.rows import FIGURES, NAMES, ClinicalRow
from deid_runtime.detectors.patterns.fractions import COUNTED, GRADED, is_counted
from deid_runtime.lexicon.name_cues import follows_title
from deid_runtime.lexicon.tables import words_for

_SCORES: Final = words_for("named_facts", "score", "name", "uses")
#: Maximum values of scores, scales and findings, with their names: a fraction behind a name must have the maximum of
#: that name as its denominator.
_OUT_OF: Final[tuple[tuple[tuple[int, ...], tuple[str, ...]], ...]] = (
    (
        (3, 5),
        words_of(
            "recall,recalled,recalls,delayed recall,registration,word recall,mini-cog,Waddell,Waddell's,Centor,McIsaac,"
            "CURB-65,CURB65,monofilament"
        ),
    ),
    ((3,), words_of("qSOFA,Q-SOFA,Amsel")),
    (
        (4,),
        words_of(
            "reflex,reflexes,DTR,DTRs,patellar,patellars,achilles,biceps,triceps,brachioradialis,"
            "knee jerks,ankle jerks,pulses,DP,DPs,DP pulses,PT pulses,radial pulses,pedal pulses,"
            "femoral pulses,dorsalis pedis,CAGE,TOF,train of four,SIRS,CRB-65,Ashworth,modified Ashworth,"
            "edema,oedema,pitting edema,pitting oedema,Fuhrman,KL,Kellgren,Centor,CURB"
        ),
    ),
    (
        (5,),
        words_of(
            "BISAP,strength,motor,motor strength,power,grip,grips,grip strength,deltoid,deltoids,"
            "iliopsoas,hip flexion,hip flexors,knee extension,knee flexion,quad,quads,quadriceps,"
            "hamstring,hamstrings,dorsiflexion,plantarflexion,plantar flexion,EHL,FHL,gastroc,"
            "wrist extension,wrist flexion,finger abduction,finger flexion,interossei,elbow flexion,"
            "elbow extension,shoulder abduction,shoulder flexion,MMT,APB,FDI,UE,LE,UEs,LEs,BUE,BLE,"
            "RUE,LUE,RLE,LLE,upper extremities,lower extremities,biceps,triceps,serial 7s,attention,PI-"
            "RADS,PIRADS"
        ),
    ),
    ((6,), words_of("murmur,SEM,HSM,systolic murmur,diastolic murmur,RCRI,Katz,ADL,ADLs,mRS,Rankin,PHQ-2,CHADS2")),
    ((7,), words_of("TIMI,ABCD2,modified Rankin")),
    (
        (8,),
        words_of(
            "Imrie,Glasgow-Imrie,Glasgow Imrie,Allred,ER,PR,modified BPP,STOPBang,IADL,IADLs,Lawton,STOP-BANG,"
            "STOPBANG,4Ts,4T score,HIT score,BPP,biophysical profile"
        ),
    ),
    (
        (9,),
        words_of(
            "Nottingham,SBR,Bloom-Richardson,Elston,CHA2DS2-VASc,CHADS-VASc,CHADSVASC,HAS-BLED,HASBLED,"
            "Beighton,BBPS,clinical frailty,CFS,frailty scale"
        ),
    ),
    (
        (10,),
        words_of(
            "pain,pain score,pain scale,pain level,NRS,VAS,NPRS,FLACC,headache,HA,severity,intensity,"
            "itch,dyspnea,Borg,Aldrete,Alvarado,APGAR,APGARs,Apgar score,Apgar scores,discomfort,"
            "nausea,fatigue,anxiety,ASPECTS,AMT,AMT10,COPM,PSFS,Tegner,Downe,Downes,Silverman Andersen,"
            "Silverman-Andersen,CPSS,SUDS,BPI,pain rest,NPS,VNS,pain VAS,GROC,EVA,"
            "Gleason,Gleason score,orientation,HEART,Silverman,Nottingham "
            "hip,PADSS,AMTS,"
            "CRIES,FACES,Wong-Baker,DVPRS,cramping,cramps,pruritus,breathlessness,distress,stress,mood,energy,vertigo,"
            "dizziness,spasms,tremor,bother,soreness,stiffness,burning,back pain,chest pain,pelvic pain,EDSS,BPP,DAST"
        ),
    ),
    ((11,), words_of("Hazelbaker,Ranson score,Ranson,Ranson's,Rockall")),
    ((12,), words_of("GHQ-12,GHQ,BIMS score,SOMS,4AT,AUDIT-C,AIR score,Mayo,SPPB")),
    ((13,), words_of("MDQ,TFC,total functional capacity,Bishop,Bishop score,Bishops,Bishop's,modified Bishop")),
    ((16,), words_of("FOUR score,SCIM")),
    ((17,), words_of("Westley score,Westley,croup,croup score")),
    ((18,), words_of("CDR,CDR-SB,Ishak,Knodell,necroinflam,necroinflammation")),
    ((20,), words_of("M-CHAT,M-CHAT-R,MCHAT,MCHAT-R,BARS,EAT,SADPERSONS,Barthel index,Barthel,Lund-Kennedy")),
    ((15,), words_of("GCS,Glasgow,Glasgow coma scale,Glasgow coma score,GDS,Child-Pugh,Child Pugh,CTP")),
    ((21,), words_of("FABQ,DASS-21,GAD 7,BAI,GAD-7,GAD7,GAD,HADS,HADS-A,HADS-D,DASS")),
    ((23,), words_of("Braden,Blatchford,Glasgow-Blatchford")),
    ((24,), words_of("FABQ-PA,FABQ,HIT,OABSS,ESS,Epworth,6 clicks,AM-PAC,AMPAC,DGI,SOFA,Lund-Mackay,Lequesne")),
    ((25,), words_of("MDADI,CISI,ACT,C-ACT,SHIM,IIEF")),
    ((27,), words_of("PHQ 9,PHQ-A,PHQ-9,PHQ9,PHQ")),
    (
        (28,),
        words_of("MiniBEST,miniBEST,Mini-BESTest,mini BESTest,GHQ-28,Tinetti,ISI,POMA,AIMS,mini-BEST,mini-BESTest"),
    ),
    (
        (30,),
        words_of(
            "RUDAS,M-ACE,mACE,mini-ACE,Mini ACE,PHQ-15,PHQ15,BPI,PANSS-P,Rowland,MMS,FAB score,MMSE,MoCA,SLUMS,"
            "Mini-Mental,EPDS,Edinburgh,FGA,GDS,DLQI"
        ),
    ),
    ((35,), words_of("IPSS,AUA,AUASS,AUA symptom score,I-PSS")),
    ((40,), words_of("WSAS,PCS-8,IES-6,GAF-Q,CAT,AUDIT,YBOCS,Y-BOCS,SARA,PSS")),
    ((42,), words_of("NIHSS,NIH stroke scale")),
    ((48,), words_of("OKS,OHS,OSS,BCSS,ALSFRS,ALSFRS-R,Oxford,Oxford hip,Oxford knee,Oxford shoulder")),
    ((50,), words_of("K10,Kessler,Kessler 10,K-10,DCDQ,NDI,ODI,Oswestry")),
    ((51,), words_of("Rodnan,modified Rodnan,mRSS")),
    ((60,), words_of("SADQ,YMRS score,Aphasia,BPRS-E,MADRS,YMRS")),
    ((68, 80), words_of("PCL-5,PCL")),
    ((75,), words_of("ISS")),
    ((52,), words_of("HAM-D,HAMD,HDRS,HDRS-17,Hamilton,PCS")),
    ((64,), words_of("Nijmegen,FES-I,FES")),
    ((80,), words_of("LEFS,IES-R,SF")),
    ((88,), words_of("IES,IES-R")),
    ((19,), words_of("SPADI,Clavien")),
    ((96,), words_of("WOMAC total,WOMAC")),
    ((56,), words_of("BBS,HAM-A,HAMA,Berg,Berg balance,Berg balance scale")),
    ((63,), words_of("BAI,BDI,BDI-II")),
    ((66, 67), words_of("Fugl-Meyer,CIWA")),
    ((110,), words_of("SNOT 22,SNOT,SNOT-22")),
    ((126,), words_of("FIM")),
    (
        (100,),
        words_of(
            "Barthel,ACE,ACE III,ACE-III,ACE-R,Lysholm,IKDC,SPADI,DASH,QuickDASH,PedsQL,Karnofsky,KPS,PPS,ACE-III,"
            "ACE-R,Harris,Harris "
            "hip,Oswestry,ODI,WOMAC,VAS,KOOS,HOOS,ASES,SANE,Constant"
        ),
    ),
)
_KIND: Final = (
    r"(?:[ ](?i:grade|class|scores?|scale|criteria|index|stage|type|test|sum|total|histologic)){0,2}"
    r"(?:[ ](?:\d|I{1,3}|IV|V)(?=[ ]?[(,;]))?[,;]?"
)
#: Text between a score and its value: punctuation, and words of trend and location.
_GAP: Final = (
    r"(?:[ ]{0,2}(?:[:=~-]|\b(?i:now|was|is|of|today|remains|still|score|scored|at|rated|rates|reported|"
    r"currently|about|to|the|"
    r"in|all|bilateral|bilaterally|bilat|b/l|R|L|right|left|UE|LE|BUE|BLE|upper|lower|extremities|"
    r"proximal|distal|throughout|are|"
    r"down|up|improved|worst|best|only|approx|initially|on arrival|on admission|arm|leg|grip|hand|max|"
    r"strength|points|severity|"
    r"systolic|diastolic|ejection|flow|harsh|blowing|soft|early|late|holosystolic|risk)\b)){0,5}[ ]{0,2}\(?"
)
_AND: Final = (
    r"(?:[ ]?(?:[,;/]|->|→|\b(?i:and|to|then|now|from|with|R|L|on|right|left|OD|OS|in|RUE|LUE|RLE|LLE|"
    r"UE|LE|DF|PF|EHL|at|rest|"
    r"activity|but|otherwise|elsewhere|proximally|distally|was|is|delayed|recall|adm|admission|arrival|"
    r"discharge|h|hr|hrs|hours|24|48|72)\b)[ ]?){1,5}"
)


def _fractions() -> Iterator[ClinicalRow]:
    """Yield a row for each total: "Ranson 3/11", "GCS 14/15", "Nottingham grade 2 (6/9)", "pain was 7/10, now 3/10"."""
    for place, (numbers, names) in enumerate(_OUT_OF):
        fraction = rf"\d{{1,3}}(?:\.5)?[+\-−]?[ ]?/[ ]?(?:{'|'.join(map(str, numbers))})(?![\d/]|\.\d)[+\-]?"
        name = rf"{any_of(names)}(?![^\W\d_]|-[A-Za-z])"
        yield ClinicalRow(
            name=f"score-fraction-{place}",
            kind="score",
            pattern=rf"{name}{_KIND}{_GAP}{fraction}(?:{_AND}{fraction}){{0,6}}",
            words=anchors(names),
            excludes=FIGURES | NAMES,
            check=lambda match: _is_name_of_score(match),
        )


#: The acuity of one eye at six metres, and the short forms of the eyes.
_METRIC: Final = r"6/(?:[4569]|7\.5|12|15|18|24|36|48|60)[+\-]?\d?"
_EYE: Final = r"(?:R(?:E|t)?|L(?:E|t)?|OD|OS)"

ROWS: Final = (
    *_fractions(),
    ClinicalRow(
        name="serial-sevens",
        kind="sequence",
        # a test of attention, and no serial number
        pattern=r"(?i:serial)[ ](?:subtractions?[ ](?:of|by)[ ])?(?P<value>[37]['’]?s)(?!\w)",
        words=frozenset({"serial"}),
        sure=True,
    ),
    ClinicalRow(
        name="apgar",
        kind="score",
        pattern=(
            r"(?i:apgars?(?: scores?)?)(?:[ ]?[:=]|[ ](?:of|were|was|score)){0,2}[ ]?(?:\d|10)"
            r"(?:[ ]?(?:[/,&-]|and)[ ]?(?:\d|10)){1,2}(?![\d/])"
        ),
        words=frozenset({"apgar", "apgars"}),
    ),
    ClinicalRow(
        name="score-value",
        kind="score",
        pattern=(
            rf"{any_of(_SCORES)}(?![^\W\d_]|['’][a-rt-z]|-[A-Za-z])"
            r"(?:[ ](?i:grade|class|scores?|scale|criteria|index|stage|type|test|sum|total|risk)){0,2}"
            r"(?:[ ]{0,2}(?:[:=~]|\b(?i:now|was|is|of|today|remains|still|scored|currently|to|from|up|down)\b)){0,3}"
            rf"[ ]{{1,2}}{SMALL}%?{NOT_AGE}(?:(?:[ ]?(?:->|→|to)[ ]?){SMALL}%?)?(?:[ ]?\+[ ]?\d{{1,2}}(?:[ "
            rf"]?=[ ]?\d{{1,2}})?)?"
        ),
        words=anchors(_SCORES),
        check=lambda match: _is_name_of_score(match),
    ),
    ClinicalRow(
        name="score-of-total",
        kind="ratio",
        # "NEWS2 9/20", "FOUR 10/16": any score, unless its result stands after the date: "PHQ-9 3/14: 12"
        pattern=(
            rf"{any_of(_SCORES)}(?![^\W\d_]|['’]|-[A-Za-z])(?:[ ](?i:scores?|scale|index|total|of|is|was|now|"
            rf"today)){{0,2}}[ :=]{{1,2}}"
            r"(?P<value>(?P<a>\d{1,3})[ ]?/[ ]?(?P<b>\d{1,3}))(?![\d/]|[ ]?[:=]|[ ]{1,2}\(?\d|[ ]?-)"
        ),
        words=anchors(_SCORES),
        check=lambda match: is_counted(match) and int(match["b"]) > 3 and _is_name_of_score(match),
    ),
    ClinicalRow(
        name="fraction-counted",
        kind="score",
        # "3/14 axillary nodes", "2/4 SIRS criteria"
        pattern=rf"(?<![\d/.\-]){COUNTED.pattern}",
        at_numbers=True,
        after="/ ",
        check=is_counted,
    ),
    ClinicalRow(
        name="fraction-of-whole",
        kind="score",
        # "completed 10/11 of the home exercises", but "2/14 of this year"
        pattern=(
            r"(?P<a>\d{1,2})/(?P<b>\d{1,2})[ ]of[ ](?:the|his|her|their|these|those|them|all|planned|prescribed)\b"
            r"(?![ ](?:(?:same|previous|last|next|following|preceding|current)[ ])?(?:year|month|week)\b)"
        ),
        at_numbers=True,
        after="/",
        check=is_counted,
    ),
    ClinicalRow(
        name="fraction-behind-count",
        kind="score",
        # "LN 7/31 with ENE", "cores 3/12", "portal tracts 11/14", "axilla 4/17"
        pattern=(
            r"(?:LNs?|SLNs?|Gleason|[yr]?p?N[123][abc]?(?=[ ]\()|"
            r"(?i:nodes|nodal|axilla|cores|ROS|review of systems|glomeruli|tracts|oocytes|embryos|"
            r"follicles))"
            r"(?:[ ]?:|[ ](?:R|L|left|right|pos|positive|neg|negative|sampled|involved|were|was|dissection|"
            r"incl|of)){0,3}[ ]?\(?"
            r"(?:(?<=Gleason )[3-5]\+[3-5](?:=\d{1,2})?,?[ ](?:in[ ])?)?"
            r"(?P<value>(?P<a>\d{1,2})[ ]?/[ ]?(?P<b>\d{1,2})(?:[ ]?,[ ](?:R|L|left|right)?[ ]?\d{1,2}/\d{1,"
            r"2}){0,2})(?![\d/])"
        ),
        words=frozenset(
            "gleason ros review ln lns sln slns nodes nodal axilla cores glomeruli tracts oocytes embryos "
            "follicles n pn ypn rpn rn".split()
        ),
        check=is_counted,
    ),
    ClinicalRow(
        name="fraction-graded",
        kind="score",
        # "2/6 systolic murmur", "5/5 strength throughout". A line may begin with a date: "7/10 pain better".
        pattern=rf"(?<![\d/.\-]){GRADED.pattern}",
        at_numbers=True,
        after="/ .+-",
        check=lambda match: "10" not in match[0] or match.string[: match.start()].rpartition("\n")[2].strip() != "",
    ),
    ClinicalRow(
        name="fraction-words",
        kind="score",
        # "0 of 14 nodes", "3 out of 11"
        pattern=r"\d{1,2}[ ](?i:of|out of)[ ](?:the[ ])?\d{1,2}(?![\d/]|[ ](?:[A-Z][a-z]{2}))",
        at_numbers=True,
        after=" ",
    ),
    ClinicalRow(
        name="gleason-sum",
        kind="score",
        pattern=r"[1-5][ ]?\+[ ]?[1-5](?:[ ]?=[ ]?(?:[2-9]|10))?(?:[ ]?/[ ]?10)?(?![\d/])",
        at_numbers=True,
        after="+ ",
    ),
    ClinicalRow(
        name="acuity",
        kind="score",
        # From 20/15 on, no calendar has such a day.
        pattern=r"20[ ]?/[ ]?(?:1[56]|[2-9]\d|[1-8]00|1[256]\d)(?:[ ]?[+\-]\d)?(?![\d/]|-\d)",
        at_numbers=True,
        after="/ ",
    ),
    ClinicalRow(
        name="acuity-metric",
        kind="score",
        # "6/9 OD", "VA R 6/6 L 6/12", "6/18 ph 6/12"
        pattern=(
            r"6[ ]?/[ ]?(?:[569]|12|18|24|36|60)(?:[ ]?[+\-]\d?)?(?![\d/])(?=[ ,;]{0,2}(?:OD|OS|OU|RE\b|"
            r"LE\b|ph\b|PH\b|in each eye|"
            r"unaided|aided|uncorrected|corrected|N\d|with pinhole|w/ pinhole))"
        ),
        at_numbers=True,
        after="/ ",
    ),
    ClinicalRow(
        name="acuity-pair",
        kind="score",
        # "6/9, 6/60": no month has a 36th or 60th day
        pattern=r"6/\d{1,2}[+\-]?\d?[ ]?[,;/][ ]?(?:(?:R|L|OD|OS)[ ])?6/(?:36|60)(?!\d)",
        at_numbers=True,
        after="/",
    ),
    ClinicalRow(
        name="acuity-before-eyes",
        kind="score",
        # "6/9 R 6/36 L": months and days do not come in such pairs
        pattern=rf"{_METRIC}[ ]?{_EYE}[ ,;]{{1,2}}{_METRIC}(?=[ ]?{_EYE}\b)",
        at_numbers=True,
        after="/",
        sure=True,
    ),
    ClinicalRow(
        name="acuity-behind-eyes",
        kind="score",
        # "R 6/9 L 6/18", "RE: 6/6, LE: 6/60"
        pattern=rf"{_EYE}:?[ ]{_METRIC}[ ,;]{{1,2}}{_EYE}:?[ ]{_METRIC}(?![\d/])",
        words=frozenset("r l re le rt lt od os".split()),
        sure=True,
    ),
    ClinicalRow(
        name="acuity-behind-name",
        kind="score",
        pattern=(
            r"(?:VA|BCVA|UCVA|DVA|(?i:visual acuity|vision|acuity|near vision|snellen)|(?i:right|left) "
            r"eye(?=[ :,=]{1,3}6/(?:[569]|7\.5|12|15|18|24|36|48|60)(?!\d)))(?:[ ]{0,2}(?:[:=,;]|\b(?:R|L|OD|"
            r"OS|OU|RE|LE|right|left|was|is|of|"
            r"and|cc|sc|ph|PH|eye|both|in the|with|correction|glasses|unaided|aided)\b)){0,5}[ ]{0,2}(?:6|"
            r"20)[ ]?/[ ]?\d{1,3}[+\-]?\d?(?![\d/])"
            r"(?:(?:[ ]{0,2}(?:[:=,;/]|\b(?:R|L|OD|OS|OU|RE|LE|right|left|and|ph|PH|eye|in the|with)\b)){1,"
            r"4}[ ]{0,2}(?:6|20)[ ]?/[ ]?"
            r"\d{1,3}[+\-]?\d?(?![\d/])){0,3}"
        ),
        words=frozenset("va bcva ucva dva visual vision acuity near snellen right left".split()),
    ),
)

#: Names of scores that are also words, names of people or places, or parts of the body: a bare number after
#: them is not a score.
_WORDS: Final = frozenset(
    "pain vision act cat fast gold news must heart norton boston edinburgh oxford constant clark "
    "fisher mayo weber neer hawkins "
    "vancouver marshall rotterdam wells bishop bishops glasgow nottingham morse berg grade stage ps as "
    "sh port lee fontaine rome "
    "geneva prague garden sanders myerson bristol grace four dukes forrest hill mas wagner borg ace "
    "aces faces audit aims "
    "ranchos rancho lawton katz rutherford hurley tanner cobb risser braden lansky lille oswestry "
    "westley harris steward "
    "framingham bethesda allred elston fuhrman hestia naranjo murray schwab conners vanderbilt "
    "rockwood gartland mayfield "
    "savary ballard silverman centor alvarado epworth rankin ranson killip caprini padua khorana "
    "maddrey hendrich iga bsa fim sas "
    "dash cdr faq cam iq cac sts isi iss gad hit psi asa must psc asq scared clock stratify lemon air "
    "ccs mrc who mst pts rts ao mipi kl la acuity calcium near".split()
)
#: Names among them that count as scores only in capitals.
_IN_CAPITALS: Final = frozenset(
    "act cat fast gold news must heart ps as sh port grace mas ace aces audit aims bsa fim sas dash "
    "cdr faq cam iq cac sts isi iss gad "
    "hit psi asa who mst pts rts ao kl la air lemon scared psc ue le ha dp sem".split()
)
_SURE_SIGN: Final = re.compile(r"(?i)/|\b(?:scores?|scale|criteria|grade|class|stage|index|risk)\b|[:=]")


def _is_name_of_score(match: re.Match[str]) -> bool:
    """Return whether a name before a number is that of a score, not of a person (``Mrs. Norton 82``, ``Grace 16``)."""
    word = re.match(r"[^\W\d_]+", match[0])
    if word is None:
        return True
    if match.string[match.start() - 1 : match.start()] in ("-", "_", "#", "@") or follows_title(
        match.string, match.start()
    ):
        return False
    if word.group().lower() in _IN_CAPITALS and not word.group().isupper():
        return False
    return word.group().lower() not in _WORDS or word.group().isupper() or _SURE_SIGN.search(match[0]) is not None
