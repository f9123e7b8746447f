"""Why an evolution cannot be made of an intent."""


class Inapplicable(Exception):
    """The structure of the intent, or the words of the domain, do not allow the evolution."""
