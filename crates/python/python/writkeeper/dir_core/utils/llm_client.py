"""Small clients for language models, for examples. Standard library only."""

from __future__ import annotations

import json
import os
import urllib.request
from abc import ABC, abstractmethod
from typing import Any

OLLAMA_URL = "http://localhost:11434"
GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta"


class LLMClient(ABC):
    """Anything that turns a prompt into text."""

    @abstractmethod
    def generate(self, prompt: str, system: str | None = None) -> str:
        """The model's text. Network errors pass through."""


class OllamaClient(LLMClient):
    """A local Ollama server."""

    def __init__(
        self, model: str = "llama3.2", base_url: str = OLLAMA_URL, timeout: int = 60
    ) -> None:
        self.model = model
        self.base_url = base_url.rstrip("/")
        self.timeout = timeout

    def generate(self, prompt: str, system: str | None = None) -> str:
        """One answer, not streamed."""
        asked: dict[str, Any] = {"model": self.model, "prompt": prompt, "stream": False}
        if system:
            asked["system"] = system
        answer = _ask(f"{self.base_url}/api/generate", asked, {}, self.timeout)
        return str(answer.get("response", "")).strip()


class GeminiClient(LLMClient):
    """The Gemini service. The key comes from the argument, GOOGLE_API_KEY or GEMINI_API_KEY."""

    def __init__(
        self, model: str = "gemini-2.5-flash", api_key: str | None = None, timeout: int = 60
    ) -> None:
        key = api_key or os.environ.get("GOOGLE_API_KEY") or os.environ.get("GEMINI_API_KEY")
        if not key:
            raise ValueError("Gemini needs an API key: pass api_key or set GOOGLE_API_KEY")
        self.model = model
        self.api_key = key
        self.timeout = timeout
        self.base_url = GEMINI_URL

    def generate(self, prompt: str, system: str | None = None) -> str:
        """One answer; empty if the service gave none."""
        asked: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": prompt}]}]}
        if system:
            asked["systemInstruction"] = {"parts": [{"text": system}]}
        address = f"{self.base_url}/models/{self.model}:generateContent"
        answer = _ask(address, asked, {"x-goog-api-key": self.api_key}, self.timeout)
        for candidate in answer.get("candidates") or []:
            parts = (candidate.get("content") or {}).get("parts") or []
            return "".join(part.get("text", "") for part in parts).strip()
        return ""


def check_ollama(base_url: str, model: str, timeout: int = 5) -> bool:
    """True if the server answers and has the model in any size."""
    try:
        with urllib.request.urlopen(base_url.rstrip("/") + "/api/tags", timeout=timeout) as reply:
            listed = json.load(reply).get("models", [])
    except (OSError, ValueError):
        return False
    family = model.partition(":")[0]
    return any(family in one.get("name", "") for one in listed)


def _ask(
    address: str, body: dict[str, Any], headers: dict[str, str], timeout: int
) -> dict[str, Any]:
    request = urllib.request.Request(
        address,
        data=json.dumps(body).encode("utf-8"),
        headers={"Content-Type": "application/json", **headers},
    )
    with urllib.request.urlopen(request, timeout=timeout) as reply:
        answer = json.load(reply)
    if not isinstance(answer, dict):
        raise ValueError(f"{address} answered with something that is not an object")
    return answer
