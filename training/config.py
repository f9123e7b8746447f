"""The configuration of a run. Every dial stands here with its reason; training/config_file.py reads it from a file."""

from __future__ import annotations

import math
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from toolscale.basic_tools import BasicToolSettings
from toolscale.canonical import content_hash
from toolscale.models.judging import JudgeSettings
from toolscale.records import Limits
from toolscale.reward import RewardConfig


class Settings(BaseModel):
    """What all sections have in common: an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelSettings(Settings):
    """The model that is trained."""

    path: str
    """A folder, or a name on the Hugging Face Hub, for AutoModelForCausalLM and the tokenizer."""
    codec: Literal["chat", "tiny"] = "chat"
    """How conversations become tokens: `chat` for tokenizers with a chat template, `tiny` for the model in
    training/tiny."""
    template: str | None = None
    """A chat template to use instead of the tokenizer's, a file. It must name the tools, write calls as
    <tool_call>{"name": …, "arguments": {…}}</tool_call>, and not change earlier turns when later ones come."""
    thinking: bool = True
    """False: the prompt closes an empty reasoning block before the model writes."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    attention: Literal["sdpa", "eager", "flash_attention_2"] = "sdpa"
    """flash_attention_2 takes no mask of ours: it needs branched_tokens 0, and for GRPO a vLLM that samples."""
    gradient_checkpointing: bool = False


class RolloutSettings(Settings):
    """How tasks are worked on."""

    prompts: int = Field(default=16, ge=1)
    """Tasks in one step, over all ranks."""
    samples: int = Field(default=8, ge=2)
    """Rollouts of each task: the group."""
    concurrency: int | None = Field(default=None, ge=1)
    """Rollouts that run at once in each process; none: all of its own."""
    wall_s: float = Field(default=1800.0, gt=0)
    """Seconds by the wall clock after which a rollout ends as failed, and teaches nothing: one that waits for an expert
    that never answers must not end the run."""
    temperature: float = Field(default=1.0, gt=0)
    max_new_tokens: int = Field(default=1024, ge=1)
    """Written in one turn at most; a turn cut there counts as malformed."""
    context: int = Field(default=32_000, ge=2)
    """Tokens of the whole conversation, read and written, at most."""
    seconds_per_token: float = Field(default=0.0, ge=0)
    """What a written token counts as latency: a measured time would not repeat."""
    input_price: float = Field(default=0.0, ge=0)
    output_price: float = Field(default=0.0, ge=0)
    """US dollars for one million of the orchestrator's own tokens."""
    batch_tokens: int = Field(default=8192, ge=1)
    """Tokens of prompts, padding included, in one forward pass of the sampler in this process."""
    branched_tokens: int = Field(default=2048, ge=0)
    """Rows up to this length are shared by the samples of a task (training/packing.py); 0: never."""
    kept_tokens: int = Field(default=200_000, ge=0)
    """Tokens of prompts whose keys and values the sampler in this process keeps, for later turns of a conversation
    and for other tasks that begin alike."""


