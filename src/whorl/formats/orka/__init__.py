"""The dialect of orchestrators and agents, whose loops score their work and learn from it."""

from whorl.plugins import Wing

WING = Wing(
    rank=2,
    readers={"orka": "whorl.formats.orka.reader:OrkaReader"},
    libraries={"orka": "whorl.formats.orka.functions:LIBRARY"},
)
