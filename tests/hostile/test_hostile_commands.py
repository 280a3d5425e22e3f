"""No value of a command is read as code, as an option with code, or as a program (W021).

What an author writes without care is tried here with what a model could answer.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from whorl.dialects.reader import read_workflow
from whorl.errors import InvalidWorkflow

if TYPE_CHECKING:
    from whorl.language import Json

V = "{{ x }}"


def commands(text: str) -> list[list[str]]:
    """The commands of a text, several in a line, where V is a value."""
    found = [one for line in text.strip().splitlines() for one in line.split(" | ")]
    return [[word.replace("V", V) for word in shlex.split(one)] for one in found]


AS_CODE = commands("""
    env '-SV /tmp/x' | env --split-string=V | env -i -vSV | env A=1 sh -c V | python3 -cV
    python3.11 -IcV | python3 -W V | python3 -m V | python3 V script.py | bash V V | bash V
    bash -c -x 'echo V' | bash -O extglob -c V | bash --rcfile V | bash -V | bash -c 'eval "$1"' _ V
    perl -eV | perl -e 'print 1' V | ruby -eV | node --eval=V | node -e 1 V | php -rV
    fish --command=V | pwsh -Command V | pwsh -Command Get-Item V | ipython -c V | deno eval V
    bun -e V | lua -e V | awk V f | gawk --source=V | sed V f | sed -eV | script -qcV /dev/null
    script --command=V | script V | su --command=V | flock f -cV | flock f -c 'ls V' | git -c V zz
    git -c alias.zz=!V zz | git -C folder -c V zz | git clone --upload-pack=V a | git clone -u V a
    git bisect run V | tar -I V -xf o.tar | tar -IV -xf o.tar
    tar --use-compress-program=V -xf o.tar | tar -xf o.tar --checkpoint=1 --checkpoint-action=exec=V
    rsync -e V a b | rsync -avzeV a b | ssh -o ProxyCommand=V host | make --eval=V | make X=V
    make V | vim -c V | vim +V | ex -sc V | emacs --eval V | gdb -ex V | socat EXEC:V - | ncat -e V
    zip -TT V a.zip a | npx -c V | npm exec -c V | entr -s V | sqlite3 x.db V | psql -c V
    hyperfine V | tmux new V | busybox sh -c V | find . -exec sh -c V ';' | docker exec c sh -c V
    kubectl exec p -- sh -c V | uv run python -c V | timeout 5 nice -n 5 sh -c V | watch -x sh -c V
""")
AS_PROGRAM = commands("""
    env V a | xargs V a | xargs -n 1 V | nohup V | timeout 5 V | timeout V ls | nice -n 5 V
    sudo -u bob V | flock f V | find . -exec V ';' | watch -x V | uv run V | npx V | ld.so V | V V
""")
AS_WORDS = commands("""
    echo V | sh script.sh V -c | bash -- a.sh V | bash -eu a.sh V | bash -lc 'echo "$1"' sh V
    sh -c 'echo "$1"' sh V | bash -o pipefail -c 'echo "$1"' sh V | python3 -c 'import sys' V
    python3 -u solve.py V -c | python3 -m pytest -k V | python3 - V | node a.js V -e | pytest -k V
    node --max-old-space-size=99 a.js V | perl a.pl V | deno run --allow-net a.ts V | uv run ruff V
    timeout 5 grep V f | sudo ls V | env A=b ls V | nice -n 5 python3 a.py V | npm run check -- V
    git commit -m V | git switch -c V | git log --author=V V..HEAD | tar -czf V.tar.gz a
    find V -name V | awk -F , -v name=V '{ print name }' f | awk -F , '{ print }' V
    sed -n 1p V | sed -i -e 1d V | jq V | curl -d V https://example.org | ssh V
    docker run -e A=V image | ./check V
