"""Graph files: nodes with typed ports, edges between handles, and loops that hold a workflow."""

from whorl.plugins import Mark, Wing

WING = Wing(
    rank=4,
    readers={"shodan": "whorl.formats.shodan.reader:ShodanReader"},
    libraries={"shodan": "whorl.formats.shodan.functions:LIBRARY"},
    marks=(Mark(".robomesh"),),
    find_named="whorl.formats.shodan.reader:find_named",
)
