"""verl: its dataset class reads the rows, and its agent loop worker plays them, on a CPU.

What a model's server would generate is scripted, as tokens: the prompt, the parsing of calls, the merging of results
and the reward are verl's own. Nothing is trained.
"""

import asyncio
import contextlib
import json
import sys
import tempfile
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path

from hydra import compose, initialize_config_module
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from toolscale_loop import SESSIONS
from transformers import PreTrainedTokenizerFast, Qwen2Config
from verl import DataProto
from verl.experimental.agent_loop.agent_loop import AgentLoopWorker
from verl.tools.schemas import OpenAIFunctionToolSchema
from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn
from verl.workers.rollout.replica import TokenOutput

from toolscale.canonical import canonical_json
from toolscale.session import Playable

EXPORT, scripts = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
PLAYABLE = Playable(EXPORT / "dataset")
LONGEST = 131_072
"""Bytes are tokens here."""
TAKEN = '{"taken":true}'
"""What comes of a form that fits."""
BEGIN, END = "<|im_start|>", "<|im_end|>"
TEMPLATE = """
{%- for message in messages -%}
{{- '<|im_start|>' + message.role + '\n' -}}
{%- if loop.first and tools -%}{{- tools | tojson + '\n' -}}{%- endif -%}
{{- message.content -}}
{%- for call in message.tool_calls or [] -%}
{{- '<tool_call>' + call.function | tojson + '</tool_call>' -}}
{%- endfor -%}
{{- '<|im_end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\n' -}}{%- endif -%}
"""


def make_model(folder):
    """Write a model folder without weights: bytes are tokens."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    bare = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(letters)}, merges=[]))
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bare.decoder = decoders.ByteLevel()
    bare.add_special_tokens([BEGIN, END, "<|endoftext|>"])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bare, eos_token=END, pad_token="<|endoftext|>", chat_template=TEMPLATE
    )
    tokenizer.save_pretrained(folder)
    small = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1}
    Qwen2Config(vocab_size=len(tokenizer), architectures=["Qwen2ForCausalLM"], **small).save_pretrained(folder)


def configured(model):
    """verl's own configuration of PPO, with the settings that the README of the export names."""
    with initialize_config_module("verl.trainer.config", version_base=None):
        return compose(
            "ppo_trainer",
            [
                "algorithm.adv_estimator=grpo",
                f"data.train_files={EXPORT}/train.parquet",
                f"data.val_files={EXPORT}/test.parquet",
                "data.return_raw_chat=True",
                "data.filter_overlong_prompts=False",
                f"data.max_prompt_length={LONGEST}",
                f"data.max_response_length={LONGEST}",
                f"actor_rollout_ref.model.path={model}",
                "+actor_rollout_ref.model.override_config.attn_implementation=eager",
                "actor_rollout_ref.rollout.name=vllm",
                "actor_rollout_ref.rollout.n=8",
                "actor_rollout_ref.rollout.multi_turn.format=hermes",
                f"actor_rollout_ref.rollout.agent.agent_loop_config_path={EXPORT}/agent.yaml",
            ],
        )


class Server:
    """Stands in for verl's client of model servers. A rollout is told from others by its request id; which script it
    gets, by the request in its prompt."""

    def __init__(self, tokenizer, requests):
        self.tokenizer, self.requests = tokenizer, requests
        self.left, self.turns = {}, {}

    def play(self, queues):
        """Take scripts: task -> those of its rollouts, in the order in which they begin."""
        self.left, self.turns = {task: list(queue) for task, queue in queues.items()}, {}

    async def generate(self, request_id, *, prompt_ids, **_):
        if request_id not in self.turns:
            said = self.tokenizer.decode(prompt_ids).split(f"{BEGIN}user\n")[1].split(END)[0]
            self.turns[request_id] = written(self.left[self.requests[said]].pop(0))
        return TokenOutput(token_ids=self.tokenizer.encode(next(self.turns[request_id]), add_special_tokens=False))


def written(script):
    """What a model writes in each turn."""
    for call in script["calls"]:
        yield f"<tool_call>{json.dumps(call, ensure_ascii=False)}</tool_call>{END}"
    yield script["answer"] + END


