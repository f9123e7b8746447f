"""Values in text: find them, write them.

To read: `mentions` finds each value in a text, with its kind and what it can mean; quantities, dates, times, numerals
and qualifiers are the patterns of that. `told` says which values stand in a message, `inquiries` what a message asks
for.

To write: `render` puts a value into words, `answers` a whole message, `phrasing` has the choices of a text. `verbs` has
the forms of verbs.
"""
