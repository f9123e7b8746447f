"""Which backend answers for an expert: the catalogue alone decides."""

from __future__ import annotations

from toolscale.models.expert import Expert
from toolscale.models.simulated import SimulatedExpert
from toolscale.records import ExpertSpec


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
