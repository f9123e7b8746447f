"""Values in text: find them, write them, and grade an answer by them.

How `grade_answer` (in facts) reads a final message:

1. mentions: each value in it, with its kind and what it can mean; quantities, dates, numerals, counts and value_words
   are the patterns of that.
2. message: the text with its values, cut by clauses into sentences, items and cells; tables finds the header of a cell.
3. deeds, undone: what it says was done or not done, compared with what was done. A message that misreports a deed is
   wrong, whatever its values are. polarity, parts: whether it says yes or no, to the whole request or to a part.
4. claims: whether a value is claimed to hold; qualifiers and corrections tell hedged, denied and withdrawn ones.
5. belonging: whether a claimed value is said of its fact, or given to another label, thing, quantity or time (things,
   shown: what the calls gave).
6. rivals: values beside the facts that are offered in their place. misgiven: amounts given to a quantity that they are
   not.
7. At the end: a withheld value must not stand anywhere in the message.

To write: render puts a value into words, answers a whole message, phrasing the choices of a text.
"""
