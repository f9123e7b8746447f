"""From judged candidates to a dataset folder: which are judged, which are taken, and how the folder is written and
read."""
