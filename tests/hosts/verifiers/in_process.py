"""A harness for tests: the program of the harness `null`, run here instead of by uv, which would install it first."""

from argparse import Namespace
from contextlib import AsyncExitStack

from verifiers.v1 import ProgramResult
from verifiers.v1.harnesses.null import NullHarness
from verifiers.v1.harnesses.utils.launch import CHAT_PROGRAM_SOURCE

__all__ = ["InProcess"]

CHAT = {"__name__": "chat"}
exec(compile(CHAT_PROGRAM_SOURCE, "chat", "exec"), CHAT)


class InProcess(NullHarness):
    SUPPORTS_TOOL_INTERCEPTION = False

    async def setup(self, runtime):
        """Nothing is installed."""

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data):
        system, prompt = self.resolve_prompt(data)
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        flags = Namespace(tool_interception_url="", bash=False, edit=False, search=False)
        async with (
            AsyncExitStack() as servers,
            CHAT["AsyncOpenAI"](base_url=endpoint, api_key=secret) as client,
        ):
            config = {"mcpServers": {name: {"url": url} for name, url in mcp_urls.items()}}
            tools, dispatch, connections = await CHAT["connect_mcp"](config, servers)
            compactor = CHAT["Compactor"](client, ctx.model, tools, False, None)
            await CHAT["run_chat_loop"](flags, compactor, messages, dispatch, connections, None)
        return ProgramResult(exit_code=0, stdout="", stderr="")
