"""The rule for values in commands: none is read as code, as an option with code, or as a program.

A command is its words up to the value; `VALUE` stands for each value before it. The rule is the
same for lists of arguments and for scripts. The tables at the end say what is known of programs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whorl.lazily import dataclass, regex

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

VALUE: Final = "\1"
_AS_ARGUMENT: Final = (
    'pass the value as an argument behind a script, as in `[sh, script.sh, "{{ x }}"]`, '
    "or through `env`"
)
_BEHIND: Final = "write the program in the file, and the value behind it"
_NAMES: Final = ("the value would name", "a value names", "a value would be")
_INPUTS: Final = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_ASSIGNMENT: Final = regex(r"[A-Za-z_][A-Za-z0-9_]*=")
_LONG: Final = regex(r"--[A-Za-z-]+=")
_EXECUTE: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
# Code that runs what it is given as arguments.
_EVALUATES: Final = regex(r"(?:^|[\s;&|({])(?:eval|source|\.)\s")
_OWN_NAME: Final = regex(r"(?:user|author|committer)\.(?:name|email)=")
_GIT_WITH_WORD: Final = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"})
_GIT_RUNS: Final = regex(r"(?:submodule foreach|bisect run|(?:rebase|difftool) .*-x)(?: .*)?")


def refusal(words: Sequence[str], prefix: str = "") -> str:
    """Why a value cannot stand behind these words and the beginning of its own word; or nothing."""
    if not words:
        return ""
    words, name = list(words), name_of(words[0])
    rest = words[1:]
    if words[0].startswith(VALUE):
        return "a value names the program, which could run this one as code"
    if name in INTERPRETERS:
        return _of_interpreter(words, prefix)
    if starter := _starter(name, rest):
        return _of_starter(words, starter, prefix)
    if name in ALL_CODE:
        harmless = NO_CODE.get(name)
        is_harmless = harmless and (_flag(prefix) and harmless.match(prefix))
        behind = harmless and rest and not prefix and harmless.fullmatch(rest[-1])
        return "" if is_harmless or behind else _code(words[0])
    if name in DASHED and "--" not in rest:
        return _of_dashed(words, prefix)
    if name == "watch":
        return _of_watch(words, prefix)
    if name == "find":
        return _of_find(words, prefix)
    return _of_other(words, name, prefix) or _somewhere(words)


def advice_for(refused: str) -> str:
    """What to do instead, for a message of `refusal`."""
    return _BEHIND if refused.startswith(_NAMES) else _AS_ARGUMENT


def input_reader(words: Sequence[str]) -> str:
    """Who takes its input for code in a command of these words; or nothing."""
    if not words:
        return ""
    words, name = list(words), name_of(words[0])
    rest = words[1:]
    if name in INTERPRETERS:
        at, is_code = _script_at(words)
        reads = at is None or (not is_code and rest[at] in _INPUTS)
        is_asked = name in SHELLS and any(_reads_input(word) for word in rest[:at])
        has_code = at is None and any(_code_flag(name).fullmatch(word) for word in rest)
        return words[0] if is_asked or (reads and not has_code) else ""
    if starter := _starter(name, rest):
        return input_reader(_started(words, starter))
    if name in ("source", "."):
        return words[0] if rest[:1] and rest[0] in _INPUTS else ""
    plain = [word for word in rest if not word.startswith("-")]
    if name in ASKING:
        flags = COMMAND_OPTIONS[name]
        has_code = any(flags.match(word) or word[:2] == "-f" or word == "-safe" for word in rest)
        return "" if has_code else words[0]
    return words[0] if name in QUEUEING or (name in REMOTE and plain) else ""


def started(words: Sequence[str]) -> list[str]:
    """The words from the program on that those before it start in the end."""
    words = list(words)
    while words and (starter := _starter(name_of(words[0]), words[1:])):
        words = _started(words, starter)
    return words


def _reads_input(word: str) -> bool:
    """Whether a word of a shell makes it read its input although it has arguments."""
    return word[:1] == "-" and word[1:2] != "-" and "s" in word


def _code(reader: str) -> str:
    return f"{reader.replace(VALUE, '')!r} would run the value as code"


def _option(program: str) -> str:
    return f"{program!r} could read the value as an option, which may contain code"


def _named_by(program: str) -> str:
    return f"the value would name the program that {program!r} starts, or an option before it"


def _literal(prefix: str) -> str:
    """What is surely in a word before the value."""
    return prefix.replace(VALUE, "").lstrip("$")


def _flag(prefix: str) -> bool:
    return prefix[:1] == "-"


def _code_flag(name: str) -> re.Pattern[str]:
    return CODE_FLAG if name in SHELLS else OTHER_CODE_FLAG


def _script_at(words: Sequence[str]) -> tuple[int | None, bool]:
    """Where an interpreter's script is among its words, or its code, and whether it is code."""
    name, is_taken, is_code = name_of(words[0]), False, False
    subcommands = SUBCOMMANDS.get(name, frozenset())
    for at, word in enumerate(words[1:]):
        if is_taken:
            is_taken = False
        elif word in ("-", "--"):
            return at, is_code
        elif word[:1] == "-" or (word[:1] == "+" and name in SHELLS):
            is_taken = INTERPRETERS[name].fullmatch(word) is not None
            is_code = is_code or CODE_FLAG.fullmatch(word) is not None
        elif word not in subcommands:
            return at, is_code
        else:
            subcommands = frozenset()
    return None, is_code


