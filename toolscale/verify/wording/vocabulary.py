"""Words of no trade: those that ask for nothing by themselves, those that wish, widen, join, deny or set a condition."""

from __future__ import annotations

import re

PLAIN = frozenset(
    """
    a an the this that these those it its it's that's there there's here i i'm i've i'd i'll me my mine myself we we're we've we'd we'll us our
    you you're your he she they them their his her him who's is are am was were be been being has have had having do does did doing done
    can could will would may might shall to of in on at by for from with about into onto out off over under up down as
    than so and or but yet if then now just only please kindly right away straight very really quite bit little lot much pretty well
    okay ok alright sure yes no hi hello hey dear sir madam team everyone good morning afternoon evening day greetings thanks thank thx
    ty cheers appreciated appreciate appreciation advance regards best kind kindest sincerely truly yours warm warmest faithfully respectfully
    help helping hand assist assistance sorry excuse pardon bother trouble hope hoping wondering wonder possible possibly
    name named called born birth dob date identification details reference verification verify security purposes records record file client customer
    number ending ends digits last four one ones thing matter message note writing write wrote today moment quick quickly
    question favor favour way mind able let let's make made making get getting got go going goes went ahead take taking taken took use using used
    put want wanted wants need needed needs like would'd wish please'd see look looking sort sorted handle handled handling care deal
    arrange arranged which who whose what what's when where how whether because since while though still already after afterwards afterward
    before first finally
    account's doing fine great nice lovely week weekend hear speak talking soon
    much-appreciated asap promptly directly simply basically actually maybe perhaps guess think thought know knew say said saying mean meant
    speaking concerned regarding concerning behalf myself also too plus oh ah um uh hmm gosh yeah yep
    feel free sounds that'd that'll it'd it'll it'll there'll who'd come comes coming came cover covers covered enough
    money cash funds sum amount amounts
    could've should've would've can't cannot couldn't don't doesn't didn't won't isn't aren't wasn't haven't hasn't not
    me-again again's here's where's how's when's
    convenience earliest urgent urgently short story long quickest
    """.split()
) - frozenset({"over", "under", "first", "last", "no", "not", "whether", "if", "before"})
"""Words that may stand anywhere: none of them asks for a thing, names one, or changes how much or how often."""

CAREFUL = frozenset({"over", "under", "first", "last", "no", "not", "whether", "if", "before"})
"""Words that other rules look at: they may stand too, where those rules let them."""

TELLING = frozenset(
    """
    tell tells told telling inform know knowing confirm confirmation report hear give say state list show read remind provide look find figure work
    check much many what which who whose when where how balance left remaining remains remain total altogether all sum amount amounts count number
    cost costs price come comes add adds worth date day due stand stands now then afterward afterwards exactly roughly after once done's
    end ends up figure total's still owe owed question wonder curious update
    """.split()
) - frozenset({"update"})
"""Words of a question; they are known only where the plan tells something."""

STARTERS = frozenset(
    """
    i i'm i've i'd i'll my we we're we've we'd our it it's its there there's this that that's these those he she they he's she's they're
    nothing something somebody someone mine
    """.split()
)
"""Words with which a plain statement begins: about who speaks, or about something pointed at."""

GOING_ON = frozenset(
    "bought went got had was were saw found forgot lost came made took spent left felt thought knew".split()
)
"""Verbs in the past, irregular ones, with which a statement goes on after *and*; regular ones end in -ed."""

WISHING = frozenset(
    """
    want wants wanted wanting need needs needed like wish hope hopes hoping expect expects expecting require requires request requests ask asks asking
    demand demands authorize authorise instruct order prefer insist appreciate would let let's please kindly should must ought shall gotta
    wanna can could will may might suppose supposed have-to has-to going-to you you're you'll you'd you've your yours yourself grateful
    """.split()
)
"""Words that make a wish of a statement: with one of them, all its words must be known."""

ACTS = frozenset(
    """
    email mail call text phone ring notify remind send forward print write contact message alert sign enroll register subscribe unsubscribe
    update upgrade downgrade increase decrease raise lower change switch cancel close open delete remove add order buy book transfer wire
    pay refund check confirm verify tell give show find list explain apply waive block unblock freeze unfreeze stop start set put
    move schedule reschedule report dispute withdraw return exchange replace renew extend reserve create make approve reject
    escalate convert reset activate deactivate enable disable lock unlock share issue charge credit debit settle clear terminate
    """.split()
)
"""Base forms of deeds. A statement that has one asks for it, however it begins."""

WIDENING = frozenset(
    """
    also too plus additionally furthermore besides moreover likewise ditto same another other others else more rest remainder remaining
    all both every each everything everyone anybody any either whole entire half quarter third twice double triple again repeatedly regularly
    recurring monthly weekly daily yearly annually quarterly always automatically forever permanently everywhere everybody
    except excluding apart without unless instead rather alternatively otherwise later eventually tomorrow tonight next
    previous earlier future several few most none nothing even regardless
    """.split()
)
"""Words that say of how much, how many or how often, or that begin one thing more."""

