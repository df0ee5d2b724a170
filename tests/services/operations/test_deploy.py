"""The files in ``deploy/`` are what their programs read, and agree with the commands."""

from __future__ import annotations

import ipaddress
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from smoothdp.cli.serving.serve import serve
from smoothdp.services.formats.report import sealed_bytes
from smoothdp.services.operations.bodies import BODY_SECONDS
from smoothdp.services.operations.connections import (
    HEADER_SECONDS,
    LEAST_DESCRIPTORS,
    network_of,
)
from tests.services.operations.served import free_port

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
UNIT = DEPLOY / "smoothdp@.service"


# ---- systemd


def read_unit(text: str) -> dict[str, list[tuple[str, str]]]:
    """Read a unit: sections, lines ``Name=value``, comments; anything else is an error."""
    sections: dict[str, list[tuple[str, str]]] = {}
    section = None
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if match := re.fullmatch(r"\[([A-Z][A-Za-z]*)\]", line):
            assert match[1] not in sections, line
            section = sections.setdefault(match[1], [])
            continue
        match = re.fullmatch(r"([A-Z][A-Za-z]*)=(.*)", line)
        assert match is not None, line
        assert section is not None, line
        section.append((match[1], match[2]))
    return sections


def test_the_unit_is_one_and_runs_a_command_that_there_is() -> None:
    unit = read_unit(UNIT.read_text())
    assert list(unit) == ["Unit", "Service", "Install"]
    service = dict(unit["Service"])
    assert len(service) == len(unit["Service"])
    program, *arguments = shlex.split(service["ExecStart"].replace("%i", "analyzer"))
    assert program.endswith("/smoothdp")
    assert arguments[0] == "serve"
    for role in ("analyzer", "shuffler"):
        options = {name for p in serve.commands[role].params for name in p.opts}
        assert "--config" in options
    assert arguments[1] in serve.commands
    assert arguments[2:] == ["--config", "/etc/smoothdp/analyzer.toml"]
    assert "-HUP" in service["ExecReload"]
    assert int(service["LimitNOFILE"]) >= LEAST_DESCRIPTORS
    # Keys reach no core file and no swap, and files are their owner's.
    assert (service["LimitCORE"], service["MemorySwapMax"]) == ("0", "0")
    assert (service["UMask"], service["StateDirectoryMode"]) == ("0077", "0700")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    def verified(text: str) -> subprocess.CompletedProcess[str]:
        file = tmp_path / "smoothdp@analyzer.service"
        file.write_text(text.replace("/opt/smoothdp/bin/smoothdp", "/bin/true"))
        return subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(file)],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "SYSTEMD_LOG_LEVEL": "warning"},
        )

    done = verified(UNIT.read_text())
    ours = [line for line in done.stderr.splitlines() if "smoothdp@analyzer" in line]
    assert ours == []
    wrong = verified(UNIT.read_text().replace("UMask=0077", "UMask=0077\nColour=red"))
    assert "Colour" in wrong.stderr


# ---- nginx


def read_nginx(text: str) -> Any:
    """Read directives: words, then ``;`` or a block in braces."""
    token = re.compile(r'\s+|#[^\n]*|("[^"\n]*")|([{};])|([^\s{};"#]+)')
    at, tokens = 0, []
    while at < len(text):
        match = token.match(text, at)
        assert match is not None, text[at : at + 40]
        if word := match[1] or match[2] or match[3]:
            tokens.append(word)
        at = match.end()
    return _block(iter(tokens), inside=False)


def _block(tokens: Iterator[str], *, inside: bool) -> Any:
    found: list[Any] = []
    words: list[str] = []
    for word in tokens:
        if word == ";":
            assert words, "a semicolon alone"
            found.append((words, None))
            words = []
        elif word == "{":
            found.append((words, _block(tokens, inside=True)))
            words = []
        elif word == "}":
            assert inside, "one brace too many"
            assert not words, f"no semicolon after {words}"
            return found
        else:
            words.append(word)
    assert not inside, "a brace is missing"
    assert not words, f"no semicolon after {words}"
    return found