""")


def codes(step: dict[str, Any]) -> list[str]:
    """What is wrong in a file with this step."""
    inputs: Json = {"x": "string"}
    text = json.dumps({"whorl": 1, "inputs": inputs, "steps": {"a": step}})
    try:
        read_workflow(text, "a.json")
    except InvalidWorkflow as fault:
        found = fault.diagnostics
    else:
        return []
    assert all(one.help and one.span for one in found)
    return [one.code for one in found]


@pytest.mark.parametrize("command", AS_CODE + AS_PROGRAM, ids=" ".join)
def test_a_list_with_a_value_that_would_be_code_is_refused(command: list[str]) -> None:
    assert set(codes({"run": command})) == {"W021"}


@pytest.mark.parametrize("command", AS_WORDS, ids=" ".join)
def test_a_list_with_values_that_are_words_is_read(command: list[str]) -> None:
    assert codes({"run": command}) == []


@pytest.mark.parametrize(
    "command",
    [
        *(["bash"], ["bash", "-s", "a"], ["sh", "-"], ["python3"], ["python3", "-"]),
        *(["env", "A=1", "bash"], ["bash", "/dev/stdin"], ["ssh", "host"], ["sqlite3", "x.db"]),
        *("bash", "cat | sh", "cd a && python3 -"),
    ],
    ids=str,
)
def test_what_a_shell_without_a_script_reads_is_code(command: str | list[str]) -> None:
    assert codes({"run": command, "stdin": V}) == ["W021"]
    assert codes({"run": command, "stdin": "echo a"}) == []


@pytest.mark.parametrize(
    "command",
    [
        *(["cat"], ["bash", "script.sh"], ["python3", "-c", "import sys; print(sys.stdin.read())"]),
        *(["perl", "-pe", "s/a/b/"], ["psql", "-c", "copy t from stdin"]),
        *("grep a", "python3 count.py"),
    ],
    ids=str,
)
def test_what_a_script_reads_is_not_code(command: str | list[str]) -> None:
    assert codes({"run": command, "stdin": V}) == []


@pytest.mark.parametrize(
    "script",
    [
        *("script -qc{{ x }} /dev/null", "bash {{ x }} {{ x }}"),
        *(". /dev/stdin <<E\n{{ x }}\nE", "source /dev/stdin <<< {{ x }}", ". {{ x }}"),
        *(". <(echo {{ x }})", "bash <(echo {{ x }})", 'eval "$(echo {{ x }})"'),
        *('bash -c "$(cat <<E\n{{ x }}\nE\n)"', "echo {{ x }} 2>&1 | sh", ". -- <(echo {{ x }})"),
        *("(echo {{ x }}) | sh", "if true; then echo {{ x }}; fi | sh", "echo {{ x }} |& sh"),
        *("echo {{ x }} | tee f | sh", "sh -s < {{ x }}", "PATH=$(dirname {{ x }}); ls"),
        *(
            "awk -F , {{ x }} f",
            "chroot / {{ x }}",
            "sed p {{ x }} -e {{ x }}",
            "sh -o posix {{ x }}",
        ),
        *("bash -s a <<E\n{{ x }}\nE", "bash 2>/dev/null {{ x }}", "env -i {{ x }}"),
        *("ls | xargs -n 1 {{ x }}", "git -c alias.a=!{{ x }} a", "tar -I {{ x }} -xf o.tar"),
        *("timeout 5 bash -c {{ x }}", "python3 -c{{ x }}"),
    ],
)
def test_a_script_with_a_value_that_would_be_code_is_refused(script: str) -> None:
    assert set(codes({"run": script})) == {"W021"}


@pytest.mark.parametrize(
    "script",
    [
        *("X={{ x }}; echo $X", 'X={{ x }}; A=($X b); echo "${A[@]}"'),
        *("X={{ x }}; case $X in a) ls;; esac", "X={{ x }}; for Y in $X; do echo $Y; done"),
        *("X={{ x }}; ls > $X", 'X={{ x }}; [ -n "$X" ] && A=$X ls'),
        *("X={{ x }}; . ./env.sh; echo $X", 'echo {{ x }}; eval "$(ssh-agent)"'),
        *("echo {{ x }}; source venv/bin/activate", "(ls; pwd) > {{ x }}"),
        *("bash script.sh > {{ x }} 2>&1", "bash > {{ x }} script.sh"),
        "while read L; do echo $L; done < {{ x }}",
        *("[[ $(wc -l < {{ x }}) -gt 3 ]] && echo many", "diff <(sort {{ x }}) b.txt"),
        *('X=$(cat {{ x }}) && echo "$X" | grep a', "timeout 5 grep {{ x }} a.txt"),
        "curl example.org | sh; echo {{ x }}",
    ],
)
def test_a_script_with_values_that_are_words_is_read(script: str) -> None:
    assert codes({"run": script}) == []


@pytest.mark.parametrize("inputs", [{"argv": V}, {"script": f"ls {V}"}, {"shell": V}], ids=str)
def test_no_value_is_a_whole_command(inputs: dict[str, str]) -> None:
    task = {"kind": "run", "inputs": {"script": "ls", **inputs}}

    assert codes({"task": task}) == ["W021"]


@pytest.mark.parametrize(
    "command", ['git commit -m "$T"', "./check.sh", ["./check.sh", "a"]], ids=str
)
def test_a_variable_of_env_is_used(command: Json) -> None:
    assert codes({"run": command, "env": {"T": V}}) == []


@pytest.mark.parametrize(
    ("command", "is_refused"),
    [
        *((f"GIT_SSH_COMMAND={V} git ls-remote host", True), (f"export PATH={V}; ls", True)),
        *((f"LD_PRELOAD='{V}' ls", True), (f"git grep -O{V} x", True)),
        *((f"GIT_AUTHOR_NAME={V} git commit -m x", False), (f"NAME={V} ./check.sh", False)),
    ],
)
def test_no_value_sets_a_variable_that_chooses_programs(command: str, is_refused: bool) -> None:
    assert codes({"run": command})[:1] == ["W021"] * is_refused