class VllmSettings(Settings):
    """A `vllm serve` that samples instead of this process."""

    base_url: str
    further_urls: tuple[str, ...] = ()
    """More servers of the same model, started alike: each task is worked on with one of them, and all get the weights.
    Data-parallel ranks of one server need none."""
    served_model: str | None = None
    """The name it serves the model under; none: the only one it has."""
    api_key_env: str | None = None
    timeout_s: float = Field(default=600.0, gt=0)
    """For everything but a turn: it waits in the server until others are done, and rollout.wall_s bounds it."""
    first_wait_s: float = Field(default=0.5, gt=0)
    """Before the second of five attempts; twice as long before each further one."""
    group_address: str | None = None
    """The address of this machine at which the server finds the trainer; none: that on the way to base_url."""
    group_port: int = Field(default=51216, ge=1, le=65535)
    """A free port of this machine on which trainer and server meet to hand over weights."""
    refusal_s: float = Field(default=1.0, ge=0)
    """Seconds that are left to a server to fail at an update before tensors are sent: sending waits for whoever takes
    them, and where nobody does, for ever."""
    lost_s: float = Field(default=60.0, gt=0)
    """Seconds after a server failed while it took tensors, in which sending may notice. Then this process ends: it
    would wait for that server for ever."""
    reset_s: float = Field(default=30.0, ge=0)
    """Seconds for which a server may refuse to forget the keys and values of the old weights."""
    restart_s: float = Field(default=900.0, ge=0)
    """Seconds that are waited for a server that was joined and does not answer: one that is started anew loads its
    model first."""
    update: Literal["folder", "nccl", "none"] = "folder"
    """How the servers get the trained weights: `folder`, which they read, and which was tried; `nccl`, from GPU to GPU;
    `none`: they keep those that they began with. For trials only: the importance correction cannot mend that for
    long."""
    folder: str | None = None
    """Where the weights are written for `folder`; none: `weights` in the folder of the run."""
    folder_there: str | None = None
    """The path under which the servers find that folder; none: the same."""
    any_version: bool = False
    """Whether a vLLM of a version is taken that was not tried (training/server_checks.py names those that were)."""

    @model_validator(mode="after")
    def _no_secret(self) -> VllmSettings:
        """The address stands in config.yaml and in errors."""
        for name, url in (("base_url", self.base_url), *(("further_urls", url) for url in self.further_urls)):
            parts = urlsplit(url)
            if parts.username or parts.password or parts.query:
                raise ValueError(
                    f"{name} holds a user, a password or a query; "
                    "leave only the address, and name the key's variable in api_key_env"
                )
        return self


class LossSettings(Settings):
    """The clipped loss."""

    clip_low: float = Field(default=0.2, ge=0, lt=1)
    clip_high: float = Field(default=0.2, ge=0)
    """Bounds of the ratio between the model and what it was before the first update on a batch. With epochs: 1 there is
    one update, the ratio is 1, and neither these nor ratio_cap do anything."""
    ratio_cap: float | None = Field(default=None, gt=1)
    """The ratio itself is cut there (dual clip): bounds the loss of a rollout that was bad and has become likely."""
    importance_cap: float = Field(default=2.0, gt=0)
    """Bound of the correction for a sampler that is not the trainer."""
    kl: float = Field(default=0.0, ge=0)
    """Weight of the distance from the model that the run began with; 0: that model is not kept in memory."""
    kl_kind: Literal["k3", "mse"] = "k3"
    """k3: exp(d) - d - 1; mse: d^2 / 2; d = reference - new log-probability."""
    entropy: float = Field(default=0.0, ge=0)
    """Bonus for the entropy of each written token, which falls in a straight line to 0 at the last step. A small model
    that is sure too soon stops trying what it has not tried enough. With `reward.scale: none` it is in units of the
    reward: the policy that is best then chooses with probabilities in proportion to exp(expected reward / bonus)."""
    entropy_turns: int | None = Field(default=None, ge=1)
    """The bonus counts in so many turns of a rollout, its first; none: in all. After a result there is little to try,
    and a small model that tries a tool again there, right and dearer, lowers the same word in the first turn."""
    epochs: int = Field(default=1, ge=1)
    """Optimizer steps on one batch of rollouts."""
    batch_tokens: int = Field(default=4096, ge=1)
    """Tokens, padding included, in one forward and backward pass."""
    head_chunk: int = Field(default=1024, ge=1)
    """Tokens for which logits exist at the same time."""


class OptimizerSettings(Settings):
    """AdamW of torch."""

    lr: float = Field(default=1e-6, gt=0)
    final_lr: float | None = Field(default=None, ge=0)
    """Reached in a straight line at the last step; none: constant."""
    warmup_steps: int = Field(default=0, ge=0)
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = Field(default=1e-8, gt=0)
    """Added to the root of the second moment: parameters whose gradients are smaller than this move less than lr."""
    weight_decay: float = Field(default=0.0, ge=0)
    grad_clip: float = Field(default=1.0, gt=0)

    def lr_at(self, step: int, steps: int) -> float:
        """The learning rate of step `step`, counted from 0, of `steps`."""
        if step < self.warmup_steps:
            return self.lr * (step + 1) / self.warmup_steps
        final = self.lr if self.final_lr is None else self.final_lr
        done = (step - self.warmup_steps) / max(1, steps - 1 - self.warmup_steps)
        return self.lr + (final - self.lr) * min(1.0, done)


