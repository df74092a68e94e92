"""What the program `fray` says about itself, as Markdown: its commands, its HTTP paths, its settings."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

_COMMAND = re.compile(r'^ *"(fray[^"]*)"\*\) words=', re.MULTILINE)


class Program:
    """The program `fray` at a path. It runs with a home of its own and an environment that says nothing else."""

    def __init__(self, path: str) -> None:
        self._path = path

    def commands(self) -> str:
        """Return a section for each command with its help."""
        paths = sorted({path.strip() for path in _COMMAND.findall(self._say("completion", "bash"))})
        helps = {path: self._say(*path.split()[1:], "--help").strip() for path in paths}
        return "\n\n".join(f"### `{path}`\n\n```text\n{helps[path]}\n```" for path in paths) + "\n"

    def routes(self) -> str:
        """Return the table of HTTP paths, as a started node describes them."""
        with tempfile.TemporaryDirectory(prefix="fray-docs-") as home:  # of mode 0700
            started = json.loads(self._say("start", "--json", "--cpus", "1", FRAY_HOME=home))
            try:
                request = urllib.request.Request(
                    f"{started['url']}/api/v1/openapi.json",
                    headers={"Authorization": f"Bearer {Path(started['token_file']).read_text().strip()}"},
                )
                with urllib.request.urlopen(request, timeout=30) as answer:
                    document = json.load(answer)
            finally:
                self._say("stop", FRAY_HOME=home)
        return routes_text(document)

    def settings(self) -> str:
        """Return the table of environment variables, as `fray config show` has them."""
        with tempfile.TemporaryDirectory(prefix="fray-docs-") as home:
            text = self._say("config", "show", "--json", HOME=home)
        return settings_text(json.loads(text.replace(home, "~").replace(f"fray-{os.getuid()}", "fray-UID")))

    def _say(self, *words: str, **variables: str) -> str:
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **variables}
        done = subprocess.run([self._path, *words], capture_output=True, text=True, env=environment, timeout=120)
        if done.returncode != 0:
            raise RuntimeError(f"fray {' '.join(words)} ended with exit code {done.returncode}: {done.stderr.strip()}")
        return done.stdout


def routes_text(document: dict[str, Any]) -> str:
    """Return the table of an OpenAPI document's paths, and what goes in with each."""
    lines = ["| method and path | answers with | parameters |", "| --- | --- | --- |"]
    bodies: list[str] = []
    for path, methods in sorted(document["paths"].items(), key=lambda item: (_is_rays(item[0]), item[0])):
        for method, operation in methods.items():
            name = f"{method.upper()} {path}"
            lines.append(f"| `{name}` | {_cell(operation['summary'])} | {_parameters(operation)} |")
            for kind, content in operation.get("requestBody", {}).get("content", {}).items():
                if content.get("schema", {}).get("properties"):
                    bodies.append(_body(name, kind, content["schema"]))
    return "\n".join(lines) + "\n\n" + "\n\n".join(bodies)


def settings_text(document: dict[str, Any]) -> str:
    """Return the table of settings."""
    lines = ["| variables | what they say | without them | setting |", "| --- | --- | --- | --- |"]
    for name, setting in document["settings"].items():
        variables = ", ".join(f"`{variable}`" for variable in setting["variables"])
        lines.append(f"| {variables} | {_cell(setting['meaning'])} | `{setting['value']}` | `{name}` |")
    return "\n".join(lines) + "\n"


def _is_rays(path: str) -> bool:
    return not path.startswith(("/api/v1/", "/metrics"))


def _parameters(operation: dict[str, Any]) -> str:
    parameters = [each for each in operation.get("parameters", []) if each["in"] == "query"]
    return "; ".join(f"`{each['name']}`: {_cell(each.get('description', ''))}" for each in parameters)


def _body(name: str, kind: str, schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    lines = [f"`{name}` takes `{kind}`:", "", "| key | type | |", "| --- | --- | --- |"]
    for key, value in schema["properties"].items():
        must = "needed" if key in required else ""
        note = "; ".join(text for text in (must, _cell(value.get("description", ""))) if text)
        lines.append(f"| `{key}` | {value.get('type', 'any')} | {note} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