def _of_interpreter(words: list[str], prefix: str) -> str:
    name, rest = name_of(words[0]), words[1:]
    at, is_code = _script_at(words)
    if name in ("pwsh", "powershell") and is_code:
        return _code(words[0])
    if at is not None and rest[at] == "--" and is_code and name in SHELLS and at == len(rest) - 1:
        return _code(words[0])
    if at is not None:
        evaluates = is_code and name in SHELLS and _EVALUATES.search(rest[at])
        return _code(words[0]) if evaluates else ""
    flags, last = _code_flag(name), rest[-1] if rest else ""
    if _flag(prefix):
        flag = prefix.partition("=")[0].replace(VALUE, "")
        is_harmless = _LONG.match(prefix) and not flags.fullmatch(flag)
        is_known = INTERPRETERS[name].fullmatch(flag) or flag in ("--rcfile", "--init-file")
        return "" if is_harmless and not is_known else _code(f"{words[0]} {flag}")
    if flags.fullmatch(last) or last in SUBCOMMANDS.get(name, ()):
        return _code(f"{words[0]} {last}")
    if is_code and name in SHELLS:
        return _code(words[0])
    if last in ("--rcfile", "--init-file"):
        return _code(f"{words[0]} {last}")
    return "" if _literal(prefix) else _option(words[0])


def _starter(name: str, rest: Sequence[str]) -> Starter | None:
    if name in RUNNERS and rest and rest[0] in RUNNERS[name]:
        return RUNNER
    if name in ("kubectl", "oc") and "--" in rest:
        return Starter(plain=list(rest).index("--"))
    return STARTERS.get(name)


def _started(words: Sequence[str], starter: Starter) -> list[str]:
    """The words from the program on that a starter starts; none if there is no such word yet."""
    is_taken, plain = False, starter.plain
    for at, word in enumerate(words[1:], start=1):
        if is_taken:
            is_taken = False
        elif word[:1] == "-":
            is_taken = starter.with_word.fullmatch(word) is not None
            if starter.code.fullmatch(word):
                return []
        elif plain:
            plain -= 1
        elif not _ASSIGNMENT.match(word):
            return list(words[at:])
    return []


def _of_starter(words: list[str], starter: Starter, prefix: str) -> str:
    inner = _started(words, starter)
    if inner:
        return refusal(inner, prefix)
    last = words[-1] if len(words) > 1 else ""
    for flag in (prefix.partition("=")[0].replace(VALUE, ""), last):
        if starter.code.match(flag):
            return _code(f"{words[0]} {flag}")
    is_set = _ASSIGNMENT.match(prefix) and name_of(words[0]) in ("env", "sudo", "doas")
    return "" if is_set or _LONG.match(prefix) else _named_by(words[0])


