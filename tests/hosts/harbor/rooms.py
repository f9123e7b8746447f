"""An environment class for Harbor that needs no container engine: namespaces, with a root of their own. As root."""

import asyncio
import atexit
import json
import os
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities
from images import Room, build

IMAGES = "ROOM_IMAGES"
"""The variable with the folder of the images: NAME/root and NAME/image.json. Without it they are made for a while."""


@cache
def images() -> Path:
    if IMAGES in os.environ:
        return Path(os.environ[IMAGES])
    made = tempfile.mkdtemp(prefix="rooms.")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def folder_of(image: str) -> Path:
    return images() / image.replace("/", "_").replace(":", "_")


class Rooms(BaseEnvironment):
    """The container of one trial."""

    room: Room | None = None
    about: dict[str, Any]

    @staticmethod
    def type() -> str:
        return "rooms"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self) -> None:
        """An image is made when it is not there; what cannot be made fails then."""

    async def start(self, force_build: bool) -> None:
        image = await asyncio.to_thread(self._image)
        self.about = json.loads((image / "image.json").read_text())
        python = Path(self.about["python"])
        self.room = Room(image / "root", python, lower=True, network=not self._network_disabled)
        folders = ["/logs/agent", "/logs/verifier", "/logs/artifacts", "/tests", "/solution"]
        await self.ensure_dirs(folders[:3])
        await self.ensure_dirs(folders[3:], chmod=False)
        await self._upload_environment_dir_after_start()

    def _image(self) -> Path:
        if self.task_env_config.docker_image:
            return folder_of(self.task_env_config.docker_image)
        dockerfile = self.environment_dir / "Dockerfile"
        to = folder_of(f"{self.environment_name}-{self.session_id}")
        return build(self.environment_dir, dockerfile, Path(sys.base_prefix), to)

    async def stop(self, delete: bool) -> None:
        if self.room is not None:
            self.room.close()
        self.room = None

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        assert self.room is not None, "the room is closed"
        who = str(self._resolve_user(user) or "root")
        where = cwd or self.task_env_config.workdir or self.about["workdir"]
        told = self.about["env"] | (self._merge_env(env) or {})
        done = await self._run(self.room.command(["bash", "-c", command], who, told, where), b"", timeout_sec)
        return ExecResult(stdout=done[1].decode("utf-8", "replace"), stderr=done[2].decode(), return_code=done[0])

    async def _run(self, command: list[str], given: bytes, timeout_s: float | None = None) -> tuple[int, bytes, bytes]:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
        try:
            out, complaints = await asyncio.wait_for(process.communicate(given), timeout_s)
        except TimeoutError:
            raise RuntimeError(f"Command timed out after {timeout_s} seconds") from None
        finally:
            if process.returncode is None:
                process.kill()  # what it started ends with the room, and holds the pipes until then
        assert process.returncode is not None
        return process.returncode, out, complaints

    async def _copied(self, command: list[str], given: bytes = b"") -> bytes:
        assert self.room is not None, "the room is closed"
        status, out, complaints = await self._run(self.room.command(command, "root", {}, "/"), given)
        if status != 0:
            raise RuntimeError(complaints.decode("utf-8", "replace"))
        return out

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        await self._copied(["sh", "-c", 'cat >"$0"', target_path], Path(source_path).read_bytes())

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        _, packed, _ = await self._run(["tar", "-C", str(source_dir), "-c", "."], b"")
        await self._copied(["sh", "-c", 'mkdir -p "$0" && tar -C "$0" -x --no-same-owner', target_dir], packed)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        Path(target_path).parent.mkdir(parents=True, exist_ok=True)
        Path(target_path).write_bytes(await self._copied(["cat", source_path]))

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        Path(target_dir).mkdir(parents=True, exist_ok=True)
        packed = await self._copied(["tar", "-C", source_dir, "-c", "."])
        await self._run(["tar", "-C", str(target_dir), "-x", "--no-same-owner"], packed)
