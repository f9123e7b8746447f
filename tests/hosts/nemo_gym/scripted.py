"""A model server of NeMo Gym that plays scripts: the metadata of a request says which one."""

import json
import os
from pathlib import Path

from nemo_gym.base_responses_api_model import BaseResponsesAPIModelConfig, SimpleResponsesAPIModel
from nemo_gym.openai_utils import NeMoGymResponse

SCRIPTS = json.loads(Path(os.environ["SCRIPTED"]).read_text())


class Scripted(SimpleResponsesAPIModel):
    config: BaseResponsesAPIModelConfig

    async def chat_completions(self, body):
        raise NotImplementedError("scripts are played by responses")

    async def responses(self, body: dict) -> NeMoGymResponse:
        script = SCRIPTS[int(body["metadata"]["script"])]
        made = sum(item.get("type") == "function_call" for item in body["input"])
        if made < len(script["calls"]):
            call = script["calls"][made]
            told = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
            item = {"type": "function_call", "call_id": f"call_{made}", **told}
        else:
            said = [{"type": "output_text", "text": script["answer"], "annotations": []}]
            item = {"type": "message", "id": "answer", "role": "assistant", "content": said}
        return NeMoGymResponse(
            id="response",
            created_at=0,
            model="scripted",
            object="response",
            output=[item],
            parallel_tool_calls=False,
            tool_choice="auto",
            tools=body["tools"],
        )


if __name__ == "__main__":
    Scripted.run_webserver()