def _of_dashed(words: list[str], prefix: str) -> str:
    last = words[-1] if len(words) > 1 else ""
    if DASHED_CODE.fullmatch(last):
        return _code(f"{words[0]} {last}")
    if prefix[:1] in ("-", "+"):
        return _code(f"{words[0]} {prefix.rstrip('=')}")
    return "" if _literal(prefix) else _option(words[0])


def _of_watch(words: list[str], prefix: str) -> str:
    if not {"-x", "--exec"} & {*words}:
        return _code(words[0])
    return _of_starter(words, Starter(regex(r"-n|--interval")), prefix)


def _of_find(words: list[str], prefix: str) -> str:
    at = max((at for at, word in enumerate(words) if word in _EXECUTE), default=0)
    if not at or {";", "\\;", "+"} & {*words[at:]}:
        return ""
    return refusal(words[at + 1 :], prefix) if words[at + 1 :] else _named_by(f"find {words[at]}")


def _of_other(words: list[str], name: str, prefix: str) -> str:
    rest, flags = words[1:], COMMAND_OPTIONS.get(name)
    last = rest[-1] if rest else ""
    if name == "git" and (found := _of_git(rest, prefix)):
        return found
    if flags is not None:
        if _flag(prefix) and flags.match(prefix):
            return _code(f"{words[0]} {prefix.partition('=')[0]}")
        if not _flag(prefix) and flags.fullmatch(last):
            return _code(f"{words[0]} {last}")
    plain = [word for word in rest if not word.startswith("-")]
    if name in REMOTE and plain:
        return _code(words[0])
    if name == "sqlite3" and plain and "-safe" not in rest:
        return _code(words[0])
    if name in PROGRAM_FIRST and last not in WITH_A_WORD and not _flag(prefix):
        taken = sum(word in WITH_A_WORD for word in rest)
        has_program = any(word[:2] in ("-f", "-e") or word[:6] == "--file" for word in rest)
        return _code(words[0]) if len(plain) <= taken and not has_program else ""
    return ""


def _of_git(rest: list[str], prefix: str) -> str:
    """Settings of git may be commands; those that say who somebody is are not."""
    last, at = rest[-1] if rest else "", 0
    while at < len(rest) and rest[at][:1] == "-":
        at += 2 if rest[at] in _GIT_WITH_WORD else 1
    is_before = at >= len(rest)
    takes = ("-c", "--config", "-u") if rest[at : at + 1] in (["clone"], ["init"]) else ()
    if (last == "-c" and is_before) or last in takes or prefix[:2] in takes:
        return "" if _OWN_NAME.match(prefix) else _code(f"git {last or prefix[:2]}")
    if is_before and prefix[:2] == "-c":
        return _code("git -c")
    command = " ".join(rest[at:])
    return _code(f"git {rest[at]}") if _GIT_RUNS.fullmatch(command) else ""


def _somewhere(words: list[str]) -> str:
    """A shell may also be started by a program that is not known."""
    for at, word in enumerate(words[1:], start=1):
        name, rest = name_of(word), words[at + 1 :]
        is_known = name in INTERPRETERS and name not in ("R", "deno", "bun", "expect")
        if (is_known or word[:1] == "$") and rest:
            flags = _code_flag(name) if is_known else CODE_FLAG
            if flags.fullmatch(rest[-1]):
                return _code(f"{word} {rest[-1]}")
    if words[0][:1] == "$" and len(words) > 1 and CODE_FLAG.fullmatch(words[-1]):
        return _code(f"{words[0]} {words[-1]}")
    return ""


# The programs that take words of their command line, or their input, for code or for programs.
#
# This table is what Whorl promises about values in commands; the rule over it stands before.

if TYPE_CHECKING:
    Pattern = re.Pattern[str]

_NEVER: Final = regex(r"(?!)")
_VERSION: Final = regex(r"[0-9.]+$")

