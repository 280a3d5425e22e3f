"""Chance that can be replayed: drawn from the seed of the scope and a count of the run.

The scope says `$seed`, a text that is different for each evaluation and the same in a replay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.loom.values.arguments import Family, not_valid, text
from whorl.language.faults import EvaluationError

if TYPE_CHECKING:
    from whorl.language.entry import FunctionEntry
    from whorl.language.run import Run
    from whorl.language.values import Value


def drawn(run: Run) -> bytes:
    """Return 32 bytes that nothing else of this run has been given."""
    seed = run.lookup("$seed")
    if not isinstance(seed, str):
        raise EvaluationError(
            "there is no chance in this place: a value that is evaluated again must stay the same"
        )
    # OpenSSL takes long to load, and few expressions draw.
    import hashlib

    run.drawn += 1
    return hashlib.sha256(f"{seed}\n{run.drawn}".encode("utf-8", "surrogatepass")).digest()


def drawn_integer(run: Run, low: int, beyond: int) -> int:
    """Return an integer from `low` to below `beyond`."""
    return low + int.from_bytes(drawn(run)) % (beyond - low)


def guid(run: Run, form: Value) -> Value:
    letter = "D" if form is None else text("guid", None, form).upper() or "D"
    octets = bytearray(drawn(run)[:16])
    octets[6] = octets[6] & 0x0F | 0x40
    octets[8] = octets[8] & 0x3F | 0x80
    digits = octets.hex()
    dashed = f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
    forms = {
        "N": digits,
        "D": dashed,
        "B": f"{{{dashed}}}",
        "P": f"({dashed})",
        "X": _structured(digits),
    }
    if letter not in forms:
        raise not_valid("guid", "its format is one of 'N', 'D', 'B', 'P' and 'X'")
    return forms[letter]


def _structured(digits: str) -> str:
    tail = ",".join(f"0x{digits[at : at + 2]}" for at in range(16, 32, 2))
    return f"{{0x{digits[:8]},0x{digits[8:12]},0x{digits[12:16]},{{{tail}}}}}"


SEEDS: tuple[FunctionEntry, ...] = (
    Family("string")(
        "guid(format?)", guid, "a new identifier, drawn from the seed of the run", reads="$seed"
    ),
)
