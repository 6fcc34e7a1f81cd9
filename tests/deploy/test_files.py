"""What lies there to run it with says what the pages say, and what its programs understand."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests import programs
from tests.deploy.image import copied_names, copy_image
from tests.programs import ROOT
from tests.stack.test_loopback import environment

PAGE = ROOT / "docs/how-to/run-in-production.md"
UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))
MANIFESTS = sorted((ROOT / "deploy/kubernetes").glob("*.yaml"))
#: A folder of the image, and in its place that of these tests.
PYTHON = "/opt/shop/bin/python"
MARK = "/tmp/alive"
#: The probe of what has no port.
ALIVE = ["sh", "-c", f"find {MARK} -newermt '20 seconds ago' | grep -q ."]
PROBES = ("startup", "readiness", "liveness")
NAMESPACE = "kubernetes.io/metadata.name"


def processes() -> set[str]:
    """Return the page's long-running commands, but for how many children a worker has."""
    section = PAGE.read_text().partition("## 4. Processes")[2]
    block = section.partition("```sh\n")[2].partition("```")[0]
    lines = [line.partition("#")[0].split() for line in block.splitlines()]
    return {_plain(line) for line in [*lines, ["python", "manage.py", "sas", "watch"]]}


def _plain(words: list[str]) -> str:
    """Return a command without what is of its place: an init, addresses, numbers."""
    text = " ".join(words).removeprefix("tini -- ").replace("/srv/shop/.venv/bin/", "")
    return re.sub(r" (-c|--concurrency|--bind|--workers) \S+", "", text)


def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "compose.yaml").read_text())["services"])


def manifests() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for path in MANIFESTS:
        found += yaml.safe_load_all(path.read_text())
    return found


def deployments() -> list[dict[str, Any]]:
    return [one for one in manifests() if one["kind"] == "Deployment"]


def containers() -> dict[str, dict[str, Any]]:
    """Return the container of each deployment by its name."""
    return {
        one["metadata"]["name"]: one["spec"]["template"]["spec"]["containers"][0]
        for one in deployments()
    }


