"""Cases for each row of the pattern table: texts where it finds exactly the parts in «», and texts without a match.

All texts are invented.
"""

Cases = dict[str, tuple[tuple[str, ...], tuple[str, ...]]]

NUMBERS: Cases = {
    "ssn": (("Verified «219-09-9999» by phone",), ("MRN 44-17-92", "219-09-0000")),
    "ssn-labelled": (
        ("SSN: «219099999»", "social security number «219-09-9999»", "SS# «219-09-9999»"),
        ("SS enema given 500 mL", "SSN pending"),
    ),
    "ssn-masked": (("SSN xxx-xx-«4417»", "SSN.....: ***-**-«3390»"), ("extension -- 4417", "x 4417")),
    "ssn-last-four": (
        ("last 4 «2208»", "SSN last four: «7731»", "SSN ending «0418»"),
        ("last 4 days", "last 40 minutes"),
    ),
    "record-mrn": (
        (
            "MRN: «004417829»",
            "MRN «0098-2204-17», seen today",
            "MRN\n «8412779»",
            "MRN.....: «A00719348»",
            "NHI «ZKQ4471»",
            "MRN:«9514573»Coll:now",
            "MRN:«11-40-882»Age:old",
            "MRN «18MC04482».Sent",
            "MRN «A12Xyz9»",
        ),
        ("MRN pending", "MRN: 3/14/2017", "MRN on chart", "from MRN. PHQ-2 zero", "MRN 31-year-old"),
    ),
    "record-mr": (("MR#: «44-17-92»", "MR: «B-015533»", "m.r. #«44-17-92»"), ("MR: mild", "mild MR, no AS")),
    "record-mr-bare": (("MR «12-34-3917»",), ("mild MR. EF 60", "MR 2/4")),
    "record-medical": (
        ("Medical record number: «7719348»", "Hosp no «W1209917»"),
        ("medical record reviewed", "hospital day 4"),
    ),
    "record-chart": (("Chart # «HT-22081»", "chart «7710093»."), ("chart reviewed", "obs chart 2-hourly")),
    "record-patient-number": (
        ("Patient # «00772210»", "Pt ID: «OTP-2207»", "pt id «OTP-2207»"),
        ("patient 45 years old", "Pt: Doe, 45"),
    ),
    "record-patient-id": (
        ("patientid: «00772210»", "ptid «OTP-2207»", "PatientID: «00772210»", "patno=«44178»"),
        ("patient 45 years old", "ptid pending", "ptid 3/14/2017"),
    ),
    "record-uk": (("NHS no. «485 777 3456»", "UR: «0206233»"), ("NHS trust", "NHS 111 called")),
    "record-nhs-number": (("letter for «110 076 2108» sent",), ("letter for 110 076 2109 sent",)),
    "plan-member": (
        ("Member ID: «YRP884M20417»", "subscriber # «QTZ 30944 1701-03»", "Membership no. «YRP88420417»"),
        ("member of the choir", "family members 4"),
    ),
    "plan-policy": (("Policy no. «GM 5520-118-04»",), ("policy of 2 visitors", "visitor policy 2")),
    "plan-group": (("Group #: «TM-0093»", "Grp no. «60018817»"), ("group of 8 patients", "Group: 12")),
    "plan-group-bare": (("gp «600188177»",), ("group 4 of 6", "GP 3")),
    "plan-public": (
        ("Medicare «1EG4-TE5-MK72»", "Medicaid ID «0048112790»", "PHN «9812447103»"),
        ("Medicare pays 80%", "on Medicaid since 2014"),
    ),
    "plan-insurance": (("Insurance ID: «ZEX3380447»", "plan no. «77120338»"), ("insurance pending", "ins $1,500")),
    "plan-name-id": (
        ("Aetna ID «W221704418»", "Blue Cross «XEC830117442»", "BCBSNM «YQB108287»"),
        ("Aetna denied", "Blue Cross covers 12"),
    ),
    "plan-medicare-mbi": (("card reads «1EG4TE5MK73» today",), ("1EG4TE5MKAA", "0EG4TE5MK73")),
    "plan-medicare-old": (("HIC on card «900-55-0172A»",), ("900-55-0172", "900-55-0172X1")),
    "account": (
        ("Acct: «8881492066»", "account no. «E2231140»", "accts «4400178-61»", "accounts «4400178-61»"),
        ("account of the fall", "Acct: none", "Patient Accounts, 814-600-9090"),
    ),
    "account-acc": (("Acc: «M8814402»", "accession no «US-19-40417»"), ("ACC 2", "access 2 cm above", "access RRA 6F")),
    "account-encounter": (("CSN «330019274»", "FIN: «63300184471»"), ("encounter 3/14/2017", "fin 12")),
    "account-visit": (
        ("Visit #: «331187002»", "IP No : «IP/24/03317»"),
        ("visit: 3/14/17", "visit no. 3", "Op: TURP 42g bipolar"),
    ),
    "account-visit-bare": (("visit «E18-075052»",), ("visit 3 of 12", "visit 11/20/2014")),
    "account-invoice": (
        ("Invoice «INV-48830172»", "receipt «R-90817»"),
        ("invoice sent", "bill 12", "Inv: HbA1c 9.6", "Inv: CA125 88", "46,XY,inv(16)(p13q22)[14]"),
    ),
    "account-card-ending": (
        ("card ending «3381»", "acct ending in «0093»"),
        ("card ending soon", "account ends 31 May"),
    ),
    "license-dea-valid": (("prescriber «AB1234563» signed",), ("prescriber AB1234567 signed", "lot AB12345634")),
    "license-npi-valid": (("signed «1234567893» below",), ("signed 1234567890 below", "order 9234567893")),
    "license-npi": (("NPI «1992004471»", "DEA: «FM7700413»", "CLIA «34D0991822»"), ("NPI pending", "no DEA")),
    "license": (
        ("license no. «7710-20»", "lic# «PT02977»", "License: «H13077214»", "driver's licenses «H13077214»"),
        ("licensed in 2 states", "lic. pending", "lice 2044 eggs", "licensing 77104"),
    ),
    "license-driver": (
        ("DL «D424520790060»", "CDL «904417228»"),
        ("2.4 mg/dL, ESR 4417", "DL: none", "MB ML DB DL. WL 20.5/20/19.5/19.5"),
    ),
    "license-certificate": (("cert no. «CA-100927»", "Regn: «TVM-2009-114»"), ("certified 3 years", "cert: 6 weeks")),
    "license-certificate-bare": (("cert «ES60217734»",), ("cert 4 hours", "birth cert requested")),
    "license-council": (("GMC «7718204»", "Provider no «2244871K»"), ("GMC pending", "provider 2 of 3")),
    "license-after-credential": (("Ona Reed RN #«604418»",), ("RN #4", "MD # 12 tabs")),
    "vehicle-vin": (("frame «1HGCM82633A004352» seen",), ("frame 1HGCM82633A004353 seen", "12345678901234567")),
    "vehicle-vin-letters-first": (("frame «WVWZZZ1J1XW386752» seen",), ("ABCDEFGHJKLMNPRST1",)),
    "vehicle-vin-labelled": (("VIN «1FUZZ0DV4HLHX9913»", "VIN ends «X005344»"), ("VIN unknown", "VIN on dash")),
    "vehicle-plate": (
        ("plate «PWL 7731»", "license plate: «7BX 2214»", "tag «KDR-5348»", "tail «N417NS»"),
        ("plate and 6 screws", "growth plate 3 mm", "tag removed"),
    ),
    "vehicle-plate-car": (("in a car, «ABC-1234»,", "Unit «N123AB»"), ("car 2 of 3", "van at 0930", "unit ICU 12")),
    "vehicle-plate-uk": (("a Corsa «YK08 WTR» stood there",), ("a Corsa YK08 stood there", "QK08 WTR")),
    "device-serial": (
        ("serial «AS-7706-923»", "SN «40718822»", "serial nos. «V2211», «V2212» & «V2213»"),
        ("serial troponins", "serial ECGs x3", "SN 2", "p.(Ser1982Argfs*22)", "SN60WF +21.5"),
    ),
    "device-lead-model": (("RA lead «5076-52» placed",), ("1976-52", "lead 5076-522")),
    "device-serial-slash": (("S/N «23171440982»", "s/n: «MCL-220984-X»"), ("s/n pending", "S/P 2014")),
    "device-lot": (
        ("lot «U4418CA»", "lots «C7712» & «C7713»", "Lot #«0416-33»"),
        ("a lot of pain", "lot better", "lot 2 pads"),
    ),
    "device-model": (("model «BP7250»", "Model: «W1DR01»"), ("model 3", "model citizen")),
    "device-ref": (("REF «1217-32-052»",), ("REF 12", "ref range 135-145")),
    "device-asset": (("asset tag «WC-1188»", "loaner #«LP-0417»"), ("asset to the team", "loaner chair")),
    "biometric": (
        ("fingerprint ID «FS-2207-R»", "palm scan «PV-2207-884»", "IRISID-«20417-OD»"),
        ("fingerprint negative", "hand scan 2 views"),
    ),
    "id-case": (
        ("Case # «24-110933»", "claim no. «489 00 4810»", "Incident #: «220731884»", "tickets #«24-110933»"),
        ("case: 3 mg", "2 cases", "she reports no 120 mL loss"),
    ),
    "id-case-bare": (("claim «WC-2409-5521»", "case «190604-07»"), ("case 4", "report 12 hours")),
    "id-authorization": (
        ("auth «G17-0044820»", "Authorization: «A118820447»", "preauthorization «G17-0044820»"),
        ("auth 12 visits", "auth pending", "Auth 2024/10/29"),
    ),
    "id-reference": (("Ref «I-2109160388»", "confirmation #«77120-41»"), ("ref 4", "referred 3/14/2017")),
    "id-order": (("Order #: «98430827»", "req no. «DI-7781»"), ("order: 2 tabs", "orders 3")),
    "id-order-bare": (("order «98430827»", "requisition «7719003314»"), ("order 500 mg", "in order 2 weeks")),
    "id-specimen": (("specimen «YH0514-2207»", "block «SP20-00771»"), ("specimen 2 cm", "block PR 238")),
    "id-job": (("Job #: «449931»", "doc no. «1965-87274»"), ("job: welder", "doc: 2/3")),
    "id-job-bare": (("job «338127»", "jobid «338127»"), ("job 12 hours", "doc 2")),
    "id-study": (
        ("Study: «301»", "subject no. «044-0117»", "randomisation no «3117»"),
        ("study: 2 mg", "subject: 3/4"),
    ),
    "id-study-bare": (("protocol «NVX-207-03»", "subj «847691»"), ("study 12 weeks", "protocol 2 mg")),
    "id-prescription": (("Rx# «7731902»", "Rx no. «0771829»"), ("Rx: 10 mg", "rx# 2")),
    "id-prescription-bare": (("rx «3301774» renewed",), ("rx 10 mg", "Rx 42.56/16")),
    "id-badge": (("badge «1477»", "passport «P00418827»", "Emp ID «E1582206»"), ("badge lost", "star 2")),
    "id-interpreter": (("interpreter #«441883»", "interp: «81120»"), ("interpreter present 20 min", "interp: 2 h")),
    "id-blood-unit": (("unit no. «W201517193317»", "units: «TN44720118»"), ("unit: 4", "2 units")),
    "id-code": (("lockbox «4471»", "gate code «1851»", "key safe «1947»"), ("code status full", "pin 2 mm", "code 66")),
    "id-id": (("ID «V-4589703»", "ID: «90-441-0027»"), ("ID consult", "ID 2 mg")),
    "id-number": (("Form no. «25059177»", "voucher number «K8820447»"), ("no 5 mg", "no. 3", "number 12")),
    "id-accession": (("path «S13-40991» and «MR17-02208»",), ("COVID-19-2020", "T13-L2", "T12-1")),
    "id-hash": (("seen #«AT-171336»", "trip # «90417»"), ("#3 of 4", "#30 tabs", "POD #2")),
    "id-blood-donation": (("gave «W1418 19 004471» and «W201517193317»",), ("W141 19 004471",)),
    "id-alien-number": (("file «A213-447-118»", "A «213-447-118»"), ("A 213-447", "213-447-118")),
    "id-hyphened-code": (("saw «FL-0220-417» and «U-5590127»",), ("COVID-19", "PHQ-9", "CA-125", "L4-5")),
    "id-series-groups": (("card «GSB 5175 29522» kept",), ("BP 13880 7766", "HR 96 20")),
    "id-letter-four": (("the veteran («D4810»)",), ("D4810", "(D48)")),
    "id-mixed-code": (("leads «PJN7120044» fine",), ("G3P1011", "T2N0M0", "H1N1", "COVID19")),
    "id-mixed-code-digits-first": (("aids «2214H0937» fitted",), ("500MG", "12FEB2014", "10MG5")),
    "account-iban": (
        ("IBAN: «GB29 NWBK 6016 1331 9268 19»", "iban «DE89370400440532013000»"),
        ("IBAN pending", "IBAN DE8"),
    ),
    "account-sort-code": (("sort code «20-45-18»", "Sort code: «204518»"), ("sort code pending", "sort 20-45-18")),
    "id-password": (
        ("pw:«Tr4mline»", "wifi pw «Sunny!47»", "Password: «hunter2x»", "pwd is «Tr4mline»"),
        ("password reset", "p/w COVID-19", "PW 10-12mm", "p/w 2-day hx", "PW 12345", "forgot password again"),
    ),
    "id-long-digits": (("slip «2088144» to the lab",), ("WBC 12000", "12,000,000", "about 12000")),
    "id-grouped-digits": (("policy kept «4471-20-881» in hand",), ("0845-1230", "1450-1750 kcal", "2-3")),
}