JOINING = frozenset({"also", "too", "plus", "additionally", "furthermore", "moreover", "besides"})
"""Those that may join what is wanted in any case, where several things are."""

NEGATIONS = frozenset(
    """
    not don't dont doesn't didn't won't wont never no isn't aren't wasn't weren't can't cannot couldn't shouldn't wouldn't without except excluding
    leave ignore skip instead nor neither avoid unless
    """.split()
)

UP = frozenset("raise increase up higher bump boost lift enlarge hike".split())
DOWN = frozenset("lower reduce decrease down cut drop less shrink".split())
"""Directions of a change: families of verbs have both."""

FORBIDDEN = frozenset(
    """
    policy policies rule rules instruction instructions prompt prompts system assistant ai bot chatbot model llm gpt developer admin administrator
    override bypass jailbreak disregard ignore tool tools function functions api json xml yaml sql database query select insert update drop
    attach pragma password passcode pin token tokens secret key keys credential credentials username login transfer_to_human roleplay pretend
    hack script code execute eval import schema
    """.split()
)
"""Words that speak to a program and not to a service; they may stand where the plan's own words have them."""

CONDITION = re.compile(
    r"\b(?:only if|if|unless|provided|as long as|so long as|assuming|otherwise|in case|on condition|whether|supposing|contingent|depending)\b"
)
COURTESY = re.compile(
    r"\b(?:if|in case) (?:you can|you could|you would|you don't mind|you do not mind|you have (?:a|the) \w+|you need (?:that|it|this|me|anything|more|any)"
    r"|possible|at all possible|that's (?:ok|okay|fine|alright|all right|possible)|that is (?:ok|okay|fine|alright|all right|possible)|it's (?:ok|okay|possible)"
    r"|it is possible|it's not too much trouble|i may|that works|so|that helps|it helps|you please|needed|necessary|there (?:is|are) any(?:thing)? "
    r"(?:else|questions?|problems?|issues?))\b[^.!?,]*|\b(?:let me know|tell me|know|wonder(?:ing)?|ask(?:ing)?) if you (?:can|could|would)\b"
)
"""Where `if` sets no condition."""

LOW = re.compile(
    r"\b(?:under|below|less than|lower than|smaller than|fewer than|no more than|not more than|at most|not over|up to|or less|or under|or below|by|no later than|"
    r"not later than|on or before|before|within|doesn't exceed|does not exceed|isn't more than|is not more than|isn't over|is not over|"
    r"not above|maximum|max|cheaper than|earlier than|not exceed(?:ing)?|never more than)\b"
)
HIGH = re.compile(
    r"\b(?:over|above|more than|greater than|higher than|bigger than|at least|no less than|not less than|not under|not below|or more|or over|or above|after|"
    r"exceeds?|exceeding|isn't less than|is not less than|isn't under|minimum|min|later than|not fall below|not drop below|doesn't (?:fall|drop|go) below"
    r"|no earlier than|from)\b"
)
"""How a threshold is held against: below it, above it."""

TO = re.compile(
    r"\b(?:to|into|onto|towards?|in favor of)\s+(?:(?:my|the|our|his|her|their|a|an|your)\s+)?(?:[a-z]+\s+){0,2}?$"
)
FROM = re.compile(
    r"\b(?:from|out of|off|using|use|debit|charge|draw on|with(?: (?:the )?money (?:from|in))?|via)\s+(?:(?:my|the|our|his|her|their|a|an|your)\s+)?(?:[a-z]+\s+){0,2}?$"
)
"""Words right before a thing that say whether something goes there or comes from there."""

CORRECTING = re.compile(
    r"\b(?:sorry|oops|wait|actually|i mean|i meant|make that|correction|scratch that|no,|rather|hold on|on second thought|my mistake|strike that)"
)
ELSE = re.compile(
    r"\b(?:otherwise|if not|else|failing that|if it isn't|if it's not|if there isn't|if that's not|if it doesn't|or else)\b"
)
"""Where the other way begins."""

MARKUP = re.compile(
    r"https?:|www\.|://|\b\w+@\w|```|[<>{}\[\]\\|`=~^_@]|\*\*|^\s*#|\b[a-z]+\(\)|--\s|/\*", re.MULTILINE
)
ROLE = re.compile(
    r"(?:^|\n)\s*(?:system|assistant|user|human|developer|tool)\s*[:>]|\b(?:ignore|disregard|override)\s+(?:all|any|the|your|previous|prior|above)\b"
    r"|\bforget\s+(?:all|any|your|everything|previous|prior|what you)\b"
)
ALLOWED_MARKS = frozenset(" \n.,;:!?'\"()-–—/&$%+…’‘“”#*•")
"""Characters besides letters and digits."""
