"""Inspect: golden conversations, word by word. In dialogues the person is asked; forms are filled in."""

import json

from inspect_ai import eval as run_eval
from inspect_ai.model import ChatMessageAssistant, ModelOutput, ModelUsage, get_model
from inspect_ai.solver._task_state import sample_state
from toolscale_inspect import HERE, toolscale

from toolscale.exports.golden import golden_trajectories

golden = {each.task.id: each for each in golden_trajectories(HERE / "dataset")}
AFTER_A_FORM = {"role": "assistant", "content": "Done."}


def model(messages, *_):
    turns = [each for each in golden[sample_state().sample_id].messages if each["role"] == "assistant"]
    made = sum(isinstance(each, ChatMessageAssistant) for each in messages)
    turn = [*turns, AFTER_A_FORM][made]
    if turn.get("tool_calls"):
        function = turn["tool_calls"][0]["function"]
        output = ModelOutput.for_tool_call(
            "mockllm/model", function["name"], json.loads(function["arguments"]), content=""
        )
    else:
        output = ModelOutput.from_content("mockllm/model", turn["content"])
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


for log in run_eval(
    [toolscale(split) for split in ("train", "test")],
    model=get_model("mockllm/model", custom_outputs=model),
    display="none",
    log_dir="logs",
):
    assert log.status == "success", log.error
    for sample in log.samples:
        known = golden[sample.id]
        said = [(each.role, each.text) for each in sample.messages]
        wanted = [(each["role"], each["content"] or "") for each in known.messages]
        filled = [("tool", '{"taken":true}'), ("assistant", "Done.")] if known.task.form else []
        score = float(sample.scores["verdict"].value == "C")
        about = {
            "turns": known.task.turns,
            "answer": known.task.answer,
            "score": score,
            "same": said == wanted + filled,
        }
        print(json.dumps(about))