CONTACTS: Cases = {
    "fax-labelled": (
        ("fax «312-555-0143»", "FAX: «(818) 155-3309»", "faxed to «478.555.0161»"),
        ("faxed 11 pp", "fax 2/14/10"),
    ),
    "fax-letter": (("F «617.555.0161»", "f. «617-555-0161»"), ("F 617", "F 98.6")),
    "fax-nearby": (("fax the form to «312-555-0143»",), ("fax the form to Dr. Lee", "called 312-555-0143")),
    "phone-labelled": (
        ("Tel «0471 2555140»", "cell «2072555014»", "call «555-0143» after noon", "reach at «2072555014»"),
        ("called 3/14/2017", "tel 2 times", "work 20 hours 30 min"),
    ),
    "phone-north-america": (
        ("write or ask «312-555-0143»", "«312.555.0143», ask", "«312 555 0143»"),
        ("MRN 312-555-0143", "312-555-014", "9312-555-0143"),
    ),
    "phone-north-america-one": (("toll free «1-800-555-0143»",), ("1-800-555", "1-2 tabs")),
    "phone-parenthesised": (("home «(312) 555-0143»", "«(03) 5550 0188»"), ("(312) patients", "(2) 555")),
    "phone-glued": (("sent«877-555-0143» now",), ("A877-555-0143", "fax877-555")),
    "phone-ten-digits": (("called Ann at «3125550143».",), ("order 3125550143", "weight 3125550143")),
    "phone-international": (("«+44 20 7946 0338»", "«+1 514 555 0160»"), ("2+ edema", "+ 2")),
    "phone-double-zero": (("«00965 9555 0082» abroad",), ("0096 95", "00441 2")),
    "phone-trunk": (
        ("«020 7946 0653»", "«01632 960209»", "«066 555 0102»"),
        ("NHS 020 7946 0653", "0900 1200", "01632"),
    ),
    "phone-seven-digits": (("answers via «559-0117»",), ("lab 559-0117",)),
    "phone-seven-digits-weak": (("Kim «559-0117», mornings",), ("500-4000 Hz", "559-01178")),
    "pager": (("pager «4471»", "pgr «559-0117»", "paged «4403»"), ("paged 1100", "paged x2", "beeper off", "PgR 636")),
    "page-number": (("page «14471» if worse", "page me at «5590»"), ("page 3 of 9", "pages 12")),
    "pager-letter": (("A. Reed MD p«4471»",), ("P 88", "p 44712", "p4")),
    "extension": (("ext «5512»", "Ext. «221»"), ("ext 5 deg", "ext fixator", "ext 20")),
    "extension-letter": (("x«5512»", "x«2-5517»"), ("x2", "x10 days", "x1000 mg")),
    "extension-letter-spaced": (("S. Wade x «5217»",), ("x 2", "x 500 mg", "4 x 5000 units")),
    "pager-after-rank": (("Lee PGY2 #«6117»",), ("PGY2 12", "PGY-3")),
    "extension-after-phone": (
        ("312-555-0143 x «305»", "312-555-0143 anexo «305»"),
        ("3 x 30", "12 x 305", "312-555-0143 opt 3"),
    ),
    "email": (("write to «jo.lee@clinic.org».", "«jo @uni.edu»"), ("5 @ 1200", "@0930", "seen @ 100 mmHg")),
    "email-obfuscated": (
        ("«jo.lee (at) site.net»", "mail «jlee at site.org»", "is «jo dot lee at site dot com» now"),
        ("seen at site 2", "look at clinic.org", "at 3 oclock.then"),
    ),
    "url-scheme": (("see «https://my.clinic.org/x?c=9».",), ("http is slow", "https://")),
    "url-www": (("«www.clinic.org/records».",), ("www", "ewww.x")),
    "url-bare": (("portal «mychart.clinic.org/reset», or «clinic.com»",), ("e.g", "pt.in bed", "b.i.d", "Does.care")),
    "ip-v4": (("from «10.44.17.203» by",), ("10.44.17.303", "v 1.2.3.4", "1.2.3.4.5")),
    "mac-address": (
        ("MAC «00:0C:DE:41:77:18».", "pump («a4:5e:60:c1:09:7f»)"),
        ("at 10:30:00", "10:30:00:12:11", "00:0C:DE:41:77:18:20"),
    ),
    "ip-v6": (("from «2001:db8:44:17::9a».",), ("12:30:45", "at 10:30:00", "ab:cd")),
}