def named(block: Any, name: str) -> list[Any]:
    return [(words[1:], inner) for words, inner in block if words[0] == name]


def one(block: Any, name: str) -> list[str]:
    found = named(block, name)
    assert len(found) == 1, name
    words: list[str] = found[0][0]
    return words


def seconds(text: str) -> float:
    assert text.endswith("s")
    return float(text[:-1])


def size(text: str) -> int:
    """Return a size of nginx in bytes."""
    return int(text[:-1]) << {"k": 10, "m": 20}[text[-1]]


def test_nginx_limits_what_the_party_leaves_to_it() -> None:
    tree = read_nginx((DEPLOY / "nginx.conf").read_text())
    http = named(tree, "http")[0][1]
    assert one(http, "access_log") == ["off"]
    assert one(tree, "error_log")[0] == "/dev/null"
    assert seconds(one(http, "client_header_timeout")[0]) <= HEADER_SECONDS
    assert seconds(one(http, "client_body_timeout")[0]) <= BODY_SECONDS
    assert one(http, "proxy_request_buffering") == ["on"]
    zones = {
        words[-1].removeprefix("zone=").split(":")[0] for words, _ in named(http, "limit_conn_zone")
    }
    assert {words[0] for words, _ in named(http, "limit_conn")} == zones
    passed = {tuple(words) for words, _ in named(http, "proxy_set_header")}
    assert {("X-Forwarded-For", '""'), ("X-Real-IP", '""')} <= passed
    upstreams = {
        words[0]: {w[0]: w[1:] for w, _ in inner} for words, inner in named(http, "upstream")
    }
    ports = {
        p.default
        for role in ("shuffler", "analyzer", "issuer")
        for p in serve.commands[role].params
        if p.name == "port"
    }
    assert {int(u["server"][0].rpartition(":")[2]) for u in upstreams.values()} == ports
    servers = [inner for _, inner in named(http, "server")]
    assert len(servers) == 3
    for server in servers:
        assert all("ssl" in words for words, _ in named(server, "listen"))
        location = named(server, "location")[0][1]
        # A directive that is set again below takes those above away.
        assert not named(location, "proxy_set_header")
        assert not named(server, "limit_conn")
        assert one(location, "proxy_pass")[0].removeprefix("http://") in upstreams
    analyzer = next(s for s in servers if one(s, "server_name") == ["analyser.example"])
    assert one(analyzer, "ssl_verify_client") == ["on"]
    longest = {
        # Of an open task, whose slots carry no signatures.
        "shuffler.example": max(sealed_bytes(4097, False), sealed_bytes(128, True)),
        "issuer.example": 128 * 259,
        "analyser.example": 16384 * 308,
    }
    for server in servers:
        for name in ("client_max_body_size", "client_body_buffer_size"):
            assert size(one(server, name)[0]) >= longest[one(server, "server_name")[0]]


@pytest.mark.parametrize("text", ["a b", "a { b; ", "a; }", ";", 'a "b;'])
def test_a_configuration_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(AssertionError):
        read_nginx(text)


