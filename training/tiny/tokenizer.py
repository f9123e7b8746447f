"""The word-level tokenizer of the tiny model, as a file that transformers loads, with a chat template."""

from __future__ import annotations

from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from training.tiny.words import ASSISTANT, BASIC, BEGIN, CODE, END, NUMBER, PAD, QUOTED, TOOL, UNKNOWN, USER, vocabulary

_CODE = r"```[\s\S]*?```|`[^`]*`"
_QUOTED = r"\"[^\"]*\""
_NUMBERS = r"(?<![a-z0-9.=\-])-?[0-9][0-9.,:/]*[0-9]|(?<![a-z0-9.=\-])[0-9]"
_WORDS = r"<[a-z]+>|[a-z]+-[0-9]+(?:\.[a-z]+=[0-9]+)?|[a-z]+(?:_[a-z]+)*!?|\S"

TEMPLATE = (
    "{{ '" + BEGIN + "' }}"
    "{%- for tool in tools or [] %}"
    "{%- if tool.function.name == 'call_expert' %}{{ ' ' + tool.function.description.split('\\nExperts:\\n')[1] }}"
    "{%- elif tool.function.name in " + str(list(BASIC)) + " %}{{ ' ' + tool.function.name }}{% endif %}"
    "{%- endfor %}"
    "{%- for message in messages %}"
    "{%- if message.role == 'user' %}{{ ' " + USER + " ' + message.content }}"
    "{%- elif message.role == 'tool' %}{{ ' "
    + TOOL
    + " ' + ('error' if '\"error\":' in message.content else 'result') }}{% endif %}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{ ' " + ASSISTANT + "' }}{% endif %}"
)
"""Cards, basic tools, the user's words; of what tools said only whether it was an error. System messages and domain
tools are left out."""


def make_tokenizer() -> PreTrainedTokenizerFast:
    """Make the tokenizer from the vocabulary. What stands between backticks is one word, so is what is quoted, and each
    number."""
    words = {word: number for number, word in enumerate(vocabulary())}
    tokenizer = Tokenizer(WordLevel(words, unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Lowercase(),
            normalizers.Replace(Regex(_CODE), f" {CODE} "),
            normalizers.Replace(Regex(_QUOTED), f" {QUOTED} "),
            normalizers.Replace(Regex(_NUMBERS), f" {NUMBER} "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(_WORDS), "isolated"), pre_tokenizers.WhitespaceSplit()]
    )
    made = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token=UNKNOWN, pad_token=PAD, eos_token=END, bos_token=BEGIN
    )
    made.chat_template = TEMPLATE
    made.model_max_length = 512
    return made


def collapse(tokenizer: PreTrainedTokenizerFast, ids: list[int]) -> list[int]:
    """Leave one of several unknown words or numbers in a row: what they say is not seen, and how many there are does
    not matter."""
    folded = set(tokenizer.convert_tokens_to_ids([UNKNOWN, NUMBER]))
    return [word for place, word in enumerate(ids) if not (place and word in folded and ids[place - 1] in folded)]