DATES: Cases = {
    "date-numeric": (
        ("on «3/14/2017»", "seen«02/20/2087»NA 135", "«14/3/17»", "«6/9/'19»", "signed «07/18/2151»1722"),
        ("120/80/60", "13/32/2017", "1/2/3", "3/14/20171", "PCA .2/6/30"),
    ),
    "date-numeric-dashed": (
        ("«3-14-17»", "«14.03.2017»", "«09-23-46»", "NovoRapid «10-5-23» commenced", "Lantus «3-5-12» stopped"),
        ("44-17-92", "10.44.17.203", "v 1.2.17", "03-51-88", "NovoRapid 8-6-10 with meals", "Mixtard: 10-0-12"),
    ),
    "date-iso": (("«2017-03-14»", "«2017-03-14»T08:00", "«2017/3/14»"), ("2017-13-14", "1-2017-03-14")),
    "date-compact": (("«20140305»", "«02152010» 0946", "«20140305»T0812"), ("20141305", "#20140305", "120140305")),
    "date-spaced-after-label": (("DOB «07 07 79»", "date «3 14 19»"), ("DOB 17 47 79", "date 3 14")),
    "date-birth-compact": (("dob «090141»", "DOB: «09011941»"), ("dob 0901", "d 090141")),
    "date-month-slash-year": (("«3/2017»", "«03-2017»", "«2/'22»"), ("13/2017", "3/20170", "120/2017")),
    "date-year-month": (("exp «2018-09»", "«2024/03»"), ("2018-19", "2018-9-1")),
    "date-month-slash-day": (
        (
            "seen «3/14»",
            "«3/14»-«3/16»",
            "CT «6/17», labs",
            "on «4/5» he fell",
            "seen on «24/7», well",
            "ER («9/4») and",
            "\n«9/12» 0830 called",
            "from «7/8»",
            "Date «9/12» total knee",
            "Mr de Wit RIP «1/4», certificate done",
        ),
        (
            "strength 5/5",
            "pain 7/10",
            "seen, 3/7 hx of cough",
            "via midline, 14/7 total",
            "on, 2/12 history of",
            "reflexes ok, 2/4 patellae",
            "2/6 murmur",
            "1/2 tab",
            "smokes 1/2 ppd",
            "BP 120/80",
            "GCS 14/15",
            "VA 20/40",
            "pulses 2/4",
            "Apgars 8/9",
            "BiPAP 12/5",
            "MMSE 22/30, GDS 3/15",
            "here 24/7 for her, visiting 24/7 if on comfort",
            "then 1/2 a bar at noon",
            "Suboxone film 8/2 BID",
            "L4/5 disc",
            "crackles 1/3 up",
        ),
    ),
    "date-month-dash-day": (("exp «11-20»",), ("10-14 days", "2-3 tabs", "seen 2-3 times")),
    "date-weekday-letter-numeric": (
        ("«T 6/2»  87.9", "«Th 9/19» E2"),
        ("T 36/2", "W 13/40", "a T 6/2", "R 6/9 L 6/12"),
    ),
    "date-quarter-year": (
        ("in «Q3 of 2021», was", "«Q1 2020»", "«4Q '22»", "«Q4/2022»"),
        ("Q3 hours", "Q4 202", "IQ1 2020", "Q2 2000 mg", "Q2 20205"),
    ),
    "date-decade-words": (
        ("in the «eighties»", "in the early «nineties» after"),
        ("in her eighties", "two nineties", "sats in the mid nineties"),
    ),
    "date-roman-month": (
        ("«3.iv.21»", "on «12.XI.2019»", "«5/iii/2020»", "DOB «17-IV-1966»"),
        ("3.iv.2", "32.iv.21", "1.3.iv.21", "3.ixi.21"),
    ),
    "date-roman-month-only": (("noted «10.ix» but", "since «3.vii»."), ("section 3.ii", "on 32.ix", "on 3.i")),
    "date-year": (
        ("since «2014»", "CABG («2009»)", "PSH «2009».", "in «1998», she", "vaccine «2016»,"),
        ("at 1900", "called 2015", "2000 mg", "labs 2010", "2045 Oak Street", "page 1900", "G3P2(2002)"),
    ),
    "date-year-range": (("«1966»-«1970»", "«1944»-«45»."), ("1900-2230", "2010-41.", "1450-1750")),
    "date-apostrophe-year": (("in «'08», and «’88»",), ("5'10", "'081", "o'08")),
    "date-decade": (("the «1980s»",), ("1985s", "1980 s")),
    "date-decade-short": (
        ("in the «70s» then",),
        ("HR 70s", "in her 70s", "pressure in the 80s", "sats dropped into the 80s"),
    ),
    "date-day-month": (
        ("«14 March 2017»", "«05MAR2014»", "«5-Mar-14»", "«3rd of May»", "«13/nov/2019»", "seen «12 Aug»."),
        ("1-2 may repeat", "5 dec", "32 March", "III-3 April"),
    ),
    "date-day-range-month": (("«12»-«19 Dec 2018»", "«3» and «4 May»"), ("40-50 May", "2-3 mg")),
    "date-month-day": (
        (
            "«March 14, 2017»",
            "«Aug. 31st», 10",
            "«Jan 3 '33» port",
            "«January 15» & «22, 2019»",
            "«Feb 13»-«14, 2016»",
            "«march 9» she",
        ),
        ("may 2 be", "Mar 40", "dec 10%", "Mayo 9", "Nov 2 mg", "DEC 6/kg", "sep 9-11 o'clock", "Sep 9 o'clock"),
    ),
    "date-month-year": (("«November 2016»", "«Nov '15»", "«May of 2005»"), ("Nov 15", "Nova 2016")),
    "date-year-month-day": (("«1962-FEB-28»",), ("1962-FEB-281", "1962-XYZ-28")),
    "date-month-only": (
        ("in «April» she", "«September» visit", "until «Oct.», then", "RTC «Feb»", "«May» or «June»"),
        ("she may go", "Dr. May", "march on", "OCT scan normal", "April Jones, RN", "dec L"),
    ),
    "date-spelled": (
        ("«June the second»", "«December twenty-sixth, two thousand eight»"),
        ("may first try", "june bug"),
    ),
    "date-weekday": (
        (
            "«Tues 3/14/17» seen",
            "«Monday»",
            "on «Fri.», then",
            "«Wednesday, 25 January 2017».",
            "«Sat 10/8»",
            "«Thurs the 5th»",
        ),
        (
            "O2 sat 95",
            "sun exposure",
            "Sunday School",
            "she sat up",
            "Sat out in chair",
            "sats 93%",
            "Thus, no change",
            "on thus far",
        ),
    ),
    "date-weekday-letters": (
        ("HD «M/W/F»", "«MWF» 9-12", "«T/Th» class", "«TTS» via fistula", "clinic «T/F», and «T/R» from 9"),
        ("CT/MRI", "M/Wx", "TTS patch", "TTS 25 mcg", "flex TTS", "T/F from frailty", "head coil T/R only"),
    ),
    "date-holiday": (
        (
            "before «Thanksgiving»",
            "«New Year's Eve»",
            "at «Halloween 1948»",
            "on «Labor Day»",
            "«Cinco de Mayo»",
            "before «Ganesh Chaturthi»",
            "at «Raksha Bandhan»",
            "since «Hari Raya»",
            "on «Eid-ul-Azha»",
        ),
        (
            "Christmas-tree rash",
            "memorial hospital",
            "her mother's care",
            "christmas disease",
            "labor pains",
            "St Patrick's Hospital",
            "All Saints Primary School",
            "All Souls College",
            "St. Stephen's Church",
        ),
    ),
    "date-fourth-of-july": (("on «the Fourth of July»", "«4th of July 2014»"), ("July 4th", "fourth of May")),
    "date-ordinal": (
        ("on «the 29th».", "by «the 3rd» if well", "on «the 3rd», 4th and 5th", "on «the 3rd» and 4th of the month"),
        (
            "the 3rd rib",
            "the 4th and 5th fingers",
            "the 1st, 2nd or 3rd dose",
            "the 45th",
            "the 90th percentile",
            "the 2nd floor",
        ),
    ),
    "date-ordinal-bare": (("due «16th».", "til «3rd», then"), ("on 3rd floor", "by 2nd dose", "from 5th rib")),
    "date-season-year": (("«fall 2013»", "the «spring of 2014»"), ("fall risk", "spring 12", "fall 20 ft")),
}

