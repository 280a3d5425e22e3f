"""Variables of an environment that make a program run others, or read files that do."""

from __future__ import annotations

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
