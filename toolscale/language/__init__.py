"""Values in text: find them, write them.

To read: `mentions` finds each value in a text, with its kind and what it can mean; quantities, dates, times, numerals
and qualifiers are the patterns of that. Gates need it: a request that does not say what its plan takes is no task.
`told` says which values stand in a message, all that rules decide of one. `inquiries` says what a message asks for: the
person of a dialogue is a program, and no model runs.

To write: `render` puts a value into words, `answers` a whole message, `phrasing` has the choices of a text.
"""