def rows_of(config, tokenizer):
    """The rows of both splits as verl's dataset class reads them: task -> row."""
    with contextlib.redirect_stdout(sys.stderr):
        read = [
            RLHFDataset([str(EXPORT / f"{split}.parquet")], tokenizer, config.data)
            for split in ("train", "test")
            if json.loads((EXPORT / "export.json").read_text())["tasks"][split]
        ]
    return {row["extra_info"]["id"]: row for rows in read for row in (rows[n] for n in range(len(rows)))}


def play(worker, rows):
    """Let verl's worker play rows at once; its batch."""
    return asyncio.run(worker.generate_sequences(DataProto.from_single_dict(collate_fn(rows))))


def scores(batch):
    return batch.batch["rm_scores"].sum(dim=1).tolist()


def texts(batch, part, tokenizer):
    return [tokenizer.decode(ids, skip_special_tokens=True) for ids in batch.batch[part]]


def check_golden(batch, rows, played, tokenizer):
    """Every tool is shown whole, every result is read whole, and what is learned from is what was generated."""
    for row, prompt in zip(rows, texts(batch, "prompts", tokenizer), strict=True):
        tools = json.loads(row["extra_info"]["tools"])
        assert json.loads(prompt.splitlines()[1]) == tools
        assert [OpenAIFunctionToolSchema.model_validate(tool).function.name for tool in tools] == [
            tool["function"]["name"] for tool in tools
        ]
    for row, script, text in zip(rows, played, texts(batch, "responses", tokenizer), strict=True):
        golden = PLAYABLE.task(row["extra_info"]["id"]).golden_calls
        given = [*(canonical_json(call.result) for call in golden), TAKEN][: len(script["calls"])]
        results = [f"\ntool\n{result}\nassistant\n" for result in given]
        turns = [turn.removesuffix(END) for turn in written(script)]
        assert text == "".join(turn + result for turn, result in zip_longest(turns, results, fillvalue=""))
    for script, ids, mask in zip(played, batch.batch["responses"], batch.batch["response_mask"], strict=True):
        assert tokenizer.decode(ids[mask.bool()]) == "".join(written(script))


def check_length(config, server, row):
    """A prompt that verl would cut is an error."""
    config.data.max_prompt_length = 1_000
    server.play({row["extra_info"]["id"]: [{"calls": [], "answer": ""}]})
    try:
        play(AgentLoopWorker(config, server), [row])
    except ValueError as error:
        assert "data.max_prompt_length=1000" in str(error), error
    else:
        raise AssertionError("a prompt was cut")


def main(folder):
    make_model(folder)
    config = configured(folder)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    rows = rows_of(config, tokenizer)
    assert set(rows) == {each["task"] for each in scripts}
    server = Server(tokenizer, {row["raw_prompt"][1]["content"]: task for task, row in rows.items()})
    worker = AgentLoopWorker(config, server)
    kinds = [name for name, played in scripts[0].items() if isinstance(played, list)]
    for kind, number in [(kind, n) for kind in kinds for n in range(max(len(each[kind]) for each in scripts))]:
        playing = {each["task"]: each[kind][number] for each in scripts if number < len(each[kind])}
        server.play({task: [script] for task, script in playing.items()})
        batch = play(worker, [rows[task] for task in playing])
        if kind == "golden":
            check_golden(batch, [rows[task] for task in playing], list(playing.values()), tokenizer)
        for task, score in zip(playing, scores(batch), strict=True):
            print(json.dumps({"task": task, "kind": kind, "score": score}))
    changing = next(each for each in scripts if each["changes"])
    server.play({changing["task"]: [changing["golden"][0], changing["without_tools"][0]]})
    both = play(worker, [rows[changing["task"]]] * 2)
    answered = zip(texts(both, "responses", tokenizer), scores(both), strict=True)
    interleaved = [score for _, score in sorted(answered, key=lambda each: -each[0].count("<tool_call>"))]
    check_length(config, server, rows[changing["task"]])
    assert len(SESSIONS) == 0
    about = {"host": "verl", "version": version("verl")}
    print(json.dumps(about | {"interleaved": interleaved}))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(folder)
