"""The licences that the Hub knows by an identifier.

Source: https://huggingface.co/docs/hub/repositories-licenses, as of 2026. `other` is left out, since it wants a text of
its own beside the card, and `unknown`, since nobody may use what comes with it.
"""

from __future__ import annotations

import difflib

_KNOWN = """
afl-3.0 agpl-3.0 apache-2.0 apple-amlr apple-ascl artistic-2.0 bigcode-openrail-m bigscience-bloom-rail-1.0 \
bigscience-openrail-m bsd bsd-2-clause
bsd-3-clause bsd-3-clause-clear bsl-1.0 c-uda cc cc-by-2.0 cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-nc-2.0 cc-by-nc-3.0 \
cc-by-nc-4.0 cc-by-nc-nd-3.0
cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cc-by-nd-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc0-1.0 \
cdla-permissive-1.0
cdla-permissive-2.0 cdla-sharing-1.0 creativeml-openrail-m deepfloyd-if-license ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 \
eupl-1.1 eupl-1.2
fair-noncommercial-research-license gemma gfdl gpl gpl-2.0 gpl-3.0 grok2-community h-research intel-research isc lgpl \
lgpl-2.1 lgpl-3.0 lgpl-lr
llama2 llama3 llama3.1 llama3.2 llama3.3 llama4 lppl-1.3c mit mpl-2.0 ms-pl ncsa odbl odc-by ofl-1.1 openmdw-1.0 \
openrail openrail++ osl-3.0 pddl
postgresql unlicense wtfpl zlib
"""

HUB_LICENSES = frozenset(_KNOWN.split())


def similar_licenses(name: str) -> str:
    """Return what to do about a licence that the Hub does not know: the nearest ones, or examples."""
    near = difflib.get_close_matches(name.lower(), sorted(HUB_LICENSES), n=3)
    return (
        f"did you mean {' or '.join(near)}?"
        if near
        else "use an identifier that the Hub lists, such as apache-2.0, mit or cc-by-4.0"
    )
