"""Which backend answers for an expert: the catalogue alone decides."""

from __future__ import annotations

from toolscale.models.expert import Expert
from toolscale.models.simulated import SimulatedExpert
from toolscale.records import CATEGORIES, Effort, Endpoint, ExpertSpec, Price

FREE = Price(input=0.0, output=0.0)


def make_expert(spec: ExpertSpec, pace: float = 0.0) -> Expert:
    """Return the expert: behind its endpoint if the catalogue gives one, else simulated at this pace (seconds waited
    for a simulated second).

    UsageError if the key of an endpoint is not in the environment, or its address cannot be one.
    """
    if spec.endpoint is None:
        return SimulatedExpert(spec, pace)
    # Its library takes a second to load, which a simulated pool need not wait for.
    from toolscale.models.endpoint import EndpointExpert

    return EndpointExpert(spec)


def unmeasured(name: str, endpoint: Endpoint, title: str = "", price: Price = FREE) -> ExpertSpec:
    """Return the spec of a model that only our own code asks. It is offered to no orchestrator, so its skills are not
    known and not needed: all are 0."""
    nothing = Effort(output_tokens=1, latency_s=0)
    return ExpertSpec(
        name=name,
        title=title or endpoint.model,
        price=price,
        skills=dict.fromkeys(CATEGORIES, 0.0),
        effort=dict.fromkeys(CATEGORIES, nothing),
        endpoint=endpoint,
        source="a model behind an endpoint: nothing is known of its skills",
    )
