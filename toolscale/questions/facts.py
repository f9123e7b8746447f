"""Tables of facts that do not change: chemical elements, countries and capitals, metric prefixes, ASCII, SI units,
alphabets, resistor colors."""

from __future__ import annotations

_ELEMENTS = """
H hydrogen He helium Li lithium Be beryllium B boron C carbon N nitrogen O oxygen F fluorine Ne neon Na sodium Mg
magnesium Al aluminium Si silicon P phosphorus S sulfur Cl chlorine Ar argon K potassium Ca calcium Sc scandium Ti
titanium V vanadium Cr chromium Mn manganese Fe iron Co cobalt Ni nickel Cu copper Zn zinc Ga gallium Ge germanium As
arsenic Se selenium Br bromine Kr krypton Rb rubidium Sr strontium Y yttrium Zr zirconium Nb niobium Mo molybdenum Tc
technetium Ru ruthenium Rh rhodium Pd palladium Ag silver Cd cadmium In indium Sn tin Sb antimony Te tellurium I iodine
Xe xenon Cs caesium Ba barium La lanthanum Ce cerium Pr praseodymium Nd neodymium Pm promethium Sm samarium Eu europium
Gd gadolinium Tb terbium Dy dysprosium Ho holmium Er erbium Tm thulium Yb ytterbium Lu lutetium Hf hafnium Ta tantalum W
tungsten Re rhenium Os osmium Ir iridium Pt platinum Au gold Hg mercury Tl thallium Pb lead Bi bismuth Po polonium At
astatine Rn radon Fr francium Ra radium Ac actinium Th thorium Pa protactinium U uranium Np neptunium Pu plutonium Am
americium Cm curium Bk berkelium Cf californium Es einsteinium Fm fermium Md mendelevium No nobelium Lr lawrencium Rf
rutherfordium Db dubnium Sg seaborgium Bh bohrium Hs hassium Mt meitnerium Ds darmstadtium Rg roentgenium Cn copernicium
Nh nihonium Fl flerovium Mc moscovium Lv livermorium Ts tennessine Og oganesson
"""
ELEMENTS = tuple(zip(_ELEMENTS.split()[::2], _ELEMENTS.split()[1::2], strict=True))
"""(symbol, name) in the order of atomic numbers, hydrogen first (IUPAC)."""

_COUNTRIES = """
AF Afghanistan Kabul; AL Albania Tirana; DZ Algeria Algiers; AO Angola Luanda; AR Argentina Buenos_Aires; AM Armenia
Yerevan; AU Australia Canberra; AT Austria Vienna; AZ Azerbaijan Baku; BD Bangladesh Dhaka; BY Belarus Minsk; BE Belgium
Brussels; BZ Belize Belmopan; BT Bhutan Thimphu; BA Bosnia_and_Herzegovina Sarajevo; BW Botswana Gaborone; BR Brazil
Brasilia; BG Bulgaria Sofia; BF Burkina_Faso Ouagadougou; KH Cambodia Phnom_Penh; CM Cameroon Yaounde; CA Canada Ottawa;
TD Chad N'Djamena; CL Chile Santiago; CN China Beijing; CO Colombia Bogota; CR Costa_Rica San_Jose; HR Croatia Zagreb;
CU Cuba Havana; CY Cyprus Nicosia; CZ Czechia Prague; DK Denmark Copenhagen; EC Ecuador Quito; EG Egypt Cairo; SV
El_Salvador San_Salvador; ER Eritrea Asmara; EE Estonia Tallinn; ET Ethiopia Addis_Ababa; FJ Fiji Suva; FI Finland
Helsinki; FR France Paris; GA Gabon Libreville; GE Georgia Tbilisi; DE Germany Berlin; GH Ghana Accra; GR Greece Athens;
GN Guinea Conakry; GY Guyana Georgetown; HT Haiti Port-au-Prince; HN Honduras Tegucigalpa; HU Hungary Budapest; IS
Iceland Reykjavik; IN India New_Delhi; IR Iran Tehran; IQ Iraq Baghdad; IE Ireland Dublin; IT Italy Rome; JM Jamaica
Kingston; JP Japan Tokyo; JO Jordan Amman; KE Kenya Nairobi; KW Kuwait Kuwait_City; KG Kyrgyzstan Bishkek; LA Laos
Vientiane; LV Latvia Riga; LB Lebanon Beirut; LS Lesotho Maseru; LR Liberia Monrovia; LY Libya Tripoli; LI Liechtenstein
Vaduz; LT Lithuania Vilnius; LU Luxembourg Luxembourg; MG Madagascar Antananarivo; MW Malawi Lilongwe; MV Maldives Male;
ML Mali Bamako; MT Malta Valletta; MR Mauritania Nouakchott; MU Mauritius Port_Louis; MX Mexico Mexico_City; MD Moldova
Chisinau; MC Monaco Monaco; MN Mongolia Ulaanbaatar; ME Montenegro Podgorica; MA Morocco Rabat; MZ Mozambique Maputo; NA
Namibia Windhoek; NP Nepal Kathmandu; NZ New_Zealand Wellington; NI Nicaragua Managua; NE Niger Niamey; NG Nigeria
Abuja; MK North_Macedonia Skopje; NO Norway Oslo; OM Oman Muscat; PK Pakistan Islamabad; PA Panama Panama_City; PG
Papua_New_Guinea Port_Moresby; PY Paraguay Asuncion; PE Peru Lima; PH the_Philippines Manila; PL Poland Warsaw; PT
Portugal Lisbon; QA Qatar Doha; RO Romania Bucharest; RU Russia Moscow; RW Rwanda Kigali; SA Saudi_Arabia Riyadh; SN
Senegal Dakar; RS Serbia Belgrade; SL Sierra_Leone Freetown; SK Slovakia Bratislava; SI Slovenia Ljubljana; SO Somalia
Mogadishu; KR South_Korea Seoul; ES Spain Madrid; SD Sudan Khartoum; SR Suriname Paramaribo; SE Sweden Stockholm; SY
Syria Damascus; TJ Tajikistan Dushanbe; TH Thailand Bangkok; TG Togo Lome; TN Tunisia Tunis; TR Turkey Ankara; TM
Turkmenistan Ashgabat; UG Uganda Kampala; UA Ukraine Kyiv; GB the_United_Kingdom London; UY Uruguay Montevideo; UZ
Uzbekistan Tashkent; VE Venezuela Caracas; VN Vietnam Hanoi; ZM Zambia Lusaka; ZW Zimbabwe Harare
"""
COUNTRIES = tuple(tuple(part.replace("_", " ") for part in row.split()) for row in _COUNTRIES.split(";"))
COUNTRIES = tuple(row for row in COUNTRIES if row[1] != row[2] and f"{row[1]} City" != row[2])
"""(ISO 3166-1 alpha-2 code, country, capital). Countries that have the name of their capital are left out."""

