"""Tables of folded words before or after a name that show that it is a person."""

import re
from enum import Enum
from typing import Final

from deid_runtime.lexicon.calendar_words import month_words, weekday_words
from deid_runtime.lexicon.vocabulary import (
    alternation,
    credential_keys,
    dotted_credentials,
    human_verbs,
    kin,
    particles,
    street_kinds,
    titles,
)
from deid_runtime.lexicon.word_codes import word_key


class Cue(Enum):
    """The kinds of words that announce a name."""

    TITLE = "title"
    LABEL = "label"
    KIN = "kin"
    STAFF = "staff"
    ROLE = "role"  # a person or a thing follows
    ACT = "act"  # an action on a person or with one: signed by, spoke with, paged
    GREETING = "greeting"
    WEAK = "weak"  # with, per, by, from: a person or a thing


#: Titles before a name; those of staff separately.
STAFF_TITLES: Final = frozenset(titles("staff"))
TITLES: Final = STAFF_TITLES | frozenset(titles("person"))

#: Titles that end in a full stop.
SHORT_TITLES: Final = frozenset(titles("stop"))

#: Words that a colon and a name follow: for a patient or relative, and for staff.
PATIENT_LABELS: Final = frozenset(
    "patient pt name names surname contact nok hcp poa proxy guardian caregiver informant historian spouse "
    "next kin client resident infant baby child subject insured guarantor subscriber accompanied re".split()
)
STAFF_LABELS: Final = frozenset(
    "attending attg pcp provider surgeon surgeons assistant assistants author physician physicians doctor "
    "dr nurse therapist cc referring consultant consultants anesthesiologist anaesthetist "
    "anesthetist fellow intern interpreter examiner technologist technician pharmacist signed by dictated "
    "cosigner witness witnesses scribe transcriptionist cardiologist radiologist pathologist hospitalist "
    "sw reviewer signature signer dentist midwife psychiatrist psychologist counselor urologist "
    "oncologist neurologist operator endoscopist copies reader verifier from to attn attention sonographer "
    "instructor supervisor preceptor clinician practitioner gp consults".split()
) | credential_keys("label")

KIN: Final = frozenset(kin("cue"))

STAFF: Final = frozenset(
    "attending resident intern fellow surgeon cardiologist hospitalist therapist pharmacist midwife "
    "chaplain interpreter translator aide dietitian dietician hygienist oncologist neurologist "
    "urologist nephrologist gastroenterologist psychiatrist psychologist counselor counsellor pediatrician "
    "paediatrician obstetrician gynecologist dermatologist endocrinologist pulmonologist rheumatologist "
    "radiologist pathologist intensivist anesthesiologist anaesthetist anesthetist ophthalmologist "
    "optometrist podiatrist dentist orthodontist internist physician physiotherapist pcp gp "
    "worker coordinator navigator technician technologist teacher attorney lawyer coach trainer "
    "paramedic specialist practitioner consultant sonographer phlebotomist doula geriatrician neurosurgeon "
    "orthopedist otolaryngologist allergist hematologist perfusionist".split()
) | credential_keys("staff")

#: Verbs whose object is a person.
ACTS: Final = frozenset(
    "called paged notified texted informed updated told asked met phoned emailed messaged telephoned thank "
    "thanked thanks reassured counseled counselled interviewed thanking".split()
)
#: Verbs whose object is a person or a thing, and words for people before a name: only a listed name counts after these.
ROLES: Final = frozenset(
    "patient pt baby infant newborn toddler child kid student client inmate veteran widow widower victim "
    "driver passenger officer detective judge coach deputy trooper captain capt ssg cpl cmdr chief rep "
    "charge sitter scrub circ circulator tech float manager orderly secretary clerk receptionist principal "
    "counsellor pastor priest deacon elder foreman employer lady man woman boy girl reached reach reaching "
    "tell telling ask asking call calling page paging text texting email see saw seeing examine evaluate "
    "evaluated assess assessed admit admitted discharged intubated extubated consented visited visit helped "
    "help remind reminded teach taught informing notify notifying contact contacting bring brought "
    "introduced interview counsel treat treated transferred took let letting encourage encouraged invite "
    "invited marry married divorced hugged watched watch alert alerted advised advise instructed instruct "
    "found find thanks love loves miss misses".split()
)

