"""Helpers around decisions: configuration, logging, language models."""

from .config_loader import load_yaml_config
from .llm_client import GeminiClient, LLMClient, OllamaClient, check_ollama
from .logging_utils import format_dfid_prefix, log_with_dfid

__all__ = [
    "GeminiClient",
    "LLMClient",
    "OllamaClient",
    "check_ollama",
    "format_dfid_prefix",
    "load_yaml_config",
    "log_with_dfid",
]