PREFIXES = (
    ("deca", 1), ("hecto", 2), ("kilo", 3), ("mega", 6), ("giga", 9), ("tera", 12), ("peta", 15), ("exa", 18),
    ("zetta", 21), ("yotta", 24), ("ronna", 27), ("quetta", 30), ("deci", -1), ("centi", -2), ("milli", -3),
    ("micro", -6), ("nano", -9), ("pico", -12), ("femto", -15), ("atto", -18), ("zepto", -21), ("yocto", -24),
    ("ronto", -27), ("quecto", -30),
)  # fmt: skip
"""(SI prefix, power of ten)."""

ASCII_MARKS = (
    (32, "space"), (33, "exclamation mark"), (35, "number sign"), (36, "dollar sign"), (37, "percent sign"),
    (38, "ampersand"), (39, "apostrophe"), (40, "left parenthesis"), (41, "right parenthesis"), (42, "asterisk"),
    (43, "plus sign"), (44, "comma"), (45, "hyphen"), (46, "full stop"), (47, "slash"), (58, "colon"),
    (59, "semicolon"), (60, "less-than sign"), (61, "equals sign"), (62, "greater-than sign"), (63, "question mark"),
    (64, "at sign"), (91, "left square bracket"), (92, "backslash"), (93, "right square bracket"), (94, "caret"),
    (95, "underscore"), (123, "left curly bracket"), (124, "vertical bar"), (125, "right curly bracket"),
    (126, "tilde"),
)  # fmt: skip
"""(decimal code, name of the character)."""

UNITS = (
    ("newton", "force"), ("pascal", "pressure"), ("joule", "energy"), ("watt", "power"), ("coulomb", "charge"),
    ("volt", "voltage"), ("farad", "capacitance"), ("ohm", "resistance"), ("siemens", "conductance"),
    ("tesla", "magnetic flux density"), ("henry", "inductance"), ("hertz", "frequency"),
    ("candela", "luminous intensity"), ("lux", "illuminance"), ("weber", "magnetic flux"), ("kelvin", "temperature"),
    ("ampere", "current"), ("mole", "amount of substance"), ("kilogram", "mass"), ("katal", "catalytic activity"),
    ("sievert", "equivalent dose"),
)  # fmt: skip
"""(SI unit, what it measures)."""

_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu "
    "nu xi omicron pi rho sigma tau upsilon phi chi psi omega"
)
GREEK = tuple((name,) for name in _GREEK.split())
"""Letters of the Greek alphabet in order."""

_MORSE = """
A .- B -... C -.-. D -.. E . F ..-. G --. H .... I .. J .--- K -.- L .-.. M -- N -. O --- P .--. Q --.- R .-. S ... T -
U ..- V ...- W .-- X -..- Y -.-- Z --..
"""
_DASHES = {".": "dot", "-": "dash"}
MORSE = tuple(
    (letter, " ".join(_DASHES[mark] for mark in code))
    for letter, code in zip(_MORSE.split()[::2], _MORSE.split()[1::2], strict=True)
)
"""(letter, its code in words)."""

_NATO = """
Alfa Bravo Charlie Delta Echo Foxtrot Golf Hotel India Juliett Kilo Lima Mike November Oscar Papa Quebec Romeo Sierra
Tango Uniform Victor Whiskey X-ray Yankee Zulu
"""
NATO = tuple((name[0], name) for name in _NATO.split())
"""(letter, its word)."""

_COLORS = "black brown red orange yellow green blue violet gray white"
RESISTORS = tuple((str(digit), color) for digit, color in enumerate(_COLORS.split()))
"""(digit, color)."""

SPELLINGS = {
    "aluminium": ("aluminum",),
    "caesium": ("cesium",),
    "sulfur": ("sulphur",),
    "Kyiv": ("Kiev",),
    "Alfa": ("Alpha",),
    "Juliett": ("Juliet",),
    "X-ray": ("Xray",),
    "voltage": ("electric potential",),
    "equivalent dose": ("dose equivalent",),
}
"""Other forms that are right as well."""
