"""The rule for values in commands: none is read as code, as an option with code, or as a program.

A command is its words up to the value; `VALUE` stands for each value before it. The rule is the
same for lists of arguments and for scripts, and refuses what it does not know of these programs.

A program that runs code takes values only after a script that is written out. A program that starts
another one takes values only after that one, which is written out. A value may not be an option
that takes code, or the argument of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whorl.lazily import dataclass, regex

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

VALUE: Final = "\1"
ADVICE: Final = (
    'pass the value as an argument behind a script, as in `[sh, script.sh, "{{ x }}"]`, '
    "or through `env`"
)
_INPUTS: Final = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_ASSIGNMENT: Final = regex(r"[A-Za-z_][A-Za-z0-9_]*=")
_VERSION: Final = regex(r"-?[0-9.]+$")
# Code of a shell that runs what it is given as arguments.
_EVALUATES: Final = regex(r"(?:^|[\s;&|({])(?:eval|source|\.)\s")


def refusal(words: Sequence[str], prefix: str = "") -> str:
    """Returns why a value, beginning with `prefix`, may not follow these words, or "" if it may."""
    if not words:
        return ""
    inner = started(words)
    if inner and not inner[0].startswith(VALUE) and not _is_code(inner, prefix):
        return ""
    program = (inner or words)[0].replace(VALUE, "{{ }}")
    return f"{program!r} would run the value as code"


def input_reader(words: Sequence[str]) -> str:
    """Returns the program that takes its input for code in a command of these words, or ""."""
    readers = {*INTERPRETERS, *NEVER, *READING}
    known = (list(words[at:]) for at, word in enumerate(words) if name_of(word) in readers)
    words = started(words) or next(known, [])
    name, rest = (name_of(words[0]), words[1:]) if words else ("", [])
    if name in INTERPRETERS:
        at, _ = _script_of(words)
        return words[0] if at is None or words[at] in _INPUTS else ""
    if name in ("source", "."):
        file = next((word for word in rest if word[:1] != "-" or word == "-"), "-")
        return words[0] if file in _INPUTS else ""
    if name in ("psql", "mysql") and any(_QUERY.match(word) for word in rest):
        return ""
    return words[0] if name in NEVER or name in READING else ""


def started(words: Sequence[str]) -> list[str]:
    """Returns the words from the started program on, or [] if that program is uncertain."""
    words = list(words)
    while words and name_of(words[0]) in STARTERS:
        at = 1
        while at < len(words) and _BEFORE_PROGRAM.fullmatch(words[at]):
            at += 2 if words[at] == "-n" else 1
        at += name_of(words[0]) in BEHIND_ITS_OWN
        uncertain = (word for word in words[1 : at + 1] if word[:1] in ("-", "$", VALUE))
        if any(word != "-n" for word in uncertain):
            return []
        words = words[at:]
    if words and name_of(words[0]) in ("kubectl", "oc") and "--" in words:
        return started(words[words.index("--") + 1 :])
    return words


def name_of(word: str) -> str:
    """Returns the name of a program in the tables, without its folder and its version."""
    name = word.rpartition("/")[2].removesuffix(".exe")
    return _VERSION.sub("", name) or name


def _script_of(words: Sequence[str]) -> tuple[int | None, bool]:
    """Returns the index of an interpreter's script, and whether options may follow the script."""
    kind, at = INTERPRETERS[name_of(words[0])], 1
    while at < len(words):
        has_word = kind.with_word.fullmatch(words[at])
        if not has_word and not kind.flags.fullmatch(words[at]):
            break
        at += 2 if has_word else 1
    flag = words[at] if at < len(words) else ""
    has_code, has_options = bool(kind.code.fullmatch(flag)), bool(kind.open_code.fullmatch(flag))
    at += has_code or has_options
    script = words[at] if at < len(words) else "--"
    is_script = script[:1] not in ("-", "+") or (script == "-" and not has_code)
    return at if is_script else None, has_options


def _is_code(words: list[str], prefix: str) -> bool:
    """Checks whether a program could take a value for code, a program, or an option with code."""
    name, (*before, last) = name_of(words[0]), words
    if name in INTERPRETERS:
        if name.endswith("awk") and last == "-v" and _ASSIGNMENT.match(prefix):
            return False
        at, has_options = _script_of(words)
        if at is None or has_options or _EVALUATES.search(words[at]):
            return True
        words = [*words, prefix] if prefix[:1] == "-" else words
        return name.endswith("sed") and _SED_CODE.match(words[-1]) is not None
    if name in BEHIND_A_WORD and any(word[:1] != "-" for word in words[1:]):
        return True
    if name == "find" and any(word.startswith(("-exec", "-ok")) for word in words):
        return True
    if prefix[:1] == "-":
        words, flag = [*words, prefix], OPTIONS.get(name, _NOTHING).match(prefix)
    else:
        flag = OPTIONS.get(name, _NOTHING).fullmatch(last)
    if name == "git" and _GIT_CODE.fullmatch(" ".join(words[1:])):
        return True
    # A program that is not known may start an interpreter.
    is_shell_code, is_code = _SHELL_CODE.fullmatch(last), _CODE.fullmatch(last)
    starts_code = any(
        (is_code and name_of(word) in INTERPRETERS) or (is_shell_code and word[:1] == "$")
        for word in before
    )
    return bool(flag) or starts_code or name in NEVER


# The programs that take words of their command line, or their input, for code or for programs.
#
# These tables are what Whorl promises about values in commands; the rule is above them.

if TYPE_CHECKING:
    Pattern = re.Pattern[str]

