"""A chat model that our own stages ask: any OpenAI-compatible server, named by the environment.

How a request goes: `client` looks it up in the `replies` that are kept on disk, reserves its price in the `budget`,
waits for a place (`places`), sends it in the `dialect` that the server speaks (`transport` tells what may be tried
again), and books it in the `ledger`. `structured` reads JSON out of a reply and says what is wrong with it. `recording`
writes the replies of a run to a file, and serves them again.
"""

from toolscale.models.chat.budget import Budget
from toolscale.models.chat.client import ChatClient, Lost
from toolscale.models.chat.ledger import Ledger, StageCost
from toolscale.models.chat.replies import ChatReply, ReplyStore
from toolscale.models.chat.request import ChatRequest
from toolscale.models.chat.settings import ChatModel, model_from

__all__ = [
    "Budget",
    "ChatClient",
    "ChatModel",
    "ChatReply",
    "ChatRequest",
    "Ledger",
    "Lost",
    "ReplyStore",
    "StageCost",
    "model_from",
]