SHELLS: Final = frozenset(
    [
        "sh",
        "bash",
        "dash",
        "zsh",
        "ksh",
        "mksh",
        "ash",
        "rbash",
        "fish",
        "csh",
        "tcsh",
        "xonsh",
        "nu",
        "elvish",
        "osh",
        "pwsh",
        "powershell",
    ]
)
_POSIX: Final = regex(r"[-+][oO]")
# Options of interpreters that take the next word; behind it there may be more options.
INTERPRETERS: Final[dict[str, Pattern]] = {
    **dict.fromkeys(("sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash"), _POSIX),
    **dict.fromkeys(("csh", "tcsh", "xonsh", "nu", "elvish", "osh", "tclsh", "wish"), _NEVER),
    "fish": regex(r"-[A-Za-z]*[cCdo]|--(?:init-)?command"),
    **dict.fromkeys(("pwsh", "powershell"), regex(r"(?i)-(?:ex\w*|wo\w*|w\w*style)")),
    **dict.fromkeys(("python", "pypy"), regex(r"-[A-Za-z]*[WX]")),
    **dict.fromkeys(("ipython", "bpython", "expect"), regex(r"-[A-Za-z]*c")),
    "perl": regex(r"-I|-(?![IMmxDCF])[A-Za-z0-9]*[eE]"),
    **dict.fromkeys(("ruby", "irb"), regex(r"-(?![IrKTx])[A-Za-z0-9]*[eC]|-[Ir]")),
    **dict.fromkeys(
        ("node", "nodejs", "bun", "deno", "tsx", "ts-node"),
        regex(r"-[a-z]*[erC]|-pe?|--(?:eval|print|require|import|loader|conditions)"),
    ),
    "php": regex(r"-[rBRESFzctdf]|--(?:run|process-\w+|define|file)"),
    **dict.fromkeys(("lua", "luajit"), regex(r"-[el]")),
    **dict.fromkeys(("Rscript", "R", "groovy", "scala", "elixir"), regex(r"-[efr]")),
    **dict.fromkeys(("julia", "osascript", "guile"), regex(r"-[eElLpJc]")),
    **dict.fromkeys(("octave", "ghc", "swipl", "erl"), regex(r"-[egs]|-?-eval")),
}
# Those whose first word says what is done with the script behind it.
SUBCOMMANDS: Final = {
    "deno": frozenset({"run", "eval", "test", "repl"}),
    "bun": frozenset({"run", "exec", "x"}),
}
# What stands before code, alone or at the end of joined letters, and what has code in its word.
CODE_FLAG: Final = regex(
    r"-[A-Za-z]*[cC]|--(?:init-)?command|(?i:-(?:command|encodedcommand|ec|enc))"
)
OTHER_CODE_FLAG: Final = regex(
    r"-[A-Za-z]*[cerEpBRFg]|-?-(?:command|eval|execute|run|print|require|import|loader|source)"
    r"|--process-\w+"
)


@dataclass(frozen=True, slots=True)
class Starter:
    """A program that starts another one: which options take a word, which take code.

    `plain` is how many words without a dash stand before the program that it starts.
    """

    with_word: Pattern = _NEVER
    plain: int = 0
    code: Pattern = _NEVER


