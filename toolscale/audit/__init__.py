"""Somebody else's dataset, audited: what our gates find in it, with the evidence for each task.

A source reads a dataset into `Examined` tasks: tau2's own environments in a process of their own, rows as ToolScale has
them on the Hub, or a dataset folder of ours. The checks are the same for all.
"""

from toolscale.audit.found import Audit, Finding, Undecided
from toolscale.audit.page import render_page
from toolscale.audit.sources import audit_source

__all__ = ["Audit", "Finding", "Undecided", "audit_source", "render_page"]
