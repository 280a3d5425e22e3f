"""The cluster runtime: the machine inside of Temporal, which distributes, recovers and fences.

Temporal's history of a run is the only truth. The journal that people read is derived from it by
the code that drives the run, and kept in an ordinary store file: the mirror.
"""
