"""The populated bank, read as a skeptic would: names, dates, payees, bills and ledgers fit together."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from faker.providers.person.en_US import Provider

from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.population import populate

TODAY = "2026-03-16"
LABELS = {
    "landlord": {"rent"},
    "tutor": {"tutoring"},
    "piano teacher": {"piano lessons"},
    "babysitter": {"babysitting"},
    "cleaner": {"cleaning"},
    "gardener": {"garden work"},
    "accountant": {"bookkeeping"},
    "dentist": {"dental plan"},
    "roommate": {"utilities"},
    "neighbor": {"pet care"},
    "mother": {"family support"},
    "father": {"family support"},
    "brother": {"car share", "season tickets"},
    "sister": {"phone plan", "book club"},
    "aunt": {"home help"},
    "niece": {"music school"},
    "daughter": {"pocket money", "swimming lessons", "school lunches", "college savings"},
    "son": {"pocket money", "swimming lessons", "school lunches", "college savings"},
}


@pytest.fixture(scope="module")
def bank() -> Iterator[sqlite3.Connection]:
    environment: Environment = load_environment("finance")
    connection = sqlite3.connect(":memory:")
    for name, rows in populate(environment).items():
        columns = list(environment.schema.tables[name].columns)
        connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
        connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows)
    connection.execute(f"CREATE VIEW today AS SELECT '{TODAY}' AS day")
    yield connection
    connection.close()


def test_given_names_fit_relations(bank: sqlite3.Connection) -> None:
    women, men = set(Provider.first_names_female), set(Provider.first_names_male)
    genders = {
        **dict.fromkeys(("mother", "sister", "daughter", "aunt", "niece"), women),
        **dict.fromkeys(("father", "brother", "son", "nephew", "grandson"), men),
    }
    found = bank.execute("SELECT relation, name FROM beneficiaries").fetchall()
    assert [
        (relation, name) for relation, name in found if name.split()[0] not in genders.get(relation, women | men)
    ] == []
    assert {relation for relation, _ in found} == LABELS.keys() | {"nephew", "grandson"}


def test_standing_orders_are_for_what_their_payees_are(bank: sqlite3.Connection) -> None:
    found = bank.execute(
        "SELECT DISTINCT b.relation, s.label FROM standing_orders s "
        "JOIN beneficiaries b ON b.beneficiary_id = s.beneficiary_id"
    )
    assert [(relation, label) for relation, label in found if label not in LABELS[relation]] == []


def test_addresses_belong_to_their_names(bank: sqlite3.Connection) -> None:
    for full_name, email in bank.execute("SELECT full_name, email FROM clients"):
        first, last = full_name.lower().split()
        written = email.split("@")[0].rstrip("0123456789")
        assert written in (f"{first}.{last}", f"{last}.{first}", f"{first[0]}{last}")


STORIES = {
    "a client is an adult on joining": (
        "SELECT client_id FROM clients WHERE joined_on < date(date_of_birth, '+18 years')"
    ),
    "an e-mail address or a telephone is one client's": (
        "SELECT email FROM clients GROUP BY email HAVING COUNT(*) > 1 "
        "UNION SELECT phone FROM clients GROUP BY phone HAVING COUNT(*) > 1"
    ),
    "an account is opened by a client": (
        "SELECT account_id FROM accounts JOIN clients USING (client_id) WHERE opened_on < joined_on"
    ),
    "a payee is added by a client": (
        "SELECT beneficiary_id FROM beneficiaries JOIN clients USING (client_id) WHERE added_on < joined_on"
    ),
    "nobody is their own payee": "SELECT name FROM beneficiaries JOIN clients USING (client_id) WHERE name = full_name",
    "payees of one client differ in name": (
        "SELECT name FROM beneficiaries GROUP BY client_id, name HAVING COUNT(*) > 1"
    ),
    "day care is billed to families": (
        "SELECT bill_id FROM bills JOIN clients USING (client_id) "
        "WHERE biller = 'Daybreak Daycare' AND segment IN ('student', 'retired')"
    ),
    "students have no babysitter, house or hotels": (
        "SELECT b.name FROM beneficiaries b JOIN clients USING (client_id) "
        "WHERE segment = 'student' AND relation IN ('babysitter', 'gardener', 'cleaner', 'daughter', 'son') UNION "
        "SELECT charge_id FROM charges JOIN cards USING (card_id) JOIN clients USING (client_id) "
        "WHERE segment = 'student' AND category = 'hotel'"
    ),
    "money goes to known payees": (
        "SELECT transfer_id FROM transfers t JOIN beneficiaries b USING (beneficiary_id) WHERE t.send_on < b.added_on"
    ),
    "nobody sent more than the limit": (
        "SELECT client_id FROM transfers JOIN clients USING (client_id) WHERE transfers.status = 'sent' "
        "GROUP BY client_id, send_on, daily_limit_cents HAVING SUM(amount_cents) > daily_limit_cents"
    ),
    "a transfer within the bank is free, another is not": (
        "SELECT transfer_id FROM transfers JOIN beneficiaries USING (beneficiary_id) "
        "WHERE (region = 'internal') <> (fee_cents = 0)"
    ),
    "who comes to the house banks in the country": (
        "SELECT name FROM beneficiaries WHERE region = 'foreign' "
        "AND relation IN ('babysitter', 'gardener', 'cleaner', 'neighbor', 'roommate', 'tutor', 'piano teacher', "
        "'dentist', 'accountant')"
    ),
    "rent is paid monthly": "SELECT label FROM standing_orders WHERE label = 'rent' AND frequency <> 'monthly'",
    "a weekly order runs within a week": (
        "SELECT label FROM standing_orders, today WHERE frequency = 'weekly' AND next_on > date(day, '+7 days')"
    ),
    "a dispute follows its charge, in time": (
        "SELECT dispute_id FROM disputes JOIN charges USING (charge_id) "
        "WHERE opened_on <= charged_on OR opened_on > date(charged_on, '+60 days')"
    ),
    "only goods can be missing": (
        "SELECT dispute_id FROM disputes JOIN charges USING (charge_id) WHERE reason = 'not_received' "
        "AND category NOT IN ('online shop', 'clothing store', 'electronics store', 'bookstore')"
    ),
    "a new card is delivered once it has arrived": (
        "SELECT replacement_id FROM replacements, today WHERE (status = 'delivered') <> (arrives_on < day)"
    ),
    "only an overdraft costs overdraft fees": (
        "SELECT fee_id FROM fees JOIN accounts USING (account_id) "
        "WHERE fees.kind = 'overdraft' AND overdraft_limit_cents = 0"
    ),
    "pensions are for the retired, wages for others": (
        "SELECT posting_id FROM postings p JOIN accounts USING (account_id) JOIN clients USING (client_id) "
        "WHERE (p.kind = 'pension' AND segment <> 'retired') OR (p.kind = 'salary' AND segment = 'retired')"
    ),
    "wages come from one employer": (
        "SELECT account_id FROM postings WHERE kind IN ('salary', 'pension') "
        "GROUP BY account_id HAVING COUNT(DISTINCT counterparty || amount_cents) > 1"
    ),
    "nobody was overdrawn beyond the limit on any day": (
        "SELECT account_id FROM (SELECT account_id, SUM(amount_cents) OVER "
        "(PARTITION BY account_id ORDER BY posted_on) AS held FROM postings) "
        "JOIN accounts USING (account_id) WHERE held < -overdraft_limit_cents"
    ),
    "a bill of a telephone is no rent": (
        "SELECT bill_id FROM bills WHERE "
        "(biller IN ('Orbit Mobile', 'Bluebird Streaming', 'Parkside Gym') AND amount_cents > 10000) OR "
        "(biller = 'Daybreak Daycare' AND amount_cents < 20000)"
    ),
    "coffee is no furniture": (
        "SELECT charge_id FROM charges WHERE (category = 'coffee shop' AND amount_cents > 2500) OR "
        "(category = 'hotel' AND amount_cents < 8000) OR (category = 'gas station' AND amount_cents > 9000)"
    ),
}


@pytest.mark.parametrize("story", STORIES)
def test_it_adds_up(bank: sqlite3.Connection, story: str) -> None:
    assert bank.execute(STORIES[story]).fetchall() == []


def test_what_confuses_is_still_there(bank: sqlite3.Connection) -> None:
    """The near misses that tasks live on: how many there are, at least."""

    def count(sql: str) -> int:
        return int(bank.execute(f"SELECT COUNT(*) FROM ({sql})").fetchone()[0])

    assert count("SELECT full_name FROM clients GROUP BY full_name HAVING COUNT(*) > 1") >= 12
    assert (
        count(
            "SELECT 1 FROM charges WHERE status = 'posted' "
            "GROUP BY card_id, merchant, charged_on, amount_cents HAVING COUNT(*) > 1"
        )
        >= 100
    )
    assert count("SELECT 1 FROM bills WHERE status = 'due' GROUP BY client_id, biller HAVING COUNT(*) > 1") >= 40
    assert count(f"SELECT 1 FROM beneficiaries WHERE added_on >= date('{TODAY}', '-2 days')") == 55
    assert count("SELECT 1 FROM beneficiaries WHERE name LIKE '% Jr'") == 18
    assert count("SELECT 1 FROM accounts WHERE available_cents < 0") == 7
    assert (
        count(
            "SELECT 1 FROM accounts WHERE nickname IN ('holiday account', 'travel account') AND available_cents + 1 IN "
            "(SELECT amount_cents FROM bills WHERE bills.client_id = accounts.client_id)"
        )
        >= 30
    )