#: Words before ``by``, ``with``, ``to`` and ``from`` that make the name after them certain.
BY: Final = frozenset(
    "signed cosigned dictated transcribed authored reviewed seen examined evaluated performed assisted "
    "accompanied entered verified witnessed interpreted read approved authenticated attested ordered "
    "written prepared completed documented recorded reported referred supervised staffed electronically "
    "assessed interviewed called paged notified brought collected obtained drawn administered scribed staff".split()
)
WITH: Final = frozenset(
    "spoke speak spoken discussed discuss talked reviewed met conferred lives living resides visited spoked "
    "conversation discussion consulted meeting checked staffed appointment appt visit follow followup fu "
    "rounded seen appears married engaged phone".split()
)
TO: Final = frozenset(
    "referred spoke talked speak married reported handed handoff report paged signed forwarded faxed sent "
    "routed addressed introduced according belongs related".split()
)
FROM: Final = frozenset(
    "call referral consult message letter text history hx note email voicemail consultation report".split()
)

GREETINGS: Final = frozenset("dear hi hello sincerely regards respectfully yours cheers".split())
WEAK: Final = frozenset("with per by from to for w and via of".split())

CREDENTIALS: Final = credential_keys("cue")
#: Credentials that are also words or abbreviations: they count only in capitals, after a comma.
DOUBTFUL_CREDENTIALS: Final = credential_keys("doubtful")
#: Credentials that count in lower case without a comma, and those that count when written with full stops.
SURE_CREDENTIALS: Final = credential_keys("sure")
DOTTED_CREDENTIALS: Final = tuple(word[:4] for word in dotted_credentials("dotted"))

#: Words after a lone name that show that it is a person who acts.
HUMAN_VERBS: Final = frozenset(human_verbs("acts"))

#: What only a person does or suffers, directly after a name; ``called in`` is also said of a prescription.
_PERSONAL: Final = re.compile(
    r"[ ](?:(?:was|is|has[ ]been|had[ ]been|will[ ]be|is[ ]being|was[ ]being)[ ](?:then[ ]|also[ ]|again[ ])?"
    r"(?:called(?![ ]in\b)|phoned|seen(?![ ]on[ ][a-z])|admitted|readmitted|discharged|examined|intubated|extubated|"
    r"consented|counsell?ed|reassured|notified|informed|interviewed|asked|told|escorted|accompanied|transferred|"
    r"born|hospitali[sz]ed|sedated)|"
    r"denie[sd]|complain(?:s|ed)|state[sd][ ]that|agree[sd]|refuse[sd]|declines|fell|phoned|called(?![ ]in\b)|"
    r"vomited|fainted|cried|slept|ate|drinks|smokes|lives|walked|endorses|understands|wept|asked|worries|underwent)\b"
)
_OWNED: Final = re.compile(
    rf"['’]s[ ](?:{alternation(kin('cue'))}|creatinine|ha?emoglobin|potassium|sodium|glucose|labs|bloods|lactate|"
    r"troponin|INR|ECG|EKG|vitals|pain|fever|breathing|mood|appetite|weight|wound|hip|knee|chest|family|parents|room|"
    r"condition|care|symptoms|medications|meds|records?|chart|insurance|appointment|surgery|discharge|death|home)\b",
    re.IGNORECASE,
)


def acts_as_person(text: str, at: int) -> bool:
    """Return whether the words from ``at`` on, directly after a name, say what only a person does, suffers or owns."""
    return _PERSONAL.match(text, at) is not None or _OWNED.match(text, at) is not None


