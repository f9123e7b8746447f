"""The stages from a domain to a dataset: on this machine (`stages`), or wherever a scheduler puts them (`runs`)."""

from toolscale.pipeline.stages import admit_domain, assemble, build_environment, judge_enough, synthesize

__all__ = ["admit_domain", "assemble", "build_environment", "judge_enough", "synthesize"]