class CheckpointSettings(Settings):
    """What a crash costs at most, and how much disk it takes."""

    every: int = Field(default=50, ge=1)
    keep: int = Field(default=2, ge=1)


Action = Literal["stop", "warn", "off"]


class AlarmSettings(Settings):
    """Signs that a run has gone wrong, looked for over `window` steps."""

    window: int = Field(default=10, ge=1)
    no_groups: Action = "stop"
    """No group passed the filters in all of them: the gradient is zero and stays zero."""
    flat_reward: Action = "warn"
    """The reward is the same in all rollouts of all of them."""
    long_turns: Action = "warn"
    """More than `most_cut` of the turns were cut at max_new_tokens."""
    most_cut: float = Field(default=0.5, gt=0, le=1)
    one_tool: Action = "warn"
    """One tool or expert has more than `most_share` of all calls."""
    most_share: float = Field(default=0.98, gt=0, le=1)


class MetricsSettings(Settings):
    """Where figures go beside metrics.jsonl."""

    trackio: str | None = None
    """A project of Trackio."""
    wandb: str | None = None
    """A project of Weights & Biases."""
    tensorboard: bool = False
    """Event files for TensorBoard, in tensorboard/ beside metrics.jsonl."""
    plots: bool = True
    rollouts_every: int = Field(default=100, ge=0)
    """The rollouts of every so many steps are kept in rollouts/, whole, so that they can be read and graded again; 0:
    none."""


class MeasuredSettings(Settings):
    """Shares of tasks where something is measured; none: as in training."""

    denied_share: float | None = Field(default=None, ge=0, le=1)
    wish_share: float | None = Field(default=None, ge=0, le=1)


class DataSettings(Settings):
    """What the rollouts work on; see training/data.py."""

    mixture: dict[str, float]
    """Category -> weight in the stream of tasks; `tools` stands for environment tasks."""
    datasets: tuple[str, ...] = ()
    """Dataset folders of `toolscale synthesize`, whose training split gives the environment tasks."""
    domains: dict[str, int] = Field(default_factory=dict)
    """Domain -> tasks of a dataset that `training.train` makes beside the run, where no dataset is given."""
    wording: Literal["train", "test"] = "train"
    """The split from which questions and wishes come. Its words are by other people than those of the other split."""
    wish_words: Literal["plain", "train", "test"] | None = None
    """Whose words wishes are in (toolscale/preferences/grammar.py); none: those of `wording`."""
    questions: tuple[str, ...] = ()
    """Parquet files such as GeneralThought's, with the columns question and reference_answer;
    toolscale/questions/parquet.py says what is read."""
    questions_share: float = Field(default=0.5, ge=0, le=1)
    """How often a question is one of these files where they have its category; else it is generated."""
    two_step_share: float = Field(default=0.0, ge=0, le=1)
    """How often a generated question of the category `lookup` goes on: what is found is to be computed with."""
    seed: int = 0
    catalogue: str = "experts/paper.yaml"
    """The experts that can be offered."""
    price_lists: str | None = "experts/prices"
    """A folder of price lists, one of which holds for each task; none: always the catalogue's prices."""
    invented_share: float = Field(default=0.0, ge=0, le=1)
    """How often a task is offered experts that do not exist, drawn from the figures of the catalogue
    (toolscale/models/invented.py): whoever is trained on few experts learns them by heart. Evaluation is without
    them."""
    invented: int = Field(default=1024, ge=1)
    """How many of them there are, where there are any."""
    fewest: int = Field(default=2, ge=0)
    most: int = Field(default=6, ge=0)
    """A task is offered from `fewest` to `most` experts."""
    style: Literal["prose", "compact"] = "prose"
    """How an expert is described."""
    basic_tools: BasicToolSettings = BasicToolSettings(python=None)
    """Those that are offered; toolscale/basic_tools describes their keys."""
    basic_share: float = Field(default=0.7, ge=0, le=1)
    """How often each basic tool is offered."""
    denied_share: float = Field(default=0.1, ge=0, le=1)
    """How often one expert or tool may not be used."""
    wish_share: float = Field(default=0.5, ge=0, le=1)
    """How often the user's wishes speak of single tools too."""
    wishes: bool = True
    """False: users say nothing of cost and latency, and only a right answer counts."""
    generous_share: float = Field(default=0.0, ge=0, le=1)
    """So many users of our grammar mind cost and latency little, beside those who do by chance: for few others a dear
    expert is worth its price, and a small model that seldom meets them leaves it out. Evaluation is without them."""
    own_words_share: float = Field(default=0.0, ge=0, le=1)
    """So many other users of our grammar speak in the words of `wording`, whatever `wish_words` says, so that a model
    learns what is best where it cannot read a wish. Evaluation is without them."""
    measured: MeasuredSettings = MeasuredSettings()
    """Shares that training has otherwise than evaluation: of what is seldom met little is learned."""
    preferences: str | None = None
    """A file of `toolscale preferences`: what users care for, in a model's words; none: by our grammar."""
    limits: Limits = Limits()
    """Where a rollout stops: turns, tokens, dollars."""
    pace: float = Field(default=0.0, ge=0)
    """Seconds that are waited for each second of a simulated expert."""

    @model_validator(mode="after")
    def _shares_of_users_fit(self) -> DataSettings:
        if (together := self.generous_share + self.own_words_share) > 1:
            raise ValueError(f"generous_share and own_words_share are {together:g} together; make them 1 at most")
        return self


