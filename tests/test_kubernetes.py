"""The Kubernetes manifests: valid by the published schemas, and of one piece."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from sqlalchemy import make_url
from starlette.datastructures import Headers

from app.workbench.settings import Settings
from as2core.system.hosts import HostGuard, parse_hosts

DEPLOY = Path(__file__).resolve().parents[1] / "docs" / "deploy"
TEXT = (DEPLOY / "kubernetes.yaml").read_text()
VERSIONS = ("1.29", "1.34")


def read_objects():
    """An anchor holds in one document of a file alone, so a Kubernetes client reads each by itself."""
    return [yaml.safe_load(document) for document in TEXT.split("\n---\n")]


def list_pods():
    return [(o["metadata"]["name"], o["spec"]) for o in read_objects() if o["kind"] in ("Deployment", "StatefulSet")]


def list_containers():
    return [
        (name, pod["template"]["spec"], c) for name, pod in list_pods() for c in pod["template"]["spec"]["containers"]
    ]


def list_variables(container):
    return {e["name"] for e in container.get("env", [])}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_object_is_valid_by_the_published_schema(version):
    validate = pytest.importorskip("kubernetes_validate", reason="needs the extra `manifests`")
    for manifest in read_objects():
        validate.validate(manifest, version, strict=True)


def test_an_object_with_a_field_of_another_name_is_not_valid():
    validate = pytest.importorskip("kubernetes_validate", reason="needs the extra `manifests`")
    manifest = next(o for o in read_objects() if o["kind"] == "Service")
    manifest["spec"]["port"] = manifest["spec"].pop("ports")
    with pytest.raises(validate.ValidationError):
        validate.validate(manifest, VERSIONS[-1], strict=True)


def test_selectors_find_the_pods_and_ports_have_names_that_exist():
    labels = {name: pod["template"]["metadata"]["labels"] for name, pod in list_pods()}
    ports = {name: {p["name"] for p in c.get("ports", [])} for name, _, c in list_containers() if c.get("ports")}
    for name, pod in list_pods():
        assert pod["selector"]["matchLabels"] == labels[name]
    for service in (o for o in read_objects() if o["kind"] == "Service"):
        name = service["metadata"]["name"]
        assert service["spec"]["selector"] == labels[name]
        assert {p["targetPort"] for p in service["spec"]["ports"]} <= ports[name]


def test_every_variable_is_a_setting_and_every_secret_is_there():
    objects = {(o["kind"], o["metadata"]["name"]): o for o in read_objects()}
    secrets = objects["Secret", "as2-secrets"]["stringData"]
    settings = {f"AS2_{name.upper()}" for name in Settings.model_fields}
    assert objects["ConfigMap", "as2-settings"]["data"].keys() <= settings
    for _, _, container in list_containers():
        assert {v for v in list_variables(container) if v.startswith("AS2_")} <= settings
        for variable in container.get("env", []):
            reference = variable.get("valueFrom", {}).get("secretKeyRef")
            assert reference is None or (reference["name"], reference["key"] in secrets) == ("as2-secrets", True)


def test_the_password_of_the_database_is_in_one_place_and_has_to_be_set():
    objects = {(o["kind"], o["metadata"]["name"]): o for o in read_objects()}
    assert objects["Secret", "as2-secrets"]["stringData"]["password"] == ""  # with which PostgreSQL does not start
    assert make_url(objects["ConfigMap", "as2-settings"]["data"]["AS2_DATABASE_URL"]).password is None
    source = {"secretKeyRef": {"name": "as2-secrets", "key": "password"}}
    for names, variable in ((("app", "worker"), "PGPASSWORD"), (("postgres",), "POSTGRES_PASSWORD")):
        sources = [
            e["valueFrom"]
            for _, _, c in list_containers()
            if c["name"] in names
            for e in c["env"]
            if e["name"] == variable
        ]
        assert sources == [source] * len(names)


def test_only_the_pages_and_their_worker_reach_the_database():
    [policy] = [o["spec"] for o in read_objects() if o["kind"] == "NetworkPolicy"]
    assert policy["podSelector"]["matchLabels"] == {"app": "as2-db"} and policy["policyTypes"] == ["Ingress"]
    [rule] = policy["ingress"]
    assert rule["from"] == [{"podSelector": {"matchLabels": {"app": "as2-workbench"}}}]
    assert rule["ports"] == [{"port": "postgres"}]


def test_the_autoscaler_alone_sets_how_many_pods_there_are():
    targets = [o["spec"]["scaleTargetRef"]["name"] for o in read_objects() if o["kind"] == "HorizontalPodAutoscaler"]
    assert targets and all("replicas" not in pod for name, pod in list_pods() if name in targets)


def test_every_container_has_limits_writes_to_its_volumes_alone_and_has_no_capabilities():
    containers = list_containers()
    assert len(containers) == 4
    for _, pod, container in containers:
        assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"]["memory"]


def find_serve():
    """The pod of `as2 serve`, its container and its variables."""
    pod, container = next((pod, c) for name, pod, c in list_containers() if name == "as2-serve")
    return pod, container, {e["name"]: e["value"] for e in container["env"]}


@pytest.mark.parametrize("suffix", ["", ".as2", ".as2.svc", ".as2.svc.cluster.local"])
def test_as2_serve_answers_to_each_name_of_its_service(suffix):
    _, _, variables = find_serve()
    guard = HostGuard(None, "0.0.0.0", parse_hosts(variables["AS2_ALLOWED_HOSTS"]))
    for host in (f"as2-serve{suffix}", f"as2-serve{suffix}:8502"):
        assert guard.find_refusal(Headers({"host": host})) is None
    assert guard.find_refusal(Headers({"host": "as2-serve.other"}))


def test_a_pod_of_as2_serve_answers_until_no_request_is_sent_to_it_and_ends_those_it_has():
    pod, container, _ = find_serve()
    command, seconds = container["lifecycle"]["preStop"]["exec"]["command"]
    assert command == "sleep" and 5 <= int(seconds) <= pod["terminationGracePeriodSeconds"] - 60


def test_as2_serve_names_the_ranker_that_it_has_and_takes_keys():
    pod, container, variables = find_serve()
    assert "AS2_DATABASE_URL" not in variables
    assert container["command"][-2:] == ["--ranker", "cascade"]  # no `active`, which would be a promoted version
    mounts = {m["name"]: m["mountPath"] for m in container["volumeMounts"]}
    secrets = {v["name"]: v["secret"] for v in pod["volumes"] if "secret" in v}
    assert mounts["keys"] == "/data/keys"  # `keys` in AS2_HOME
    assert secrets["keys"]["secretName"] == "as2-serve-keys" and secrets["keys"]["optional"]


def test_the_paths_of_the_log_in_are_limited_as_in_nginx_conf():
    objects = {o["metadata"]["name"]: o for o in read_objects() if o["kind"] == "Ingress"}
    pages, login = objects["as2-workbench"], objects["as2-login"]
    prefix = "nginx.ingress.kubernetes.io/"
    assert "rate=30r/m" in (DEPLOY / "nginx.conf").read_text()
    assert login["metadata"]["annotations"][f"{prefix}limit-rpm"] == "30"
    paths = login["spec"]["rules"][0]["http"]["paths"]
    assert [p["path"] for p in paths] == ["/auth", "/oauth2callback"]
    assert [p["backend"] for p in paths] == [pages["spec"]["rules"][0]["http"]["paths"][0]["backend"]] * 2
    assert login["spec"]["tls"] == pages["spec"]["tls"]


def test_nginx_passes_the_name_on_with_its_port_which_streamlit_compares_with_the_origin():
    hosts = re.findall(r"^\s*proxy_set_header\s+Host\s+(\S+);", (DEPLOY / "nginx.conf").read_text(), re.MULTILINE)
    assert hosts == ["$http_host"] * 2


def test_our_containers_write_to_their_volumes_alone_and_are_not_root():
    ours = [(pod, c) for _, pod, c in list_containers() if "as2-workbench" in c["image"]]
    assert len(ours) == 3
    for pod, container in ours:
        assert pod["securityContext"]["runAsUser"] == 1000 and pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        mounts = {m["name"]: m["mountPath"] for m in container["volumeMounts"]}
        assert {"/data", "/tmp", "/home/as2/.cache"} <= set(mounts.values())
        assert mounts.keys() <= {v["name"] for v in pod["volumes"]}