_NOTHING: Final = regex(r"(?!)")
_SHELL_CODE: Final = regex(r"-[A-Za-z]*[cC]|(?i:--?(?:command|enc\w*))")
_CODE: Final = regex(
    r"-[A-Za-z]*[cCerEpBRF]|(?i:--?(?:command|enc\w*|eval|execute|run|print|require|import))"
)
_QUERY: Final = regex(r"-[A-Za-z]*[cef]|--(?:command|execute|file)")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A program that runs a script; all words after the script are values for it.

    `flags` may come before the script, those of `with_word` with a word after them, and `code`
    right before it; after the code of `open_code` there may be more options.
    """

    flags: Pattern = _NOTHING
    with_word: Pattern = _NOTHING
    code: Pattern = _NOTHING
    open_code: Pattern = _NOTHING


SHELLS: Final = ("sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash")
_FLAGS: Final = regex(r"[-+][elufvx]*|--")
_SHELL: Final = Interpreter(_FLAGS, regex(r"[-+][elufvx]*o"), regex(r"-[elufvx]*c"))
_PYTHON: Final = Interpreter(regex(r"-[uBIEsSOq]+"), regex(r"-[WX]"), regex(r"-[uBIEsSOq]*c|-m"))
_AWK: Final = Interpreter(regex(r"-F.+"), regex(r"-[vF]"), regex(r"-f"))
# Also behind its script.
_SED_CODE: Final = regex(r"-[A-Za-z]*[ef]|--[ef]")
_SED: Final = Interpreter(regex(r"-[nErsuzi]+(?:\.\w+)?"), code=regex(r"-[nErsuz]*e|-f"))
_OTHER: Final = Interpreter(
    regex(r"-[nlaw0]+|-[rIM]\w.*|--[a-z-]+=.*|--allow-.*|run|eval|exec|test|x"),
    open_code=regex(r"-[A-Za-z0]*[erR]|-p|--(?:eval|print|run)"),
)
INTERPRETERS: Final[dict[str, Interpreter]] = {
    **dict.fromkeys(SHELLS, _SHELL),
    **dict.fromkeys(("python", "pypy"), _PYTHON),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _AWK),
    **dict.fromkeys(("sed", "gsed"), _SED),
    **dict.fromkeys(("pwsh", "powershell"), Interpreter(code=regex(r"(?i)-file"))),
    **dict.fromkeys(
        (
            *("csh", "tcsh", "fish", "nu", "xonsh", "elvish", "osh", "tclsh", "wish", "expect"),
            *("perl", "ruby", "irb", "node", "nodejs", "tsx", "ts-node", "deno", "bun", "php"),
            *("lua", "luajit", "Rscript", "R", "groovy", "scala", "elixir", "julia", "osascript"),
            *("ipython", "bpython", "guile", "octave", "ghc", "swipl", "erl"),
        ),
        _OTHER,
    ),
}
# Those that start another program, and the words before its name; some have a word of theirs.
_BEFORE_PROGRAM: Final = regex(r"(?s:[A-Za-z_]\w*=.*)|-n|run|exec|x|dlx")
BEHIND_ITS_OWN: Final = ("timeout", "chroot", "gosu", "su-exec", "taskset", "chrt", "faketime")
STARTERS: Final = frozenset(
    (
        *("env", "sudo", "doas", "xargs", "nohup", "setsid", "command", "builtin", "exec", "time"),
        *("nice", "ionice", "timeout", "stdbuf", "unbuffer", "busybox", "toybox", "chroot", "gosu"),
        *("taskset", "chrt", "su-exec", "faketime", "strace", "ltrace", "unshare", "nsenter"),
        *("catchsegv", "eatmydata", "tini", "dumb-init", "proxychains", "firejail", "valgrind"),
        *("numactl", "setpriv", "xvfb-run", "dbus-run-session", "systemd-run", "cgexec", "entr"),
        *("uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "bundle"),
        *("npm", "pnpm", "yarn", "npx", "bunx", "pnpx", "ld.so", "ld-linux-x86-64.so"),
    )
)
# Those whose words could all be code, or options with code.
NEVER: Final = frozenset(
    (
        *("su", "runuser", "socat", "tmux", "screen", "crontab", "hyperfine", "parallel", "make"),
        *("gmake", "cmd", "watch", "flock", "script", "vim", "vi", "nvim", "view", "ex", "gvim"),
        *("vimdiff", "rvim", "emacs", "gdb", "lldb", "ed", "m", "dc", "xterm"),
    )
)
# Those that take the words after a word without a dash for code.
BEHIND_A_WORD: Final = ("ssh", "rsh", "mosh", "sqlite")
# Those that read commands from their input, besides interpreters and the programs above.
READING: Final = (*BEHIND_A_WORD, "psql", "mysql", "at", "batch")
# The words of git before a setting or a command.
_GIT_CODE: Final = regex(
    r"(?s:(?:-\S+ (?:[^- ]\S* )?)*-c\S*|.*(?:clone|init) (?:.* )?-[cu]\S*"
    r"|.*(?:rebase|difftool) (?:.* )?-x\S*|.*submodule foreach|.*bisect run)"
)
# Options that take a command, in the same word or in the next one.
OPTIONS: Final[dict[str, Pattern]] = {
    "git": regex(
        r"--(?:config|config-env|exec-path|upload-pack|receive-pack|exec|extcmd|[a-z]+-filter)"
        r"|--open-files-in-pager|-O"
    ),
    "hg": regex(r"--config|--ssh|-e"),
    "svn": regex(r"--config-option|--editor-cmd|--diff3?-cmd"),
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
    "sqlite": regex(r"--?cmd"),
    **dict.fromkeys(("ansible", "ansible-playbook"), regex(r"-[ae]|--(?:args|extra-vars)")),
}


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
