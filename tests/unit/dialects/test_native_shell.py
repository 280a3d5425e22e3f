"""Values in shell scripts become variables, and a real shell never takes them for code."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from native_files import read

from campaign import amount
from waiting import PATIENCE_S
from whorl.dialects.native.shell import read_script
from whorl.ir import Constant, Task

SHELLS = [shell for shell in ("sh", "bash", "dash") if shutil.which(shell)]
HOSTILE = "a b; $(touch p) `id` \"q\" 'r' \\ * ${HOME} \n &"


def run(shell: str, source: str, values: list[str]) -> str:
    script = read_script(source)
    assert script.faults == []
    env = {f"WHORL_{number}": value for number, value in enumerate(values, start=1)}
    done = subprocess.run(
        [shell, "-c", script.text],
        env=env,
        capture_output=True,
        check=True,
        cwd="/",
        timeout=PATIENCE_S,
    )
    return done.stdout.decode()


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("echo {{ x }}", 'echo "${WHORL_1}"'),
        ('echo "a {{ x }} b"', 'echo "a ${WHORL_1} b"'),
        ("echo 'a {{ x }} b'", "echo 'a '\"${WHORL_1}\"' b'"),
        ('echo "$(cat {{ x }})" {{ y }}', 'echo "$(cat "${WHORL_1}")" "${WHORL_2}"'),
        ("echo a # it's\necho {{ x }}", 'echo a # it\'s\necho "${WHORL_1}"'),
        ("echo a#b{{ x }}", 'echo a#b"${WHORL_1}"'),
        ("echo ${#a} {{ x }}", 'echo ${#a} "${WHORL_1}"'),
        ("echo \\' {{ x }}", 'echo \\\' "${WHORL_1}"'),
        ("cat <<<{{ x }}", 'cat <<<"${WHORL_1}"'),
        ("echo {{ '}}' }}", 'echo "${WHORL_1}"'),
        ("echo {{ {'a': {'b': 1}}['a'] }}", 'echo "${WHORL_1}"'),
        ("sh -c 'echo \"$1\"' sh {{ x }}", 'sh -c \'echo "$1"\' sh "${WHORL_1}"'),
        ("git ls-remote {{ x }}", 'git ls-remote "${WHORL_1_git}"'),
        ("git ls-remote -- {{ x }}", 'git ls-remote -- "${WHORL_1}"'),
        ("sudo /usr/bin/tar xf {{ x }}", 'sudo /usr/bin/tar xf "${WHORL_1_tar}"'),
        ("echo {% 5 %}", "echo {% 5 %}"),
    ],
)
def test_each_place_gets_the_quotes_that_it_needs(source: str, text: str) -> None:
    script = read_script(source)

    assert script.faults == []
    assert script.text == text


@pytest.mark.parametrize(
    ("source", "words"),
    [
        *(("echo a # {{ x }}", "comment"), ("# {{ x }}", "comment")),
        *(("cat <<E\n{{ x }}\nE", "here-documents"), ("bash << {{ x }}\n", "here-documents")),
        *(("cat <(case $X in a) eval {{ x }};; esac)", "eval"), ("echo $'{{ x }}'", r"with \$'")),
        *(("echo `cat {{ x }}`", "backticks"), ('echo "`cat {{ x }}`"', "backticks")),
        *(("echo ${a:-{{ x }}}", r"\$\{"), ("echo $(( {{ x }} + 1 ))", "shell arithmetic")),
        ("(( {{ x }} > 1 )) && echo", "shell arithmetic"),
        *(('echo "$(( {{ x }} ))"', "shell arithmetic"), ("echo \\{{ x }}", "backslash")),
        *(('echo "\\{{ x }}"', "backslash"), ("echo ${{ x }}", r"after a '\$'")),
        *(('echo "${{ x }}"', r"after a '\$'"), ("eval {{ x }}", "eval")),
        *(("eval 'echo {{ x }}'", "eval"), ('sh -c "echo {{ x }}"', "'sh'")),
        *(("/bin/bash -ec 'echo {{ x }}'", "bash"), ("ls | xargs sh -c 'echo {{ x }}'", "'sh'")),
        ("let a={{ x }}", "let"),
        ("script -c 'echo {{ x }}' /dev/null", "script"),
        *(("script -qc 'echo {{ x }}'", "script"), ("script -c'echo {{ x }}'", "script")),
        *(("flock lock -c 'echo {{ x }}'", "flock"), ("watch ls {{ x }}", "watch")),
        *(("watch -n 1 'ls {{ x }}'", "watch"), ("env -S 'echo {{ x }}'", "env")),
        *(("env A=b -vS 'echo {{ x }}'", "env"), ("env --split-string='echo {{ x }}'", "env")),
        *(("env -S'echo {{ x }}'", "env"), ("sudo env watch {{ x }}", "watch")),
        *(("python3 -c'print({{ x }})'", "python3"), ("perl -e'print {{ x }}'", "perl")),
        *(("parallel echo {{ x }}", "parallel"), ("echo {{ x }} | at now", "at")),
        *(("[[ {{ x }} -gt 3 ]]", "numbers"), ("[[ 3 -gt {{ x }} ]]", "numbers")),
        *(("echo {{ x ", "not closed"), ("echo {{ x }} 'a", "not closed")),
        *(('echo {{ x }} "a', "not closed"), ("echo {{ x }} $(ls", "not closed")),
        *(("{% if x %}echo{% endif %}", "tags"), ("echo " + "{{ x }}" * 201, "at most 200")),
        ("echo {{ x }} " + "a" * 300_000, "characters"),
    ],
)
def test_a_place_where_it_is_not_possible_is_a_fault(source: str, words: str) -> None:
    import re

    found = read_script(source).faults

    assert found
    assert re.search(words, found[0].message)
    assert 0 <= found[0].offset <= len(source)
    assert found[0].help


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("source", "before", "after"),
    [
        ("printf %s {{ x }}", "", ""),
        ('printf %s "<{{ x }}>"', "<", ">"),
        ("printf %s '<{{ x }}>'", "<", ">"),
        ("printf %s \"$(printf %s '<{{ x }}>')\"", "<", ">"),
        ('if true; then printf %s a{{ x }}"b"; fi', "a", "b"),
    ],
)
def test_a_real_shell_gives_the_value_back(
    shell: str, source: str, before: str, after: str
) -> None:
    assert run(shell, source, [HOSTILE]) == f"{before}{HOSTILE}{after}"


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.skipif(not SHELLS, reason="there is no shell")
@settings(max_examples=amount(25, 500), deadline=None)
@given(
    st.lists(st.sampled_from(["'", '"', "{{ x }}", " ", "a", "$(printf b)", "\\\\"]), max_size=8),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20),
)
def test_no_mixture_of_quotes_lets_a_value_become_code(parts: list[str], value: str) -> None:
    """The script is the same for every value, so no value can change what it does."""
    source = "printf %s " + "".join(parts)
    script = read_script(source)
    if script.faults or not script.placed:
        return

    assert "touch" not in script.text
    shown = run(SHELLS[0], source, ["$(echo pwned)'\"`"] * len(script.placed))
    assert "pwned" not in shown.replace("$(echo pwned)", "")
    assert value not in script.text or value in source or value in '"${WHORL_123456789}"\''


@pytest.mark.parametrize(
    "script",
    [
        'bash <<< "echo {{ x }}"',
        *('if true; then eval "echo {{ x }}"; fi', 'while true; do eval "{{ x }}"; done'),
        *('! eval "{{ x }}"', 'sudo eval "{{ x }}"', 'A=1 eval "{{ x }}"'),
        *('trap "echo {{ x }}" EXIT', 'alias ll="{{ x }}"', "if [[ {{ x }} -eq 1 ]]; then :; fi"),
        *("if (( {{ x }} > 3 )); then echo big; fi", "for (( i=0; i<{{ x }}; i++ )); do :; done"),
        *("arr[{{ x }}]=1", 'declare "{{ x }}"', "unset {{ x }}", 'printf -v "{{ x }}" hi'),
        *("test -v {{ x }}", '"bash" -c "echo {{ x }}"', "b'as'h -c 'echo {{ x }}'"),
        *('\\bash -c "echo {{ x }}"', '$SHELL -c "echo {{ x }}"', 'sudo bash -lc "{{ x }}"'),
        *('su - bob -c "echo {{ x }}"', 'ssh host "ls {{ x }}"', "python3 -c \"print('{{ x }}')\""),
        *('perl -pe "s/a/{{ x }}/"', "awk '{ print \"{{ x }}\" }' file"),
        *('sed -i "s/a/{{ x }}/" file', 'echo "{{ x }}" | sh', 'echo "{{ x }}" | sudo bash -s'),
        'find . -exec sh -c "echo {{ x }}" \\;',
    ],
)
def test_no_value_becomes_code(script: str) -> None:
    faults = [fault.message for fault in read_script(script).faults]

    assert any("code" in message or "name" in message for message in faults)


@pytest.mark.parametrize(
    ("command", "steered"),
    [
        *(('[git, ls-remote, "{{ x }}"]', [2]), ('[git, "{{ x }}", "{{ x }}"]', [1, 2])),
        *(('[sudo, /usr/bin/tar, -xf, "{{ x }}"]', [3]), ('[git, ls-remote, --, "{{ x }}"]', None)),
        ('[git, log, "--author={{ x }}", "v{{ x }}"]', None),
        *(("[git, log, --oneline]", None), ('[echo, "{{ x }}"]', None), ('["{{ x }}", a]', None)),
    ],
)
def test_values_of_a_list_that_could_be_options_are_known(
    command: str, steered: list[int] | None
) -> None:
    """The step fails where one of them begins with a dash, as it does in a script."""
    workflow = read(f"inputs: {{x: string}}\nsteps: {{a: {{run: {command}}}}}\n")
    (task,) = workflow.body.nodes
    assert isinstance(task, Task)

    inputs = dict(task.inputs.entries)
    assert inputs.get("steered") == (None if steered is None else Constant(steered))