def image_command() -> list[str]:
    (line,) = re.findall(r"^CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    return list(yaml.safe_load(line))


def test_systemd_runs_each_process_of_the_page():
    lines = [re.search(r"^ExecStart=(.*)$", path.read_text(), re.M) for path in UNITS]
    assert {_plain(line[1].split()) for line in lines if line} == processes()


def test_compose_runs_each_process_of_the_page():
    ours = {name: one for name, one in compose().items() if one.get("image") == "shop"}
    assert ours.pop("migrate")
    commands = [one.get("command", image_command()) for one in ours.values()]
    assert {_plain(words) for words in commands} == processes()


def test_kubernetes_runs_each_process_of_the_page():
    commands = [one.get("command", image_command()) for one in containers().values()]
    assert {_plain(words) for words in commands} == processes()


@pytest.mark.parametrize("path", UNITS, ids=lambda path: str(path.name))
def test_a_unit_lets_calls_end(path):
    text = path.read_text()
    assert "\nKillMode=mixed\nTimeoutStopSec=30\n" in text
    assert "\nRestart=always\n" in text
    name = path.name.replace("@", "@1")
    assert name in (ROOT / "deploy/systemd/shop.target").read_text() or "watch" in name


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_systemd_understands_the_units(tmp_path):
    ours = Path(sys.executable).parent
    for path in (ROOT / "deploy/systemd").iterdir():
        text = path.read_text().replace("/srv/shop/.venv/bin/", f"{ours}/")
        (tmp_path / path.name.replace("@", "@1")).write_text(text)
    names = sorted(str(path) for path in tmp_path.iterdir())
    done = programs.run("systemd-analyze", "verify", *names)
    # Units of the machine's own may be worth a warning.
    assert [line for line in done.stderr.splitlines() if str(tmp_path) in line] == []


@pytest.mark.parametrize("name", [name for name, one in compose().items() if "env_file" in one])
def test_a_container_of_compose_is_locked_and_probed(name):
    service = compose()[name]
    assert (service["read_only"], service["tmpfs"], service["cap_drop"]) == (
        True,
        ["/tmp"],
        ["ALL"],
    )
    assert service["stop_grace_period"] == "30s"
    if name == "migrate":
        return
    assert service["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    probe = service["healthcheck"]["test"]
    if name == "web":
        assert "/readyz" in probe[-1]
    else:
        assert probe == ["CMD", *ALIVE]
        assert service["environment"]["SAS_ALIVE_FILE"] == MARK
    assert service["healthcheck"]["start_period"] == "300s"
    assert "mem_limit" in service


@pytest.mark.parametrize("name", containers())
def test_a_container_of_kubernetes_is_locked_and_probed(name):
    container = containers()[name]
    security = container["securityContext"]
    assert (security["readOnlyRootFilesystem"], security["allowPrivilegeEscalation"]) == (
        True,
        False,
    )
    assert container["volumeMounts"] == [{"name": "tmp", "mountPath": "/tmp"}]
    assert "memory" in container["resources"]["limits"]
    # Starting takes 5 s of CPU, on a busy node minutes; nothing is killed for that.
    startup = container["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] == 300
    milli_cpu = int(container["resources"]["requests"]["cpu"].removesuffix("m"))
    assert 5000 / milli_cpu < 300 / 2
    if name == "web":
        paths = [container[f"{kind}Probe"]["httpGet"]["path"] for kind in PROBES]
        assert paths == ["/livez", "/readyz", "/livez"]
    else:
        assert [container[f"{kind}Probe"]["exec"]["command"] for kind in PROBES] == [ALIVE] * 3
        assert container["env"] == [{"name": "SAS_ALIVE_FILE", "value": MARK}]
        # What a container that ended has left is no sign of life.
        assert container["lifecycle"]["postStart"]["exec"]["command"] == ["rm", "-f", MARK]


@pytest.mark.parametrize(("age", "lives"), [(None, False), (0, True), (10, True), (30, False)])
def test_the_probe_in_shell_sees_what_the_mark_says(age, lives, tmp_path):
    mark = tmp_path / "alive"
    if age is not None:
        mark.write_text("worker 7\n")
        os.utime(mark, (time.time() - age,) * 2)
    words = [word.replace(MARK, str(mark)) for word in ALIVE]
    done = subprocess.run(words, capture_output=True, check=False)
    assert (done.returncode == 0) is lives


def test_migrate_comes_first_on_kubernetes():
    """One pod migrates, one at a time; the new code of the others waits, the old works on."""
    firsts = {}
    for deployment in deployments():
        (first,) = deployment["spec"]["template"]["spec"]["initContainers"]
        name = deployment["metadata"]["name"]
        firsts[name] = " ".join(first["command"]).removeprefix("tini -- ")
        assert first["securityContext"] == containers()[name]["securityContext"]
        assert first["resources"]["limits"]["memory"] <= "200Mi"
        assert deployment["spec"].get("strategy", {}).get("type") != "Recreate"
        assert deployment["spec"]["minReadySeconds"] == 15
    (beat,) = [one for one in deployments() if one["metadata"]["name"] == "beat"]
    assert beat["spec"]["replicas"] == 1
    assert firsts.pop("beat") == "python manage.py migrate"
    wait = "sh -c until python manage.py migrate --check; do sleep 5; done"
    assert set(firsts.values()) == {wait}
    assert {one["kind"] for one in manifests()}.isdisjoint({"Job"})


def test_pods_of_one_kind_are_spread_and_read_no_settings_from_services():
    for deployment in deployments():
        pod = deployment["spec"]["template"]["spec"]
        assert pod["enableServiceLinks"] is False
        if deployment["spec"]["replicas"] > 1:
            (spread,) = pod["topologySpreadConstraints"]
            assert spread["labelSelector"] == deployment["spec"]["selector"]


def test_prometheus_reaches_the_figures():
    policies = {
        one["metadata"]["name"]: one for one in manifests() if one["kind"] == "NetworkPolicy"
    }
    (rule,) = policies["web-from-ingress-and-prometheus"]["spec"]["ingress"]
    admitted = {one["namespaceSelector"]["matchLabels"][NAMESPACE] for one in rule["from"]}
    (scaled,) = [one for one in manifests() if one["kind"] == "ScaledObject"]
    address = scaled["spec"]["triggers"][0]["metadata"]["serverAddress"]
    assert admitted == {"ingress-nginx", urlsplit(address).hostname.partition(".")[2]}


def test_web_goes_on_answering_until_nothing_is_sent_to_it_any_more():
    command, seconds = containers()["web"]["lifecycle"]["preStop"]["exec"]["command"]
    text = (ROOT / "gunicorn.conf.py").read_text()
    (graceful,) = re.findall(r"^graceful_timeout = (\d+)$", text, re.MULTILINE)
    # Every pod has 30 s, and gunicorn's own time comes after the pause.
    assert (command, 3 <= int(seconds) < 30 - int(graceful)) == ("sleep", True)


def test_every_pod_has_30_s_to_end_and_is_nobody():
    pods = [one["spec"]["template"]["spec"] for one in deployments()]
    assert [pod["terminationGracePeriodSeconds"] for pod in pods] == [30] * len(pods)
    assert {pod["securityContext"]["runAsUser"] for pod in pods} == {10001}
    assert "useradd --uid 10001 " in (ROOT / "Dockerfile").read_text()


def test_each_manifest_is_named_by_the_kustomization():
    (whole,) = [one for one in manifests() if one["kind"] == "Kustomization"]
    # The last needs what not every cluster has.
    others = {"kustomization.yaml", "monitoring.yaml"}
    assert {*whole["resources"], *others} == {path.name for path in MANIFESTS}


def test_the_example_of_the_environment_names_settings_there_are():
    text = (ROOT / ".env.example").read_text()
    names = set(re.findall(r"^(\w+)=", text, re.MULTILINE))
    page = (ROOT / "docs/reference/settings.md").read_text()
    servers = {"POSTGRES_PASSWORD", "RABBITMQ_PASSWORD"}
    assert {name for name in names if f"| `{name}` |" not in page} == servers
    assert all(f"${{{name}:?" in (ROOT / "compose.yaml").read_text() for name in servers)


@pytest.fixture
def image(tmp_path) -> Path:
    """Return a folder with what the Dockerfile copies."""
    folder = tmp_path / "image"
    copy_image(folder)
    return folder


def test_what_is_copied_into_the_image_is_not_ignored():
    ignored = (ROOT / ".dockerignore").read_text()
    assert [name for name in copied_names() if f"!{name}\n" not in ignored] == []


def test_the_image_s_own_commands_make_it_ready(image):
    """Its static files are there, and the web starts from them with what a container is given."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    (build,) = [line for line in re.findall(r"^RUN (.*)$", text, re.M) if "collectstatic" in line]
    build = build.replace(PYTHON, shlex.quote(sys.executable)).replace("/srv/shop", str(image))
    build = build.replace("/tmp/build", str(image.parent / "build"))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    plain = {"PATH": path, "HOME": "/nowhere"}
    programs.run("sh", "-ec", build, cwd=image, env=plain, check=True)

    given = dict(re.findall(r"^(\w+)=(.*)$", (ROOT / ".env.example").read_text(), re.MULTILINE))
    secret = {"DJANGO_DEBUG": "off", "DJANGO_STATIC_ROOT": str(image / "static")}
    words = [sys.executable, "-m", "gunicorn", "sasproject.wsgi", "--check-config"]
    done = programs.run(
        *words, cwd=image, env={**environment(Path("/proc/none"), **given, **secret), "PATH": path}
    )
    assert done.returncode == 0, done.stderr
    assert (image / "static/staticfiles.json").exists()