@pytest.mark.skipif(shutil.which("nginx") is None, reason="no nginx")
def test_nginx_takes_the_file(tmp_path: Path) -> None:
    from tests.services.operations.certificates import Authority

    authority = Authority(tmp_path, "client-ca")
    for party in ("shuffler", "issuer", "analyzer"):
        authority.certificate(party)
    text = (DEPLOY / "nginx.conf").read_text().replace("/etc/smoothdp", str(tmp_path))
    (tmp_path / "nginx.conf").write_text(text)
    done = subprocess.run(
        ["nginx", "-t", "-c", str(tmp_path / "nginx.conf"), "-p", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("nginx") is None, reason="no nginx")
def test_nginx_counts_a_network_of_ipv6_as_one(tmp_path: Path) -> None:
    """A host has 2^64 addresses: the hosts that the party itself counts as one are one, or two.

    A network that ends with zeros, such as 2001:db8:1::/64, is written in two ways.
    """
    text = (DEPLOY / "nginx.conf").read_text()
    found = re.search(r"map \$remote_addr \$host_or_network \{.*?\n    \}", text, re.DOTALL)
    assert found is not None
    assert "limit_conn_zone $host_or_network zone=address:10m;" in text
    port = free_port()
    (tmp_path / "nginx.conf").write_text(
        f"pid {tmp_path}/pid; daemon off; error_log /dev/null; events {{ }}\nhttp {{\n"
        f"access_log off; set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;\n{found[0]}\n"
        f"server {{ listen 127.0.0.1:{port}; return 200 $host_or_network; }} }}\n"
    )
    random = Random(64)
    networks = [0x20010DB800010002, 0x20010DB8 << 32 | 0x10000, 0x20010DB8 << 32, 0x2A << 56]
    hosts = [0, 1, 0xFFFF, 1 << 48, 1 << 16, *(random.getrandbits(64) for _ in range(40))]
    numbers = [network << 64 | host for network in networks for host in hosts]
    addresses = [*map(str, map(ipaddress.IPv6Address, numbers)), "203.0.113.9", "203.0.113.10"]
    command = ["nginx", "-c", str(tmp_path / "nginx.conf"), "-p", str(tmp_path)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        with httpx.Client(
            transport=httpx.HTTPTransport(retries=8), base_url=f"http://127.0.0.1:{port}"
        ) as client:
            counted = {
                address: client.get("/", headers={"x-real-ip": address}).text
                for address in addresses
            }
    finally:
        process.terminate()
        process.wait(timeout=30)
    assert all(counted.values()), "an empty name is not counted"
    names: dict[str, set[str]] = {}
    for address, name in counted.items():
        names.setdefault(network_of(address), set()).add(name)
    assert len(names) == len(networks) + 2
    assert all(len(of_one) <= 2 for of_one in names.values())
    assert len(names["2001:db8:1:2::"]) == 1
    for one_network, other in itertools.combinations(names.values(), 2):
        assert not one_network & other


# ---- the container

INSTRUCTIONS = {
    *("FROM", "ARG", "RUN", "COPY", "USER", "VOLUME", "EXPOSE"),
    *("STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"),
}


def read_containerfile(text: str) -> list[tuple[str, str]]:
    """Read instructions; a line that ends with a backslash goes on."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    found = []
    for line in re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines():
        name, _, rest = line.partition(" ")
        assert name in INSTRUCTIONS, line
        assert rest.strip(), line
        found.append((name, rest.strip()))
    return found


def test_the_container_runs_one_party_as_nobody() -> None:
    found = read_containerfile((DEPLOY / "Containerfile").read_text())
    assert found[0][0] == "FROM"
    by_name = dict(found)
    assert json.loads(by_name["ENTRYPOINT"]) == ["smoothdp", "serve"]
    assert isinstance(json.loads(by_name["CMD"]), list)
    assert by_name["USER"].isdigit()
    assert int(by_name["USER"]) > 0
    # What is installed is installed before, by the owner of the image.
    order = [name for name, _ in found]
    assert max(i for i, name in enumerate(order) if name == "RUN") < order.index("USER")
    # Of a folder in which parties may have made their keys, what is tracked alone.
    copied = {path for name, rest in found if name == "COPY" for path in rest.split()[:-1]}
    assert copied == {"pyproject.toml", "README.md", "LICENSE", "src"}
    check = by_name["HEALTHCHECK"]
    command = json.loads(check[check.index("[") :])
    compile(command[2], "healthcheck", "exec")
    assert "/livez" in command[2]
    ports = {
        p.default
        for role in ("shuffler", "analyzer", "issuer")
        for p in serve.commands[role].params
        if p.name == "port"
    }
    assert {int(port) for port in by_name["EXPOSE"].split()} == ports
    project = (ROOT / "pyproject.toml").read_text()
    for extra in by_name["ARG"].partition("=")[2].split(","):
        assert re.search(rf"^{extra} = \[", project, re.MULTILINE), extra


def test_comments_of_the_container_are_a_command_that_there_is() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    options = {name for p in serve.commands["analyzer"].params for name in p.opts}
    run = text[text.index("podman run") : text.index("# A party is")]
    after = run[run.index("smoothdp \\") :]
    assert set(re.findall(r"--[a-z-]+", after)) <= options