PLACES: Cases = {
    "street-number": (
        (
            "at «14 Quarry Hill Ct», Kasson",
            "«1901 N Oak St., Apt 4», Reno",
            "«8814 W FLOYD PL», DENVER",
            "«12 West 84th Street»",
        ),
        ("36F CT", "28 Fr CT placed", "0851 CT done", "20 SQ", "10 mg Place", "seen 2 Dr. Lee"),
    ),
    "street-number-soft": (("lives «2606 Bird Creek»",), ("6 Cannot Bend", "30 min Walk", "6 lb Park")),
    "street-numbered-road": (("«71450 RD 442»", "«33117 County Rd 9»"), ("on County Rd 9", "RD 442")),
    "street-number-lower": (
        ("lives «2290 lick fork rd», fedscreek",),
        ("1610 call from dr lee", "300 ft indoors st cane"),
    ),
    "street-name": (("on «Cleveland Ave»,", "off «Upper Mill Road»"), ("the street", "on Ave", "Cleveland avenged")),
    "street-name-likely": (
        ("on «Packard St» then", "at «Rivoli Drive»"),
        ("on St Mary", "by Grace Dr Lopez", "Packard St"),
    ),
    "street-ordinal": (("on «E 29th St»", "from «North 48th»"), ("the 29th", "5 North 48", "E 29")),
    "street-box": (
        ("«P.O. Box 1108»", "«PO BOX 12A», Reno", "«HC 61 Box 30»", "«pobox 1108»"),
        ("box 12", "rt 2 mg", "po 5 mg"),
    ),
    "coordinates": (
        ("GPS «51.5033, -0.1195»", "at «33.86882 S, 151.20930 E»", "«-33.8688, 151.2093» given"),
        ("ratio 1.2345", "1.23, 4.56", "pH 7.3456 pCO2 40.1234"),
    ),
    "three-words": (("what3words «filled.count.soap»", "w3w: ///«filled.count.soap»"), ("sats.ok.now", "w3w pending")),
    "street-plot": (
        (
            "at «Erf 2281, Phase 3», Lusikisiki",
            "«SCO 88-89» (1st flr)",
            "R/o «H.No. 4-7-112», Mohali",
            "«Plot 14/2», Ikeja",
        ),
        (
            "plot 3 of the chart",
            "Plot 3 of the chart",
            "SCF 40 Gy",
            "SCO score 4.5",
            "Flat affect, 2 visits",
            "Ph 7.32",
        ),
    ),
    "street-dwelling": (
        (
            "lives at «14 Polperro»",
            "lives w/ wife at «23 O'Hara»",
            "lives at «12345 Quail Hollow»",
            "living alone at «23 The Larches» until",
            "stayed with his aunt at «9 Coombe», Looe",
        ),
        (
            "Weight stayed at 72 Kg",
            "Sats stayed at 92 On 2 L",
            "lives at 24 hour care",
            "staying at 98 RA",
            "living with HF at 82",
        ),
    ),
    "street-apartment": (("the tower «Apt 1904»", "«apt. 3B»"), ("apt to fall", "apartment below")),
    "state-name": (
        ("in «Ohio».", "moved to «North Carolina» in May", "Reno, «Washington»"),
        ("Ohio State", "Mrs. Virginia Lee", "Washington called"),
    ),
    "state-code": (("Kasson, «MN»", "Boise «ID» 83702", "Reno, «NV»,"), ("Ann Lee, MD", "patient OR 2", "room, MN")),
    "zip-state": (
        ("Kasson, MN «55944»", "Ohio «43235-1210»", "Macon, Ga. «31210»"),
        ("WBC 55944", "order 55944", "MN 559441"),
    ),
    "zip-town": (("12 Oak St, Auburn «01501».",), ("QC pass; S. aureus 29213", "Auburn 01501")),
    "zip-labelled": (("ZIP: «55944»", "postcode «AB1 2CD»"), ("post 12 weeks", "zip line")),
    "postcode-uk": (("Leeds «LS1 4AP»", "«SW1A 1AA»"), ("T12 4AP", "LS1 4CI", "B12 500")),
    "postcode-canada": (("Ottawa «K1A 0B1»",), ("T1N 0M0X", "D1A 0B1")),
    "postcode-ireland": (("Dublin «D02 X285»",), ("D02 2850", "B12 X285")),
    "postcode-australia": (("Perth WA «6000»", "Echuca VIC «3564»"), ("WA 60", "ACT 250")),
    "postcode-india": (("Chennai - «600017»",), ("Hb - 9", "Chennai 600017")),
    "room-label": (
        ("Room: «412»", "Bed: «G-19»", "RM: «214-B»"),
        ("room: large", "ward: 1 now", "bed 6", "Bed: 85% granulation, dull", "bed: 20 inches high"),
    ),
    "room-running": (
        ("in «rm 318» now", "«bed 6» by the door", "«OR 3», on call", "«Ward 28 bed 11»"),
        ("or 2 tabs", "OR 1230", "POD 4", "bed 3x", "chair 158/94", "bed 80% red", "Bed 20 inches", "OR x2", "bed 0"),
    ),
    "room-glued": (("to «rm318» at noon",), ("rm31805", "bedrest")),
    "ward-direction": (("on «3 West»", "«6 North» staff"), ("3 West Oak St", "walked 2 North Avenue")),
    "floor": (("the «4th floor»", "«2nd fl» clinic"), ("4th flow", "the 4th")),
    "floor-number": (("on «floor 4» today",), ("floor 4/5", "floor mat")),
    "highway": (
        ("on «Hwy 61»", "via «I-70» east", "took «US 191»"),
        ("SR 84 on ECG", "I-131 scan", "US 30 min", "FM 40"),
    ),
    "highway-exit": (("at «Exit 82»",), ("exit at 8", "exit 4.5 cm")),
}