#: Words after a name that make it part of a place, firm, street, disease, scale or device.
NOT_BEHIND: Final = frozenset(
    "hospital hospitals clinic clinics center centre centers medical health healthcare university college "
    "school institute foundation pharmacy county city township park lake river creek island beach "
    "hills hill valley springs church cathedral temple synagogue mosque house home manor hall building "
    "tower ward unit wing floor room hotel airport station memorial general regional community scale score "
    "scores index criteria classification grade stage test tests sign signs syndrome syndromes disease "
    "diseases palsy catheter catheters tube tubes drain drains stain staining coma murmur wort fracture "
    "fractures line lines procedure repair approach method technique maneuver manoeuvre incision retractor "
    "retractors clamp clamps forceps scissors needle suture sutures stitch blade elevator rongeur speculum "
    "valve graft stent balloon wire sheath pump device monitor bed lift brace splint cast collar bandage "
    "dressing wrap boot virus antibody antibodies agar gland glands duct ducts canal body bodies cell cells "
    "node nodes nodule nodules cyst cysts tumor tumour lymphoma sarcoma carcinoma ulcer hernia reflex "
    "phenomenon position solution law equation formula ring rings triad tetralogy circle loop pouch space "
    "triangle ligament tendon nerve artery vein plexus fascia muscle membrane angle point arch groove notch "
    "tubercle process contracture deformity esophagus dementia chorea ataxia neuropathy thyroiditis "
    "encephalopathy arthritis osteotomy fusion resection anastomosis bypass shunt transplant flap protocol "
    "regimen diet inventory questionnaire survey scan view views study trial type class mug jelly soup "
    "sauce cream lotion oil powder soap tape gauze pad pads stapler inhaler nebulizer elem elementary hosp "
    "fire police pd fd kidney specialists pediatrics associates crossing rehab rehabilitation nursing "
    "terrace apartments apts plates plate pins pin screws screw system rods rod arm frame knife et stand "
    "table suction cannula day days cardinal insurance bank inc llc corp company co association society "
    "heart lung cancer brand products".split()
) | frozenset(street_kinds("no-person"))

#: Pairs that are not a person without a cue, although both words are names.
NO_PEOPLE: Final = frozenset(
    tuple(map(word_key, pair.split()))
    for pair in (
        "may grunwald", "may giemsa", "jackson pratt", "kirby bauer", "austin flint", "foster kennedy",
        "hans christian", "le fort", "mary jane", "jesus christ", "black box", "new york", "san francisco",
        "san diego", "san jose", "san antonio", "santa fe", "santa barbara", "santa clara", "santa ana",
        "santa monica", "santa cruz", "los angeles", "las vegas", "el paso", "el salvador", "st paul",
        "st louis", "fort wayne", "fort worth", "charles bonnet", "carl zeiss", "johns hopkins", "mount sinai",
        "virginia beach", "jersey city", "kaiser permanente", "marie tooth", "charcot marie", "merry christmas",
        "santa claus", "rose bengal", "lee silverman", "karl storz", "ramsay hunt", "ramsey hunt",
        "lloyd davies", "marshall marchetti", "brown sequard", "smith petersen", "smith nephew",
        "stevens johnson", "steven johnson", "stephen johnson", "steven johnsons", "chevy chase", "beth israel",
        "wells fargo", "rite aid", "jack daniels", "jim beam", "johnny walker", "johnnie walker", "jose cuervo",
        "captain morgan", "ben gay", "betty crocker", "aunt jemima", "harley davidson", "ashkenazi jewish",
        "jenny craig", "french fries", "bell palsy", "holy ghost", "christian science", "christian scientist",
        "allen cognitive", "beck depression", "frank starling", "louis bar", "dr pepper", "mary washington",
        "merrill lynch", "morgan stanley", "ralph lauren", "calvin klein", "burger king", "tim hortons",
        "dixie cup", "martin luther", "baby jesus", "virgin mary", "good friday", "palm sunday",
        "abraham lincoln", "costa rica", "sierra leone", "puerto rico", "marcus gunn", "homer wright",
        "spencer wells", "campbell morgan", "denis browne", "cornelia lange", "passy muir", "ryan white",
        "mona lisa", "moya moya", "bard parker", "judkins left", "judkins right", "graham steell",
        "argyll robertson", "rosai dorfman", "adams oliver", "treacher collins", "pierre robin",
        "steele richardson", "rubinstein taybi", "russell silver", "silver russell", "paterson kelly",
        "plummer vinson", "wilson cook", "collin hartmann", "martin gruber", "john deere", "bloody mary",
        "shirley temple", "mickey mouse", "peter pan", "santa rosa", "san salvador", "san juan", "la jolla",
        "walter reed", "luther king", "robert jones", "jean jacques", "marie curie", "guy rope", "mc murray",
        "sofamor danek", "lockheed martin", "mardi gras", "bruce protocol", "easter sunday", "tim horton",
        "mary poppins", "peter bent", "mary lanning", "von recklinghausen", "king george", "queen elizabeth",
        "prince edward", "king edward", "prince george", "sister kenny", "dorothea dix", "dix hallpike",
        "barnes jewish", "cedars sinai", "florence nightingale", "mallory weiss", "keith wagener",
        "katie beckett", "wake forest", "duane reade", "monte cristo", "loma linda", "sri lanka", "hong kong",
        "viet nam", "saudi arabia", "la paz", "buenos aires", "rio grande", "palo alto",

    )
)  # fmt: skip

