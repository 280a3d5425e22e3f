"""The programs that take words of their command line, or their input, for code or for programs.

This table is what Whorl promises about values in commands; `commands.py` has the rule over it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whorl.lazily import dataclass, regex

if TYPE_CHECKING:
    import re

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