COUNTRIES: Cases = {
    "country-pair": (
        (
            "from «Trinidad and Tobago»",
            "«St. Vincent and the Grenadines»",
            "in «bosnia & herzegovina».",
            "«ST KITTS AND NEVIS»",
            "«São Tomé e Príncipe»",
        ),
        ("Trinidad and her son", "St. Vincent and then home", "bosnia and croatia", "Tobago"),
    ),
    "country-of": (
        (
            "left «the Democratic Republic of the Congo» in",
            "«Republic of South Africa»",
            "the embassy, «Islamic Republic of Iran».",
            "«state of Israel»",
            "«the People's Republic of  China»",
        ),
        (
            "State of Georgia",
            "Commonwealth of Virginia",
            "a republic of letters",
            "Republic of Texas",
            "state of panic",
        ),
    ),
    "country-article": (
        ("from «the Netherlands», by air", "«The Philippines»", "«THE GAMBIA»", "in «the Dominican Republic»'s"),
        ("the Gambia River", "the Bahamas-based line", "Netherlands", "the US", "the Philippines Embassy"),
    ),
    "country-whole": (
        ("«United States of America»", "the «isle of man» ferry"),
        ("isle of mannequins", "united front"),
    ),
}

AGES: Cases = {
    "age-years-old": (
        ("a «39»-year-old man", "«39» yo", "«4.5» years old", "«67» y/o", "«59» years of age", "«4 1/2» years old"),
        ("over 65 years old", "> 18 yo", "39 years ago"),
    ),
    "age-years-old-glued": (("pt«54»yo",), ("54 yo", "a54 x")),
    "age-years-sex": (("«46» yrs F", "«5» y girl"), ("5 yrs ago", "46 yrs smoking")),
    "age-years-months": (("«4» y «2» mo", "«7»-year «3»-month-old"), ("4 y ago", "4 years")),
    "age-spelled-years-old": (
        ("a «ninety-two» year old", "«three and a half» years old", "«ninetytwo» year old"),
        ("two years ago", "one year later"),
    ),
    "age-months-old": (("a «7» month old", "«3»-week-old girl"), ("7 months ago", "3 weeks out")),
    "age-label": (
        ("Age: «39»", "Age:«39»Sex:F", "age «ninety-two»", "at age of «6»"),
        ("age > 65", "bone age 17", "Age: 3 days", "age 12-17"),
    ),
    "age-dob-age-sex": (("DOB/Age/Sex: 5/5/1954 «59» M",), ("Age/Sex: unknown", "DOB: 5/5/1954")),
    "age-aged": (("aged «39»", "aged «8» and «5»"), ("aged 12 to 17", "aged cheese")),
    "age-decade": (("in her «60s»", "in his late «seventies»"), ("in the 60s", "her 60 beats")),
    "age-sex": (
        ("«67»M with", "HPI:«54»F", "«62»yoM"),
        ("L 28F chest tube", "6F sheath", "T 98.6 F", "below 20 F", "3M-07"),
    ),
    "age-sex-column": (("Lee    «88»   F   Rm", "«23»/F"), ("T 98   F1", "12 / Fr", "88 FEV")),
    "age-sex-word": (("a «45» male", "«81» lady"), ("5 male", "450 males")),
    "age-kin": (
        ("wife Nora («88»)", "son Miles, «5», well", "daughters («8» and «5»)", "brother Al Roe («71», Reno)"),
        ("wife (retired)", "son (2014)", "mother, 12 beats"),
    ),
    "age-kids": (("kids «6» and «8» at home", "sons «15» and «11»,"), ("kids 2", "boys 3 and 4 mg", "children 2 or 3")),
    "age-name-bracket": (("Kari («57»), next door",), ("Table (3)", "Kari (RN)", "BMI (32)")),
    "age-name-comma": (
        ("Vern Roe, «58», is back", "Mr. Vern Roe, «81»."),
        ("Bair Hugger, 42 deg", "Cirque Bowl, 40 m", "Suite Two, 12 left"),
    ),
    "age-life-event": (
        ("mother died at «58»", "his stroke at «seventy-two»,", "divorced at «30», he"),
        (
            "sinus at 64",
            "positive at 20",
            "seen at 10 am",
            "died at 10:30",
            "died at ten past four",
            "she hears at 65 dB",
        ),
    ),
    "age-family-history": (
        ("uncle d. «61», CWP", "menopause «51».", "mat aunt dx «52»,", "father A&W «71»,"),
        ("vit D 19,", "died 2 days", "onset 3/14"),
    ),
    "age-turning": (
        ("turned «five» in May", "he turns «94» on", "will be «63» soon", "she'll be «93» in May"),
        ("turned 30 degrees", "turns 2 times", "will be 2 weeks", "she's 31+4"),
    ),
    "age-has-years": (
        ("She has «9» years. They came", "the child has «eleven» years now,", "his wife has «72» years."),
        ("she has 9 years of schooling", "he has 2 months to go", "she has 20 pack years.", "he has 140 years."),
    ),
    "age-predicate": (
        ("he is «63».", "Mrs. Roe is «92», here", "I am «93»"),
        ("he is 2 weeks", "pain is 8,", "she is 5 cm"),
    ),
}

