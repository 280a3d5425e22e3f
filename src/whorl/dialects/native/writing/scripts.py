"""Shell scripts with their values back in place, found by reading the result again."""

from __future__ import annotations

from whorl.dialects.native.shell import PREFIX, read_script


def write_script(script: str, sources: list[str]) -> str | None:
    """The script with {{ }} for its variables; None where that would be read otherwise."""
    text = script
    for number, source in enumerate(sources, start=1):
        variable = f"${{{PREFIX}{number}}}"
        # As `shell.py` quotes it: inside of quotes of each kind, or bare.
        forms = (f"'\"{variable}\"$'", f"'\"{variable}\"'", f'"{variable}"', variable)
        tries = (text.replace(form, f"{{{{ {source} }}}}", 1) for form in forms if form in text)
        found = next((one for one in tries if _reads_as(one, script)), None)
        if found is None:
            return None
        text = found
    return text if _reads_as(text, script) else None


def _reads_as(text: str, script: str) -> bool:
    read = read_script(text)
    return not read.faults and read.text == script