_PLAIN: Final = Starter()
_NAMED: Final = Starter(plain=1)
STARTERS: Final[dict[str, Starter]] = {
    "env": Starter(regex(r"-[uC]|--(?:unset|chdir)"), 0, regex(r"-[A-Za-z0-9]*S|--split-string")),
    **dict.fromkeys(("sudo", "doas"), Starter(regex(r"-[A-Za-z]*[ugpCDhRrtTU]|--(?:user|group)"))),
    "xargs": Starter(regex(r"-[InPLdEas]|--(?:max-\w+|delimiter|arg-file|replace)")),
    **dict.fromkeys(
        [
            "nohup",
            "setsid",
            "command",
            "builtin",
            "unbuffer",
            "busybox",
            "toybox",
            "catchsegv",
            "eatmydata",
            "tini",
            "dumb-init",
            "proxychains",
            "firejail",
            "valgrind",
            "numactl",
            "setpriv",
            "xvfb-run",
            "dbus-run-session",
        ],
        _PLAIN,
    ),
    "time": Starter(regex(r"-[fo]")),
    "exec": Starter(regex(r"-a")),
    "nice": Starter(regex(r"-n|--adjustment")),
    "ionice": Starter(regex(r"-[cnpPu]")),
    "timeout": Starter(regex(r"-[ks]|--(?:kill-after|signal)"), 1),
    "stdbuf": Starter(regex(r"-[ioe]")),
    **dict.fromkeys(("taskset", "chrt", "chroot", "gosu", "su-exec", "faketime"), _NAMED),
    **dict.fromkeys(("strace", "ltrace", "unshare", "nsenter"), Starter(regex(r"-[eopsuStG]"))),
    "systemd-run": Starter(regex(r"-[puHM]")),
    "cgexec": Starter(regex(r"-g")),
    "flock": Starter(regex(r"-[wE]"), 1, regex(r"-[A-Za-z]*c|--command")),
    "entr": Starter(_NEVER, 0, regex(r"-[a-z]*s[a-z]*")),
    **dict.fromkeys(
        ("npx", "bunx", "pnpx"), Starter(regex(r"-p|--package"), 0, regex(r"-c|--call"))
    ),
    **dict.fromkeys(("ld.so", "ld-linux-x86-64.so.2"), Starter(regex(r"--[a-z-]+"))),
}
# Those that start a program behind one of these words.
_RUN: Final = Starter(regex(r"-[pn]|--(?:with|python|extra|group|project|directory|package)"), 1)
RUNNERS: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(
        ("uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "bundle"),
        frozenset({"run", "exec"}),
    ),
    **dict.fromkeys(("npm", "pnpm", "yarn"), frozenset({"exec", "x", "dlx"})),
}
RUNNER: Final = Starter(_RUN.with_word, 1, regex(r"-c|--call"))

# Values are nothing but code, or could be, in all words of these. `make` reads `NAME=...` as code.
ALL_CODE: Final = frozenset(
    [
        "su",
        "runuser",
        "socat",
        "tmux",
        "screen",
        "crontab",
        "hyperfine",
        "parallel",
        "make",
        "gmake",
        "cmd",
        "cmd.exe",
    ]
)
# But not in the words behind these options.
NO_CODE: Final = {
    name: regex(r"-[A-Za-z]*[Cjl]|--(?:directory|jobs)=?") for name in ("make", "gmake")
}
# Values could be options that hold code, unless `--` or other characters stand before them.
DASHED: Final = frozenset(
    [
        "script",
        "vim",
        "vi",
        "nvim",
        "view",
        "ex",
        "gvim",
        "vimdiff",
        "rvim",
        "emacs",
        "gdb",
        "lldb",
        "ed",
        "m4",
        "dc",
        "xterm",
    ]
)
# Their options that take code, or a file of it, in the next word.
DASHED_CODE: Final = regex(
    r"-[A-Za-z]*[cSsuxlfe]|-i?ex|-?-(?:command|cmd|eval|execute|load|funcall|eval-command)"
)
# Options that take a command, in the same word or in the next one.
COMMAND_OPTIONS: Final[dict[str, Pattern]] = {
    "git": regex(
        r"--(?:config|config-env|exec-path|upload-pack|receive-pack|exec|extcmd|[a-z]+-filter)"
        r"|--open-files-in-pager|-O"
    ),
    "hg": regex(r"--config|--ssh|-e"),
    "svn": regex(r"--config-option|--editor-cmd|--diff-cmd|--diff3-cmd"),
    "tar": regex(
        r"-[A-Za-z]*[IF]|--(?:use-compress-program|to-command|checkpoint-action|info-script"
        r"|new-volume-script|rsh-command|rmt-command)"
    ),
    "rsync": regex(r"-[A-Za-z]*e|--(?:rsh|rsync-path)"),
    **dict.fromkeys(("ssh", "scp", "sftp"), regex(r"-[A-Za-z0-9]*[oFSJD]")),
    **dict.fromkeys(("zip", "unzip"), regex(r"-TT|--unzip-command")),
    **dict.fromkeys(("nc", "ncat", "netcat"), regex(r"-[a-z]*[ec]|--(?:sh-|lua-)?exec")),
    "wget": regex(r"-e|--(?:execute|use-askpass)"),
    "sort": regex(r"--compress-program"),
    "split": regex(r"--filter"),
    "man": regex(r"-[PH]|--pager|--html"),
    "tcpdump": regex(r"-z"),
    "go": regex(r"--?(?:exec|toolexec|ldflags|gcflags)"),
    "cargo": regex(r"--config"),
    **dict.fromkeys(("gcc", "cc", "g++"), regex(r"-(?:B|wrapper|specs|fplugin)")),
    **dict.fromkeys(("apt", "apt-get"), regex(r"-[a-z]*o|--option")),
    **dict.fromkeys(("psql", "mysql"), regex(r"-[A-Za-z]*[ce]|--(?:command|execute)")),
    "sqlite3": regex(r"--?cmd"),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), regex(r"-e|-W|-i|--(?:source|include)")),
    **dict.fromkeys(("sed", "gsed"), regex(r"-[nErsuz]*e|--expression")),
    **dict.fromkeys(("ansible", "ansible-playbook"), regex(r"-[ae]|--(?:args|extra-vars)")),
}
# Those whose first word without a dash is a program, and their options that take another word.
PROGRAM_FIRST: Final = frozenset({"awk", "gawk", "mawk", "nawk", "sed", "gsed"})
WITH_A_WORD: Final = frozenset({"-v", "-F", "-f", "--assign", "--file", "--field-separator"})
REMOTE: Final = frozenset({"ssh", "rsh", "mosh"})
# Those that read commands from their input.
QUEUEING: Final = frozenset({"at", "batch", "crontab", "ed", "ex", "parallel", "make", "gmake"})
ASKING: Final = frozenset({"psql", "mysql", "sqlite3"})