#: Words of the calendar that are never or rarely a person's name.
CALENDAR: Final = (
    frozenset(month_words("nobody"))
    | weekday_words("nobody")
    | frozenset("easter christmas thanksgiving halloween ramadan passover hanukkah diwali".split())
)

#: Words that join clauses: a lone name after one begins a clause.
JOINING: Final = frozenset(
    "and but or that when if because while since so as although though after before once until unless where "
    "then said states reports believes thinks says stated reported whether per".split()
)

#: Syllables of hyphenated Korean and Chinese given names (*Min-jun*, *Mei-ling*), in common spellings.
SYLLABLES: Final = frozenset(
    "ae ah bae beom bin bo bok bom bong byeong byung chae chan chang chul chun da dae do dong duk eok eon "
    "eui eun ga gang gap geon geun gi gil gook gu guk gun gwang gyeong gyu ha hae haeng han he hee heon "
    "heung hi ho hong hoon hun hwa hwan hye hyeok hyeon hyo hyuk hyun hyung il im in ja jae jeong ji jin jo "
    "jong joo joon joong ju jun jung ki kook ku kuk kun kwan kwang kyeong kyu kyun kyung lan lim mae man mi "
    "mija min mo mok mun my myeong myoung myung na nam no ok pil ra ran rae ri rim rin ryeon ryong sang se "
    "seo seok seol seon seong seung shik shin si sik sil sim so sol son song soo sook soon su suk sun sung "
    "tae taek ui uk un ung woo woong won wook ye yeo yeol yeon yeong yi yong yoo yool yoon you young yu yul "
    "yun ai an bai bao bi biao chao chen cheng chi chia chiang chieh chien chih chin ching chiu chu chuan "
    "chuen chung fa fai fan fang fei fen feng fong fu fuk fung guang gui guo hai hao heng hin hing hou hsi "
    "hsia hsiang hsiao hsin hsing hsiu hsuan hsueh hua huan huei hui hung jen jia jian jiang jie jing juan "
    "jui ka kai kam kang kei keung kin kit kuang kuei kuo kwai kwok kwong lai lam lei li lian liang lien "
    "lin ling liu long lu lun mei meng ming mui nga ngan ngai ngok ning on pak pei peng ping po pui qiang "
    "qin qing rong ru rui sau shan shao sheng shi shih shing shu shui shuk siu siew sze szu tak tang tao "
    "tat teng ti tian tien tin ting tsai tse tsz tsun tung tzu wa wah wai wan wang wei wen wing wong wu xia "
    "xiang xiao xin xiu xue ya yan yang yao yee yen yim yin ying yip yiu yuan yue yuen yuet yuk yung ze "
    "zhen zheng zhi zhong".split()
)

#: Words that begin a sentence; a name directly after one may stand alone.
OPENERS: Final = frozenset(
    "today overnight yesterday tonight currently now then neither both because when after before once while "
    "since although until if later subsequently afterwards eventually finally unfortunately fortunately "
    "meanwhile initially per and but that what".split()
)

#: Determiners: the word after one is rarely a person.
DETERMINERS: Final = frozenset("a an the this that these those each every no any some modified".split())

#: Capitalised words that make the pair after them a place, street or house.
NOT_BEFORE: Final = frozenset(
    "st saint mount mt fort ft port lake santa san north south east west new university college church camp "
    "cape hotel hospital school".split()
)

#: Particles within names (van der Berg, de la Cruz, bin Rashid).
PARTICLES: Final = frozenset(particles("cue"))
SUFFIXES: Final = frozenset(particles("suffix"))
