"""A dataset goes to the Hugging Face Hub, one commit and one tag a version, and comes back whole."""

from toolscale.publish.pulling import Pulled, pull_dataset
from toolscale.publish.pushing import Compared, FileChange, Publication, publish_dataset

__all__ = ["Compared", "FileChange", "Publication", "Pulled", "publish_dataset", "pull_dataset"]
