"""A cluster on one machine: PostgreSQL, Redis, an S3 server, and every process of Airflow that
`deploy/scale.env.example` configures."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from homes import PASSWORDS, ROOT, AirflowHome, make_home
from rest import GENEROUS, AirflowClient, is_healthy
from services import Service, free_ports, listens, running

from tests.installed import postgres_folder, program

EXAMPLE = ROOT / "deploy" / "scale.env.example"


def missing_servers() -> list[str]:
    """The servers that a cluster needs and this machine lacks."""
    return [
        name for name, there in (("PostgreSQL", postgres_folder()), ("Redis", program("redis-server"))) if not there
    ]


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """A PostgreSQL of its own; user, password, host, port and database of its URL. It refuses to run as root, so root
    runs it as `postgres`."""
    programs, [port], password = postgres_folder(), free_ports(1), secrets.token_hex(16)
    assert programs is not None
    home = Path(tempfile.mkdtemp(prefix="toolscale-postgres-"))  # pytest's folders are closed to the user `postgres`
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, home, ignore_errors=True)  # the guard removes it first, if it was started
        (home / "password").write_text(password)
        as_user = []
        if os.geteuid() == 0:
            shutil.chown(home, "postgres", "postgres")
            shutil.chown(home / "password", "postgres", "postgres")
            as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        subprocess.run(
            [
                *as_user,
                programs / "initdb",
                "-D",
                home / "data",
                "-U",
                "airflow",
                "--pwfile",
                home / "password",
                "-A",
                "scram-sha-256",
                "-E",
                "UTF8",
                "--no-locale",
                "--no-sync",
            ],
            check=True,
            capture_output=True,
            cwd=home,
        )
        settings = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": "", "fsync": "off"}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [*as_user, programs / "postgres", "-D", home / "data", *options]
        service = stack.enter_context(running("postgres", command, log=folder / "postgres.log", remove=home))
        service.wait_until(lambda: "ready to accept connections" in service.log.read_text())
        yield f"airflow:{password}@127.0.0.1:{port}/postgres"


@contextmanager
def redis(folder: Path) -> Iterator[str]:
    """A Redis of its own; its URL."""
    [port], password = free_ports(1), secrets.token_hex(16)
    command = [
        "redis-server",
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--dir",
        folder,
        "--requirepass",
        password,
    ]
    # Under faketime its allocator would hang.
    environ = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    with running("redis", command, log=folder / "redis.log", environ=environ) as service:
        service.wait_until(lambda: listens(port))
        yield f"redis://:{password}@127.0.0.1:{port}/0"


@contextmanager
def s3(folder: Path) -> Iterator[str]:
    """An S3 server of its own, empty; its URL."""
    [port] = free_ports(1)
    with running(
        "s3", [Path(sys.executable).with_name("moto_server"), "-H", "127.0.0.1", "-p", str(port)], log=folder / "s3.log"
    ) as service:
        service.wait_until(lambda: listens(port))
        yield f"http://127.0.0.1:{port}"


def example_settings() -> dict[str, str]:
    """The variables of deploy/scale.env.example."""
    lines = [line for line in EXAMPLE.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def settings_of(postgres_url: str, redis_url: str, s3_url: str, api_port: int) -> dict[str, str]:
    """The example's variables with hosts and secrets of this machine."""
    ours = {
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"postgresql+psycopg2://{postgres_url}",
        "AIRFLOW__CELERY__RESULT_BACKEND": f"db+postgresql+psycopg2://{postgres_url}",
        "AIRFLOW__CELERY__BROKER_URL": redis_url,
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(api_port),
        "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{api_port}",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{api_port}/execution/",
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_urlsafe(64),
        "AIRFLOW__CORE__FERNET_KEY": urlsafe_b64encode(secrets.token_bytes(32)).decode(),
        "AIRFLOW__CELERY__WORKER_CONCURRENCY": "1",
        "TOOLSCALE_DATA": "s3://trial/data",
        "AWS_ACCESS_KEY_ID": "trial",
        "AWS_SECRET_ACCESS_KEY": "trial",
        "AWS_ENDPOINT_URL_S3": s3_url,
    }
    example = example_settings()
    assert ours.keys() <= example.keys(), "the test sets what the example does not tell"
    settings = example | ours
    assert not [name for name, value in settings.items() if "change-me" in value or ".internal" in value]
    return settings