USERNAMES: Cases = {
    "user-name-labelled": (
        (
            "User ID: «kstarling»",
            "login = «pt.ruiz7»",
            "log-in: «pt.ruiz7»",
            "Dictator ID: «0418»",
            "her user id is «tchance22» .",
        ),
        ("user reports pain", "login failed", "operator ID pending"),
    ),
    "user-code-after-role": (
        ("Entered by «epruitt_044» from", "scribe «hpatel09»", "Operator: «mb77»", "e-sig «dburr5»", "COLL: «YCHO2»"),
        (
            "signed 3/14",
            "collected12/05",
            "signed7/26/19",
            "collected by RN",
            "tech: vit D25",
            "released by CD4",
            "op note 2",
        ),
    ),
    "user-code-after-clerk": (
        (
            "closed by «spet3»",
            "Logged by «towens3»",
            "Nurse «jkl2207»",
            "trans. «tbrsv03»",
            "Routed to «ract14»",
            "K. Holm LPN «lsk7»",
            "RN/«bd04»",
        ),
        (
            "by SPET3",
            "by vit12",
            "lpn lsk7",
            "RN DQ7",
            "routed to 4B",
            "by covid19",
            "by week12",
            "by spet3.example/x",
            "standby ab12",
        ),
    ),
    "user-after-initials": (
        ("KVM/«tr88»", "AF/«kd12».", "D: GAL/«mt31»"),
        ("KVM/TR88", "mg/ml2", "KVM/tr88/2", "x/tr88"),
    ),
    "user-initials": (
        (
            "T. Hartwell, intern «th551»",
            "Orla Quist, PharmD, CACP     «oq19»",
            "Nils Ekdahl, MD (PGY 2) «NE118»",
            "DAVOR HOLM, MD    «DXH3»",
        ),
        (
            "RN th551",
            "Orla Quist, RN ox19",
            "Orla Quist\noq19",
            "Orla Quist, CD4 low",
            "orla quist oq19",
            "Orla Quist oq19/2",
        ),
    ),
    "user-family-name": (
        ("- «kpham22» paged", "19:02 «tokafor4»", "at 7 («jramirez03»)"),
        ("covid19", "beta2", "grace13", "brca2", "path kpham22.example/x", "kpham22@x.org", "tKpham22", "xkpham220815"),
    ),
    "user-dotted": (
        ("new «nadia.bel03» now", "by «k.osei12»."),
        ("odor.staples", "size.pad out", "brow.cn7.2", "nadia.bel03@x.org", "v.k1"),
    ),
    "user-underscore": (
        ("triage «rn_okeefe», bed 4", "by «wa_kpost»", "«hmoran_roi».", "queue «us_kt»", "«thall2_x» out"),
        ("session_id 4", "coll_dt", "rn_okeefe: 4", "name ____________", "http://x.org/a_bc/d", "a_bc_de", "A_bc"),
    ),
    "handle-of-site": (
        (
            "insta: «wobbly.knees.88»",
            "Instagram «wobbly.knees.88».",
            "Snapchat is «dizzy_lizzy»",
            "her tiktok account «gran_on_wheels»",
            "Reddit (u/«no_spleen»)",
            "twitch as «KidneyBeans»",
        ),
        ("Facebook pt.says so", "TikTok challenge x2", "Xbox 3 hours a day", "Telegram group"),
    ),
    "handle-named": (
        ("gamertag «Sircoughsalot»", "screen name: «kidneybeanz»", "on twitch under the name «kidneybeanz», nightly"),
        ("gamer tag is shared", "screen name and password", "Facebook name change", "name kidneybeanz"),
    ),
    "handle-at": (
        ("Twitter @«kidneybeanz»", "posts on reddit as u/«spleenless»", "Instagram: @«kidneybeanz»"),
        ("reddit u/s", "twitter @ home", "@kidneybeanz", "u/spleenless"),
    ),
}

CASES: Cases = {**NUMBERS, **USERNAMES, **CONTACTS, **DATES, **PLACES, **COUNTRIES, **AGES}