OPERATION = (
    "any_version",
    "base_url",
    "folder",
    "folder_there",
    "further_urls",
    "served_model",
    "api_key_env",
    "timeout_s",
    "first_wait_s",
    "group_address",
    "group_port",
    "lost_s",
    "reset_s",
    "refusal_s",
    "restart_s",
)
"""Of a server: where it is and how it is spoken to, not what it does."""


class RunSettings(Settings):
    """What GRPO and SFT have in common."""

    seed: int = 0
    processes: int = Field(default=1, ge=1)
    """That train together on this machine, unless a launcher has started them. With small models two with one thread
    each are faster than one with two."""
    threads: int | None = Field(default=None, ge=1)
    """Of each process on a CPU; none: as many as torch chooses."""
    collective_timeout_s: float = Field(default=1800.0, gt=0)
    """Seconds that the processes wait for each other, beside what the rollouts of a step can take: the first that is
    done waits for the last."""
    model: ModelSettings
    loss: LossSettings = LossSettings()
    optimizer: OptimizerSettings = OptimizerSettings()
    deepspeed: str = "training/deepspeed/zero2.json"
    """A configuration of DeepSpeed; batch sizes, clipping and number types are filled in from here."""
    checkpoint: CheckpointSettings = CheckpointSettings()
    metrics: MetricsSettings = MetricsSettings()

    def identity(self) -> dict[str, Any]:
        """What makes a run what it is: a checkpoint can be taken up only where this is the same."""
        whole = self.model_dump(mode="json", exclude={"checkpoint", "alarms", "metrics", "collective_timeout_s"})
        if whole.get("vllm") is not None:
            whole["vllm"] = {key: value for key, value in whole["vllm"].items() if key not in OPERATION}
        if (judge := whole.pop("judge", None)) is not None:  # who it is decides rewards, and where it is does not
            whole["judge"] = {"model": judge["model"]}
        return whole

    def patience_s(self, ranks: int) -> float:
        """Seconds that one of so many processes waits for the others before it gives up."""
        return self.collective_timeout_s

    def digest(self) -> str:
        """The hash of `identity`."""
        return content_hash(self.identity())


