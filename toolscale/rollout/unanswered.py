"""Why a rollout has no final answer, in words."""

from __future__ import annotations

MOST_REPLIES = 12
"""So many messages the person of a dialogue answers; whoever asks once more is left alone."""

UNANSWERED = {
    "turns": "no answer: the limit of turns was reached",
    "tokens": "no answer: the limit of tokens was reached",
    "dollars": "no answer: the limit of dollars was reached",
    "context": "no answer: the conversation filled the context of the model",
    "left": f"no answer: the person was asked more than {MOST_REPLIES} times, and left",
}
"""What stopped it -> what is said of it."""