def name_of(word: str) -> str:
    """The name of a program in the tables, without its folder and its version."""
    name = word.rpartition("/")[2]
    known = (STARTERS, RUNNERS, COMMAND_OPTIONS, ALL_CODE, DASHED, INTERPRETERS)
    if any(name in table for table in known):
        return name
    return _VERSION.sub("", name.removesuffix(".exe")) or name


# Variables of an environment that make a program run others, or read files that do.

_STEERING = frozenset(
    (
        *("PATH", "HOME", "GCONV_PATH", "NLSPATH", "TERMINFO", "ENV", "BASH_ENV", "BASHOPTS"),
        *("SHELL", "SHELLOPTS", "IFS", "PS4", "PROMPT_COMMAND", "ZDOTDIR", "FPATH", "CDPATH"),
        *("EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "LESSKEY"),
        *("CLASSPATH", "RUBYOPT", "RUBYLIB", "RUBYSHELL", "PHPRC", "PHP_INI_SCAN_DIR", "RUSTC"),
        *("RUSTC_WRAPPER", "RUSTFLAGS", "GOFLAGS", "CC", "CXX", "LD", "MAKE", "MAKEFLAGS"),
        *("MAKEFILES", "TAR_OPTIONS", "CURL_HOME", "WGETRC", "RSYNC_RSH", "VIMINIT", "EXINIT"),
        *("EMACSLOADPATH", "DOCKER_HOST", "KUBECONFIG", "CONFIG_SITE"),
    )
)
_STEERING_FAMILIES = (
    *("LD_", "DYLD_", "XDG_", "BASH_FUNC_", "GIT_", "SSH_", "PYTHON", "NODE_", "NPM_", "PERL"),
    *("GEM_", "BUNDLE_", "LUA_", "JAVA_", "_JAVA_", "JDK_", "MAVEN_", "GRADLE_", "DOTNET_"),
    *("CORECLR_", "CARGO_", "CMAKE_"),
)


# Who wrote a commit starts nothing.
_HARMLESS = ("GIT_AUTHOR_", "GIT_COMMITTER_")


def is_steering(name: str) -> bool:
    if name.upper().startswith(_HARMLESS):
        return False
    return name.upper() in _STEERING or name.upper().startswith(_STEERING_FAMILIES)