@dataclass(frozen=True)
class Cluster:
    """A healthy Airflow of many processes. `machines`: the AIRFLOW_HOME of the worker of each queue; they share nothing
    but the configuration."""

    url: str
    admin: AirflowClient
    settings: Mapping[str, str]
    machines: Mapping[str, AirflowHome]

    @property
    def data(self) -> str:
        """The URL of the folder of runs."""
        return self.settings["TOOLSCALE_DATA"]

    def read(self, folder: str) -> dict[str, bytes]:
        """The files of a folder on S3, by their paths in it."""
        from s3fs import S3FileSystem

        key, secret, endpoint = (
            self.settings[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL_S3")
        )
        store, root = S3FileSystem(key=key, secret=secret, endpoint_url=endpoint), folder.removeprefix("s3://")
        return {path.removeprefix(f"{root}/"): store.cat_file(path) for path in store.find(root)}


def start(stack: ExitStack, home: AirflowHome, name: str, *words: str, log_port: int) -> Service:
    """One process of Airflow. Its logs are served on a port of its own, because all machines are one."""
    log_ports = {
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(log_port),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(log_port),
    }
    log = home.folder / f"{name}.log"
    return stack.enter_context(running(name, ["airflow", *words], log=log, environ=home.environ | log_ports))


def begin_to_stop(services: Sequence[Service]) -> None:
    """Let all of them stop at once; their contexts wait for each."""
    for service in services:
        service.begin_to_stop()


@contextmanager
def cluster(folder: Path, *, dags: Path) -> Iterator[Cluster]:
    """PostgreSQL, Redis and S3; API server, scheduler, DAG processor, triggerer; a worker of the queue `default` and
    one of the queue `gpu`."""
    with ExitStack() as stack:
        urls = [stack.enter_context(server(folder)) for server in (postgres, redis, s3)]
        api_port, *log_ports = free_ports(4)
        settings = settings_of(*urls, api_port)
        homes = {name: make_home(folder / name, dags=dags, settings=settings) for name in ("central", "default", "gpu")}
        central = homes.pop("central")
        subprocess.run([ROOT / "scripts" / "airflow-setup"], env=central.environ, check=True)
        make_bucket(settings)
        airflow = stack.enter_context(ExitStack())
        services = [
            start(airflow, central, name, name, log_port=log_ports[0])
            for name in ("api-server", "scheduler", "dag-processor", "triggerer")
        ]
        workers = [
            start(
                airflow,
                home,
                f"worker-{queue}",
                "celery",
                "worker",
                "--queues",
                queue,
                "--celery-hostname",
                f"{queue}@trial",
                log_port=port,
            )
            for (queue, home), port in zip(homes.items(), log_ports[1:], strict=True)
        ]
        airflow.callback(begin_to_stop, [*services, *workers])
        url = f"http://127.0.0.1:{api_port}"
        services[0].wait_until(lambda: is_healthy(url), GENEROUS)
        for worker in workers:
            worker.wait_until(lambda worker=worker: " ready." in worker.log.read_text(errors="replace"))  # type: ignore[misc]
        with AirflowClient.of(url, "admin", PASSWORDS["admin"]) as admin:
            yield Cluster(url, admin, settings, homes)


def make_bucket(settings: Mapping[str, str]) -> None:
    """The bucket of TOOLSCALE_DATA."""
    bucket = settings["TOOLSCALE_DATA"].removeprefix("s3://").partition("/")[0]
    httpx.put(
        f"{settings['AWS_ENDPOINT_URL_S3']}/{bucket}", trust_env=False
    ).raise_for_status()  # moto asks for no signature