class Config(RunSettings):
    """One run of GRPO."""

    steps: int = Field(ge=1)
    must_learn: bool = True
    """A run of the tiny model that did not learn what it is trained for ends with an error."""
    data: DataSettings
    rollout: RolloutSettings = RolloutSettings()
    vllm: VllmSettings | None = None
    reward: RewardConfig = RewardConfig()
    """Kind of reward and filters; toolscale/reward describes its keys."""
    judge: JudgeSettings | None = None
    """Who reads the final messages that rules cannot grade (toolscale/models/judging.py describes its keys); none: the
    judge that the environment names, TOOLSCALE_JUDGE_MODEL. Tasks that are answered by a form need none."""
    alarms: AlarmSettings = AlarmSettings()

    def patience_s(self, ranks: int) -> float:
        """Seconds that one of so many processes waits for the others before it gives up: what the slowest rollouts can
        take, one after the other where `concurrency` says so, and a server that is started anew."""
        rollouts = math.ceil(self.rollout.prompts / ranks) * self.rollout.samples
        rounds = math.ceil(rollouts / (self.rollout.concurrency or rollouts))
        restart_s = 0.0 if self.vllm is None else self.vllm.restart_s
        return self.collective_timeout_s + rounds * self.rollout.wall_s + restart_s

    def idle(self) -> list[str]:
        """The keys that the file sets and that do nothing beside its others, each with the reason."""
        given, idle = self.loss.model_fields_set, []
        if self.loss.epochs == 1:
            why = "does nothing with loss.epochs: 1, where the ratio is always 1"
            idle += [f"loss.{key} {why}" for key in ("clip_low", "clip_high", "ratio_cap") if key in given]
        if self.vllm is None and "importance_cap" in given:
            idle.append("loss.importance_cap does nothing without vllm, where the trainer's own model samples")
        if self.data.preferences is not None or not self.data.wishes:
            why = "does nothing where our grammar draws no wishes"
            idle += [f"data.{key} {why}" for key in ("generous_share", "own_words_share") if getattr(self.data, key)]
        if self.loss.kl == 0 and "kl_kind" in given:
            idle.append("loss.kl_kind does nothing with loss.kl: 0")
        return idle

    @model_validator(mode="after")
    def _fits_the_model(self) -> Config:
        """The tiny model knows the words of the grammar and no others; not every attention can sample here."""
        if self.model.attention == "flash_attention_2" and (self.rollout.branched_tokens or self.vllm is None):
            raise ValueError(
                "model.attention: flash_attention_2 takes no mask of ours; set rollout.branched_tokens: 0 and sample "
                "with vllm, or use sdpa"
            )
        if self.model.codec == "tiny" and self.data.preferences is not None:
            raise ValueError(
                f"data.preferences: the tiny codec does not know the words of {self.data.preferences}; "
                "remove the key, or use model.codec: chat"
            )
        return self


class SftConfig(RunSettings):
    """One run of SFT. Of `loss` it uses the sizes of batches only."""

    conversations: tuple[str, ...] = ()
    """JSONL files, one {"messages": […], "tools": […]} a line."""
    datasets: tuple[str, ...] = ()
    """Dataset folders of `toolscale synthesize`: the golden trajectories of their training splits."""
    decoys: int | None = Field(default=None, ge=0)
    """A conversation of a dataset shows the tools that it calls and so many others; none: all that its domain has. A
    long list is most of what is read, and the tasks that are played afterwards have it whole."""
    epochs: int = Field(default=1, ge=1)
    steps: int | None = Field(default=None, ge=1)
    """So many steps instead of epochs: whoever has fewer conversations reads them more often."""
    repeats: bool = False
    """Learn as well what messages of users and tools repeat of what stands before them. A model with random weights
    learns to look things up by it."""
    batch: int = Field(default=32, ge=1)
    """Conversations of one step, over all ranks."""
    branched_tokens: int = Field(default=0, ge=0)
    """Conversations of a domain share one pass over policy and tools in rows up to this length (training/packing.py);
    0: never. The loss is the same number; attention grows with the square of a row."""
    most_tokens: int = Field(default=8192, ge=2)
    """Longer conversations are left out, and counted: what done.json and the first lines of a run say."""
    most_left_out: float = Field(default=0.1, ge=0, le=1)
    """The largest share that may be left out for their length: a run that would leave out more is refused."""

    @model_validator(mode="after")
    def _attention_takes_masks(self) -> SftConfig:
        if self.model.attention == "flash_attention_2" and self.branched_tokens:
            raise ValueError(
                "model.attention: flash_attention_2 takes no mask of ours; set branched_tokens: 0, or use sdpa"
            )
        return self
