"""A domain drafted by a model from its name: a brief, then file after file.

`sources` reads what a domain starts from (a database, a document, a policy); `brief` is what it is about; `outline` has
the steps, and `prompts/` what is asked in each; `blocks` reads the files in a reply, `entries` puts them into the
folder; `candidates` chooses among several first replies; `drafter` runs the steps. A step ends when the folder is
admitted as far as it is written; findings go back to the model.
"""

from toolscale.draft.brief import WISHES, Brief
from toolscale.draft.drafter import ROUNDS, Drafter, StepReport
from toolscale.draft.outline import PROMPTS_VERSION

__all__ = ["PROMPTS_VERSION", "ROUNDS", "WISHES", "Brief", "Drafter", "StepReport"]
