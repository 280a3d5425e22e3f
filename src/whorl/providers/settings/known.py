"""Providers that people have heard of: where they are, and the variables that hold their keys."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Known:
    """A provider that needs no `base_url`; `prices` is its name in the price list."""

    kind: str
    base_url: str
    key_variable: str = ""
    url_variable: str = ""
    model: str = ""
    prices: str = ""


# In the order in which one becomes the default when several keys are set.
KNOWN: dict[str, Known] = {
    "openai": Known(
        "openai",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "gpt-5-mini",
        "openai",
    ),
    "anthropic": Known(
        "anthropic",
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "claude-sonnet-4-5",
        "anthropic",
    ),
    "deepseek": Known(
        "openai",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
        "DEEPSEEK_BASE_URL",
        "deepseek-chat",
        "deepseek",
    ),
    "gemini": Known(
        "openai",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        prices="google",
    ),
    "openrouter": Known(
        "openai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", prices="openrouter"
    ),
    "groq": Known("openai", "https://api.groq.com/openai/v1", "GROQ_API_KEY", prices="groq"),
    "mistral": Known("openai", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", prices="mistral"),
    "together": Known(
        "openai", "https://api.together.xyz/v1", "TOGETHER_API_KEY", prices="together"
    ),
    "xai": Known("openai", "https://api.x.ai/v1", "XAI_API_KEY", prices="x-ai"),
    "ollama": Known("ollama", "http://localhost:11434", url_variable="OLLAMA_HOST"),
    "lm_studio": Known("openai", "http://localhost:1234/v1", url_variable="LM_STUDIO_BASE_URL"),
}

# Other spellings in files of other systems.
ALIASES = {"lmstudio": "lm_studio", "lm-studio": "lm_studio", "google": "gemini"}
