#!/usr/bin/env python3
"""Exercises every operation of a server and holds every answer against its /v1/openapi.json.  TAP.

    contract.py --catalog DIR --anneald PROGRAM                 starts it, kills it once, ends it
    contract.py --catalog DIR --url URL --token-file FILE       against a fresh server that runs already
    contract.py --catalog DIR --fake PROGRAM                    against the fake server of tests/unit/api

The scenario loads the catalog (and a barclamp of its own beside it), makes nodes and deployments, binds, waits, breaks,
retries, cancels, and takes things apart again.  Then each operation gets wrong variants of its own good request.  An
operation of the document that was never answered with success is a failure: a new route needs a step here.

A server that runs already cannot be killed nor told to be impatient: the two operations that need it may refuse.  The
fake has the shapes but not the sense: what depends on the outcome of work is not expected of it.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import base64
import hashlib
import http.client
import json
import pathlib
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree stays as it is

import hostile  # noqa: E402
import serve  # noqa: E402
from client import Api, Tap  # noqa: E402

PATIENCE_S = 60
# Roles of the test jig that end as they are told, in no process.
BARCLAMP = """\
barclamp: contract
version: 1.0.0
description: What the contract test needs.
pools: {contract-pool: 2}
roles:
  - name: contract-well
    jig: test
    attributes:
      size: {description: a number, schema: {type: integer, minimum: 1}, default: 3}
    actions:
      converge: [{name: well, params: {log: ["first line", "second line"]}}]
  - name: contract-fails
    jig: test
    actions:
      converge: [{name: fails, params: {fail_times: 1, exit: 3, log: ["it went wrong"]}}]
  - name: contract-waits
    jig: test
    actions:
      converge: [{name: waits, params: {again_times: 1, again_ms: 3600000}}]
  - name: contract-slow
    jig: test
    actions:
      converge: [{name: slow, params: {sleep_ms: 3600000}}]
  - name: contract-stays
    jig: test
    actions:
      converge: [{name: comes, params: {}}]
      remove: [{name: stays, retries: 0, params: {fail_times: 1, exit: 3}}]
  - name: contract-once
    jig: test
    actions:
      converge: [{name: once, repeat: once, params: {sleep_ms: 3600000}}]
  - name: contract-service
    jig: noop
    actions: {install: [{name: put}], configure: [{name: set}], start: [{name: up}], stop: [{name: down}]}
  - name: contract-more
    jig: noop
    actions: {start: [{name: more}]}
jigs: [{name: contract-machines, implementation: noop, reach: outside}]
providers:
  - {provider: contract, jig: contract-machines, actions: {create: [{name: make}], delete: [{name: unmake}]}}
hardware: [{hardware: contract-small, providers: {contract: {flavor: small, cost: 1}}}]
images: [{image: contract-image, providers: {contract: {image: plain}}}]
templates:
  - template: contract
    defaults: {services: [contract-service], provider: contract, image: contract-image, domain: contract.example}
    constraints: {size: {min: 1, max: 3}}
    administration: {lease: {initial: 1d, max: 3d, step: 1d}}
"""
GRAPH = """
- {id: contract-group, type: group}
- {id: contract-first, type: noop, groups: contract-group}
- {id: contract-second, type: noop, groups: contract-group, requires: [contract-first]}
"""
NODES = ["c1.contract.example", "c2.contract.example", "c3.contract.example", "c4.contract.example",
         "c5.contract.example", "c6.contract.example", "c7.contract.example"]
SILENT = [f"s{i}.contract.example" for i in range(1, 7)]


def catalog_files(directory):
    top = pathlib.Path(directory)
    files = {str(p.relative_to(top)): p.read_text() for p in sorted(top.rglob("*")) if p.is_file()}
    files["contract/barclamp.yaml"] = BARCLAMP
    files["contract/graphs/tasks.yaml"] = GRAPH
    return files


class Scenario:
    def __init__(self, api, args):
        self.api, self.tap, self.fake, self.args = api, api.tap, bool(args.fake), args
        self.process = None  # ours to kill
        self.read_token = None

    def until(self, label, ask, wanted):
        """Asks until the answer is as wanted; the fake's world stands still and is asked once."""
        end, state = time.monotonic() + PATIENCE_S, ask()
        while not wanted(state) and time.monotonic() < end and not self.fake:
            time.sleep(0.02)  # between two questions, bounded by PATIENCE_S
            state = ask()
        self.tap.ok(self.fake or wanted(state), label, f"last: {json.dumps(state)[:300]}")
        return state

    def get(self, name, *ids):
        return self.api.send(self.api.operations[name], ids).json

    def ended(self, operation, *states):
        return self.until(f"operation {operation} ends {' or '.join(states)}",
                          lambda: self.get("operation_get", operation), lambda o: o["state"] in states)

    def bind(self, role, node, data=None):
        binding = {"role": role, "nodes": node}
        if data is not None:
            binding["data"] = data
        answer = self.api.call("deployment_bind", "contract", body={"bindings": [binding], "title": f"bind {role}"})
        operation = (answer.json or {}).get("operation")
        return operation["id"] if isinstance(operation, dict) else operation or 1

    def task_of(self, operation):
        items = self.api.call("task_list", query={"operation": operation}).json["items"]
        return items[0]["id"] if items else 1

    def noderole_of(self, role, node):
        items = self.api.call("noderole_list", query={"role": role, "node": node}).json["items"]
        return items[0]["id"] if items else 1

    # --- steps ---

    def server(self):
        api = self.api
        for name in ("health", "ready", "version", "status", "metrics"):
            api.call(name)
        tag = api.raw("GET", "/v1/openapi.json").headers["ETag"]
        same = api.raw("GET", "/v1/openapi.json", {"If-None-Match": tag})
        self.tap.ok(same.status == 304 and not same.body, "openapi: 304 if it is known")
        api.operations["openapi"].sample = ((), None)
        api.call("admin_check")
        api.call("admin_backup", body={"name": "contract"})
        self.until("the backup ends", lambda: self.get("status"),
                   lambda s: (s["store"].get("backup") or {}).get("state") == "done")
        api.call("worker_list")

    def token(self):
        api = self.api
        made = api.call("token_create", body={"name": "contract-read", "scope": "read"}).json
        self.tap.ok(made.get("secret", "").startswith("anl_"), "token_create: shows the secret")
        self.read_token = made["secret"]
        items = api.call("token_list").json["items"]
        self.tap.ok(all("secret" not in t for t in items), "token_list: never shows a secret")
        api.call("status", token=self.read_token, note="with a token of scope read")
        other = api.call("token_create", body={"name": "contract-gone", "scope": "operate"}).json
        api.call("token_revoke", other["id"])
        if not self.fake:
            api.refuse("status", (), 401, "a revoked token", token=other["secret"])

    def tenants(self):
        """Who shares the workers."""
        api = self.api
        api.call("tenant_list")
        api.call("tenant_create", body={"name": "contract-tenant", "places": 0}, want=201)
        got = api.call("tenant_get", "contract-tenant")
        self.tap.ok(got.json["places"] == 0 and not got.json["short"], "tenant_get: as it was made", got.json)
        api.call("tenant_patch", "contract-tenant", body={"places": 0}, match=got.headers["ETag"])
        api.refuse("tenant_create", (), 409, "a name that is taken", body={"name": "contract-tenant"})
        if not self.fake:
            token = api.call("token_create", body={"name": "theirs", "scope": "admin", "tenant": "contract-tenant"}).json
            api.refuse("tenant_create", (), 403, "a token of another tenant", body={"name": "more"}, token=token["secret"])
            api.refuse("tenant_delete", ("contract-tenant",), 409, "a tenant that has a token", headers={"If-Match": "*"})
            api.call("token_revoke", token["id"])
        api.call("tenant_delete", "contract-tenant", match="*", want=204)

    def catalog(self):
        api, files = self.api, catalog_files(self.args.catalog)
        body = {"origin": "contract", "files": files}
        api.call("catalog_load", body={**body, "dry_run": True}, want=200, note="dry")
        api.call("catalog_load", body=body, want=201)
        if not self.fake:
            broken = api.refuse("catalog_load", (), (400, 422), "a catalog that is not sound",
                                body={"files": {"a/barclamp.yaml": "barclamp: a\nroles: [{nam: x}]\n"}})
            self.tap.ok("a/barclamp.yaml:2" in broken.json.get("pointer", ""), "catalog_load: and names file and line",
                        broken.json)
        for name in ("catalog_get", "catalog_generations", "barclamp_list", "role_list", "jig_list"):
            api.call(name)
        role = "web" if self.fake else "contract-well"
        api.call("role_get", role)
        kept = api.call("role_store", role).json
        self.tap.ok(kept["role"] == role and kept["store"] == {}, "role_store: nothing is kept yet", kept)
        api.refuse("role_store", ("no-such-role",), 404, "a role that does not exist")
        files = api.call("catalog_files").json
        self.tap.ok(self.fake or files["files"] == catalog_files(self.args.catalog), "catalog_files: as they were loaded")
        api.refuse("catalog_files", (), 400, "a deployment that is not there", "?deployment",
                   query={"deployment": "nobody"})
        jig = "script" if self.fake else "test"
        rev = api.call("jig_get", jig).json["rev"]
        off = api.call("jig_patch", jig, body={"active": False}, match=f'"{rev}"').json
        self.tap.ok(off["active"] is False and off["rev"] != rev, "jig_patch: it is off, with another revision")
        api.refuse("jig_patch", (jig,), 412, "a stale revision", body={"active": True}, headers={"If-Match": f'"{rev}"'})
        api.call("jig_patch", jig, body={"active": True}, match="*")

    def inventory(self):
        api = self.api
        api.call("deployment_create", body={"name": "contract", "parent": "system", "description": "of the contract"})
        api.refuse("deployment_create", (), 409, "the same name again", body={"name": "contract"})
        got = api.call("deployment_get", "contract")
        api.call("deployment_get", got.json["id"], note="by id")
        same = api.send(api.operations["deployment_get"], ("contract",), headers={"If-None-Match": got.headers["ETag"]})
        self.tap.ok(same.status == 200 and same.body, "deployment_get: never 304, since it shows live counts")
        role = api.call("role_list").json["items"][0]["name"]
        tagged = api.call("role_get", role)
        if not self.fake:
            same = api.send(api.operations["role_get"], (role,), headers={"If-None-Match": tagged.headers["ETag"]})
            self.tap.ok(same.status == 304 and not same.body, "role_get: 304 if it is known")
        api.call("deployment_patch", "contract", body={"description": "changed"}, match=got.headers["ETag"])
        api.call("deployment_list")
        first = {"name": NODES[0], "deployment": "contract", "labels": {"rack": "r1"}, "groups": ["contract"],
                 "addresses": ["192.0.2.1"], "slots": 2, "admin": False, "available": True, "alive": "alive",
                 "facts": {"cpu": {"count": 4}}, "note": "of the contract"}
        key = {"Idempotency-Key": "contract-1"}
        made = api.call("node_create", body=first, headers=key)
        self.first_node, self.first_key, self.first_answer = first, key, made
        again = api.call("node_create", body=first, headers=key, note="again with its key")
        self.tap.ok(again.status == made.status and again.body == made.body
                    and again.headers["Location"] == made.headers["Location"]
                    and again.headers["ETag"] == made.headers["ETag"], "node_create: a key is answered alike")
        api.refuse("node_create", (), 409, "another body with the key", body={"name": NODES[1]}, headers=key)
        api.refuse("node_create", (), 409, "the same name again", body=first)
        for name in NODES[1:]:
            api.call("node_create", body={"name": name, "deployment": "contract", "alive": "alive",
                                          "groups": ["contract"]})
        page = api.call("node_list", query={"limit": 2}).json
        self.tap.ok(len(page["items"]) == 2 and page["next"] and page["total"] >= len(NODES), "node_list: a page of two")
        names, cursor = [n["name"] for n in page["items"]], page["next"]
        while cursor:
            page = api.call("node_list", query={"limit": 2, "after": cursor}).json
            names += [n["name"] for n in page["items"]]
            cursor = page["next"]
        self.tap.ok(len(names) == len(set(names)) == page["total"], "node_list: pages hold each node once", names)
        if not self.fake:
            few = api.call("node_list", query={"selector": "rack=r1", "alive": "alive", "deployment": "contract"}).json
            self.tap.ok([n["name"] for n in few["items"]] == [NODES[0]], "node_list: filters")
        got = api.call("node_get", NODES[0])
        if not self.fake:
            self.tap.ok(all(got.json[k] == v for k, v in first.items()), "node_get: as it was made", got.json)
        patched = api.call("node_patch", NODES[0], body={"note": None, "labels": {"rack": None, "row": "7"}},
                           match=got.headers["ETag"]).json
        if not self.fake:
            self.tap.ok(patched["labels"] == {"row": "7"} and not patched["note"], "node_patch: null removes", patched)
        api.refuse("node_patch", (NODES[0],), 412, "a stale revision", body={"note": "x"},
                   headers={"If-Match": got.headers["ETag"]})
        api.call("node_report", NODES[0], body={"alive": "alive", "machine_id": "m-1", "boot_id": "b-1"})
        self.announces()
        api.call("group_list")
        api.call("pool_list")
        made = api.call("pool_put", "contract-made", body={"size": 3, "closed": False, "note": "made"}, match="*",
                        want=201)
        got = api.call("pool_get", "contract-made")
        api.call("pool_put", "contract-made", body={"size": 4}, match=got.headers["ETag"], want=200)

    def providers(self):
        """What was said to providers, and the plugins that ask for it."""
        api = self.api
        found = [p["name"] for p in api.call("plugin_list").json["items"]]
        self.tap.ok("dirs" in found, "plugin_list: the plugin", found)
        api.call("plugin_get", "dirs")
        api.refuse("plugin_get", ("nobody",), 404, "a plugin that is not there")
        made = api.call("provider_put", "contract", body={"type": "dirs", "fields": {"root": "/x", "password": "contract-secret"}},
                        match="*", want=201)
        if not self.fake:
            self.tap.ok(made.json["fields"] == {"root": "/x", "password": "***"}, "provider_put: a secret is masked", made.json)
            api.refuse("provider_put", ("other",), 422, "a type that nobody serves", body={"type": "nobody"},
                       headers={"If-Match": "*"})
        got = api.call("provider_get", "contract")
        got = api.call("provider_put", "contract", body={"fields": {"password": None}}, match=got.headers["ETag"], want=200)
        if not self.fake:
            self.tap.ok(got.json["sensitive"] == [], "provider_put: null takes a secret away", got.json)
        api.call("provider_list")
        api.call("provider_delete", "contract", match=got.headers["ETag"])

    def workers(self):
        """Workers elsewhere: invited, joined, drained, removed; the line of one of them."""
        api = self.api
        api.call("worker_list")
        made = api.call("worker_token", body={"name": "contract-worker", "ttl_ms": 60000, "labels": {"rack": "r1"}})
        joined = api.call("worker_join", body={"secret": made.json["secret"], "name": "contract-worker", "labels": {"os": "any"}},
                          token=None)
        api.worker_token = joined.json["credential"]
        if not self.fake:
            api.refuse("worker_join", (), 422, "a token that was used", "/secret", token=None,
                       body={"secret": made.json["secret"], "name": "contract-worker"})
            api.refuse("worker_join", (), 422, "a token that nobody made", "/secret", token=None,
                       body={"secret": "anj_" + "A" * 43, "name": "contract-worker"})
            other = api.call("worker_token", body={"name": "contract-other"}).json["secret"]
            api.refuse("worker_join", (), 422, "a token for another name", token=None,
                       body={"secret": other, "name": "contract-worker"})
            self.tap.ok(api.call("worker_get", "contract-worker").json["labels"] == {"rack": "r1", "os": "any"},
                        "worker_get: labels of both")
        hello = json.dumps({"kind": "hello", "worker": "contract-worker", "capacity": 1, "jigs": ["nothing"]})
        said = api.call("worker_messages", "contract-worker", body={"life": "contract-1", "first": 1, "messages": [hello]})
        self.tap.ok(said.json == {"taken": 1}, "worker_messages: taken", said.json)
        api.call("worker_poll", "contract-worker", body={"life": "contract-1", "after": 0, "wait_ms": 0})
        if not self.fake:
            again = api.call("worker_messages", "contract-worker", body={"life": "contract-1", "first": 1, "messages": [hello]})
            self.tap.ok(again.json == {"taken": 1}, "worker_messages: a number is taken once", again.json)
            api.refuse("worker_messages", ("contract-worker",), 409, "a gap", body={"life": "contract-1", "first": 3, "messages": [hello]})
            api.refuse("worker_messages", ("contract-worker",), 409, "the middle of another life",
                       body={"life": "contract-2", "first": 2, "messages": [hello]})
            api.refuse("worker_poll", ("contract-worker",), 409, "another life", body={"life": "contract-2", "after": 0, "wait_ms": 0})
            api.refuse("worker_poll", ("contract-worker",), 409, "what was never sent",
                       body={"life": "contract-1", "after": 1000, "wait_ms": 0})
            api.refuse("worker_messages", ("contract-worker",), 403, "a token of scope admin", token=api.token,
                       body={"life": "contract-1", "first": 2, "messages": []})
            api.refuse("node_list", (), 403, "a worker's credential", token=api.worker_token)
            api.refuse("worker_join", (), 409, "the name of a worker at work", "/name", token=None,
                       body={"secret": api.call("worker_token", body={}).json["secret"], "name": "contract-worker"})
        got = api.call("worker_get", "contract-worker")
        api.call("worker_patch", "contract-worker", body={"draining": True}, match=got.headers["ETag"])
        spare = api.call("worker_token", note="without a body").json["secret"]
        gone = api.call("worker_join", body={"secret": spare, "name": "contract-spare"}, token=None).json["credential"]
        api.call("worker_delete", "contract-spare", match="*")
        if not self.fake:
            api.refuse("worker_poll", ("contract-spare",), 401, "a credential of nobody", token=gone,
                       body={"life": "contract-3", "after": 0, "wait_ms": 0})

    def resources(self):
        """Contents in two parts, a version of them, its states."""
        api = self.api
        digest = hashlib.blake2b(b"contract", digest_size=16).hexdigest()
        for at, text in ((0, b"cont"), (4, b"ract")):
            part = {"size": 8, "offset": at, "content": base64.b64encode(text).decode()}
            got = api.call("content_put", digest, body=part, want=200)
        self.tap.ok(got.json["complete"], "content_put: complete with its last part", got.json)
        api.call("content_get", digest)
        body = {"type": "dirs", "kind": "images", "name": "contract", "digest": digest}
        made = api.call("resource_create", body=body, want=201)
        if not self.fake:
            api.call("resource_create", body=body, want=200, note="the same again")
            api.refuse("resource_create", (), 422, "a kind that is not declared", body=dict(body, kind="nothing"))
            api.refuse("resource_create", (), 422, "a content that is not here", body=dict(body, digest="0" * 32))
            api.refuse("content_get", ("0" * 32,), 404, "a content that is not here")
            other = hashlib.blake2b(b"other", digest_size=16).hexdigest()
            api.refuse("content_put", (other,), 409, "a part that is not the next", body={"size": 8, "offset": 4, "content": ""})
            api.refuse("content_put", (other,), 422, "a content of another digest", body={"size": 3, "offset": 0, "content": "YWJj"})
            api.refuse("content_put", (other,), 413, "a content that is too large", body={"size": 1 << 50, "offset": 0, "content": ""})
        api.call("resource_list")
        api.call("resource_get", made.json["id"])
        api.call("resource_stage", made.json["id"])
        if not self.fake:
            api.refuse("resource_delete", (made.json["id"],), 409, "one that is staged", headers={"If-Match": "*"})
        api.call("resource_recall", made.json["id"])
        api.call("resource_sync")
        got = api.call("resource_get", made.json["id"])
        if not self.fake:
            self.tap.ok(got.json["state"] == "inactive", "resource_recall: what was staged is inactive", got.json)
        api.call("resource_delete", made.json["id"], match=got.headers["ETag"])

    def overlays(self):
        """What lies over task graphs, of a barclamp and of a deployment alike."""
        api = self.api
        for noun, name in (("barclamp", "core" if self.fake else "contract"), ("deployment", "contract")):
            get, put = f"{noun}_tasks", f"{noun}_tasks_set"
            before = api.call(get, name).json
            tasks = [{"id": f"of-{noun}", "type": "shell", "role": "*", "parameters": {"cmd": "true"}}]
            rev = "*" if self.fake else f'"{before["version"]}"'
            api.call(put, name, body={"tasks": tasks, "dry_run": True}, match=rev, note="dry")
            made = api.call(put, name, body={"tasks": tasks, "message": "the first"}, match=rev)
            got = api.call(get, name)
            if not self.fake:
                self.tap.ok(before["version"] == 0 and before["tasks"] == [], f"{get}: nothing at first", before)
                self.tap.ok(made.json["version"] == 1 and made.json["changed"] and made.headers["ETag"] == '"1"',
                            f"{put}: version 1", made.json)
                self.tap.ok(got.json["tasks"] == tasks and got.json["message"] == "the first", f"{get}: as it was set",
                            got.json)
                api.refuse(put, (name,), 412, "a stale revision", body={"tasks": []}, headers={"If-Match": '"0"'})
                text = "- id: of-contract\n  type: shell\n  requires: [of-contrac]\n"
                bad = api.refuse(put, (name,), 422, "an id that nobody has", body={"text": text},
                                 headers={"If-Match": "*"})
                self.tap.ok(bad.json["pointer"].endswith(":3:14") and "requires" in bad.json["line"],
                            f"{put}: with line and column", bad.json)
                api.refuse(put, (name,), 400, "neither tasks nor text", body={}, headers={"If-Match": "*"})
                api.refuse(put, (name,), 400, "tasks that are no list", body={"text": "{}"}, headers={"If-Match": "*"})
                api.refuse(get, (name,), 404, "a version that is not there", "?version", query={"version": 9})
                same = api.send(api.operations[get], (name,), headers={"If-None-Match": got.headers["ETag"]})
                self.tap.ok(same.status == 304, f"{get}: 304 if it is known")
            whole = api.call(get, name, query={"merged": "true", "graph": "default"}).json
            self.tap.ok(self.fake or f"of-{noun}" in [t["id"] for t in whole["tasks"]], f"{get}: merged", whole)
            api.call(put, name, body={"text": "[]\n", "graph": "default"}, match=got.headers["ETag"], note="taken away")
            versions = api.call(f"{noun}_tasks_versions", name).json["items"]
            diff = api.call(f"{noun}_tasks_diff", name, query={} if self.fake else {"from": 1, "to": 2}).json
            if not self.fake:
                self.tap.ok([v["version"] for v in versions] == [2, 1], f"{noun}_tasks_versions: newest first", versions)
                self.tap.ok([t["id"] for t in diff["removed"]] == [f"of-{noun}"], f"{noun}_tasks_diff: by id", diff)

    def clusters(self):
        api = self.api
        name = "shop" if self.fake else "contract-cluster"
        wanted = {"name": name, "template": "contract", "nodes": 2}
        api.call("cluster_get", "no-such", want=404, note="no cluster")
        api.call("cluster_operate", "no-such", "stop", body={}, want=404, note="no cluster")
        if not self.fake:
            bad = api.refuse("cluster_create", (), 422, "too many nodes", body=dict(wanted, nodes=9))
            self.tap.ok("3" in bad.json["detail"] and bad.json.get("hint"), "cluster_create: why, and what helps", bad.json)
            api.refuse("cluster_create", (), 422, "an unknown template", "/template", body=dict(wanted, template="contrac"))
        dry = api.call("cluster_create", body=dict(wanted, dry_run=True), want=200, note="dry").json
        self.tap.ok(dry["operation"] is None and dry["layout"]["status"] == "solved", "cluster_create: a dry run makes nothing")
        made = api.call("cluster_create", body=wanted, want=202 if self.fake else 201).json
        if not self.fake:
            self.ended(made["operation"]["id"], "succeeded")
            api.refuse("cluster_create", (), 409, "twice", body=wanted)
            api.refuse("cluster_operate", (name, "dance"), 404, "no such operation", body={})
        api.call("cluster_list", query={"state": "active"})
        got = api.call("cluster_get", name)
        self.tap.ok(self.fake or [n["number"] for n in got.json["nodes"]] == [1000, 1001], "cluster_get: its nodes", got.json)
        for verb, body in (("expand", {"by": 1}), ("stop", {}), ("start", {"services": ["contract-service"]}),
                           ("add-service", {"services": ["contract-more"]}), ("shrink", {"nodes": 2})):
            done = api.call("cluster_operate", name, verb, body=body, want=202, note=verb).json
            if not self.fake:
                self.ended(done["operation"]["id"], "succeeded")
        if not self.fake:
            api.refuse("cluster_patch", (name,), 422, "too long", body={"expires_in": "9d"}, headers={"If-Match": "*"})
        api.call("cluster_patch", name, body={"expires_in": "2h"}, match="*")
        if not self.fake:
            done = api.call("cluster_operate", name, "delete", body={}, want=202, note="delete").json
            self.ended(done["operation"]["id"], "succeeded")
            self.until("the cluster is gone", lambda: api.send(api.operations["cluster_get"], (name,)).status,
                       lambda status: status == 404)

    def graph(self):
        api = self.api
        where = "contract" if self.fake else "contract-graph"
        api.call("deployment_deploy", "no-such", body={}, want=404, note="no deployment")
        api.call("deployment_graph", "no-such", want=404, note="no deployment")
        if not self.fake:
            api.call("deployment_create", body={"name": where}, want=201)
            api.refuse("deployment_deploy", (where,), 422, "nothing is bound", body={})
            bound = {"bindings": [{"role": "contract-group", "nodes": NODES[0]}]}
            self.ended(api.call("deployment_bind", where, body=bound).json["operation"]["id"], "succeeded")
            api.refuse("deployment_deploy", (where,), 404, "a word that matches nothing", body={"only": ["none"]})
            done = api.call("deployment_deploy", where, body={"skip": ["contract-second"]}, want=202).json
            self.tap.ok(done["tasks"]["run"] == 1 and done["tasks"]["left_out"] == {"skipped": 1},
                        "deployment_deploy: part of it", done)
            self.ended(done["operation"]["id"], "succeeded")
        dry = api.call("deployment_deploy", where, body={"dry_run": True}, want=200, note="dry").json
        self.tap.ok(dry["operation"] is None and dry["tasks"]["run"] == 2, "deployment_deploy: a dry run starts nothing")
        for form in ("json", "dot", "stages", "roles", "node"):
            query = {"format": form, "node": NODES[0]} if form == "node" else {"format": form}
            shown = api.call("deployment_graph", where, query=query, note=form).json
            told = shown["format"] == form and (shown["text"] is None) == (form in ("json", "node"))
            self.tap.ok(self.fake or told, f"deployment_graph: {form}")

    def work(self):
        api = self.api
        bindings = {"bindings": [{"role": "contract-well", "nodes": NODES[0], "data": {"size": 5}}]}
        api.call("deployment_snapshots", "contract", note="before anything is wanted")
        dry = api.call("deployment_bind", "contract", body={**bindings, "dry_run": True}, want=200, note="dry").json
        self.tap.ok(dry["operation"] is None, "deployment_bind: a dry run starts nothing")
        done = self.bind("contract-well", NODES[0], {"size": 5})
        self.ended(done, "succeeded")
        api.call("operation_get", done)
        api.call("operation_list", query={"state": "succeeded"})
        ran = api.call("operation_history", done, query={"all": "true", "limit": 2}).json
        if not self.fake:
            self.tap.ok(ran["items"], "operation_history: what ran in it", ran)
        api.refuse("operation_history", (done,), 400, "a flag that is none", query={"failed": "maybe"})
        line = api.call("operation_timeline", done).json
        self.tap.ok(not line["truncated"], "operation_timeline: all of it", line)
        noderole = self.noderole_of("contract-well", NODES[0])
        got = api.call("noderole_get", noderole)
        api.call("noderole_data", noderole, body={"size": 6}, match=got.headers["ETag"])
        api.call("noderole_visible", noderole)
        api.call("noderole_visible", noderole, query={"explain": "size"}, note="explained")
        if not self.fake:
            api.refuse("noderole_data", (noderole,), (400, 422), "data that breaks an attribute", body={"size": 0},
                       headers={"If-Match": "*"})
            self.until("the noderole settles", lambda: self.get("noderole_get", noderole),
                       lambda n: n["state"] == "ACTIVE")
        again = api.call("noderole_rerun", noderole).json
        self.ended(again["id"], "succeeded")
        again = api.call("role_rerun", "web" if self.fake else "contract-well",
                         body={"deployment": "contract", "nodes": NODES[0]}).json
        self.ended(again["id"], "succeeded")
        task = self.task_of(done) if self.fake else got.json["tasks"][0]
        api.call("task_get", task)
        attempts = api.call("task_attempts", task).json["items"]
        self.tap.ok(len(attempts) > 0, "task_attempts: there is one")
        log = api.call("attempt_log", task, attempts[0]["number"])
        tail = api.call("attempt_log", task, attempts[0]["number"], query={"from": 6, "follow": "true"})
        self.tap.ok(log.body and tail.body == log.body[6:], "attempt_log: from an offset", log.body, tail.body)
        for kind, name in (("node", NODES[0]), ("noderole", noderole), ("task", task), ("operation", done),
                           ("role", "contract-well"), ("jig", "test"), ("pool", "contract-made"),
                           ("binding", f"contract-well@{NODES[0]}")):
            api.call("why", kind, name)

    def wanting(self):
        """What is wanted, changed by steps; what cannot be removed is given up."""
        api, where = self.api, "contract"
        api.call("deployment_diff", where, note="with nothing proposed")
        made = api.call("deployment_propose", where, body={"message": "two more"})
        if not self.fake:
            api.refuse("deployment_propose", (where,), 409, "a second proposal", body={})
            api.refuse("deployment_propose", ("system",), (409, 422), "the system deployment", body={})
        edits = [{"edit": "bind", "role": "contract-stays", "nodes": NODES[0]},
                 {"edit": "set-data", "role": "contract-well", "nodes": NODES[0], "data": {"size": 7}},
                 {"edit": "set-data", "role": "contract-well", "data": {"size": 8}}]
        api.call("deployment_edit", where, body={"edits": edits}, match=made.headers["ETag"])
        got = api.call("deployment_proposal", where)
        if not self.fake:
            api.refuse("deployment_edit", (where,), 412, "a stale revision", body={"edits": edits},
                       headers={"If-Match": made.headers["ETag"]})
            api.refuse("deployment_edit", (where,), (400, 422), "an unknown role", headers={"If-Match": "*"},
                       body={"edits": [{"edit": "bind", "role": "contract-none", "nodes": NODES[0]}]})
        diff = api.call("deployment_diff", where, query={"from": "head", "to": "proposal"}).json
        if not self.fake:
            self.tap.ok(sorted(c["change"] for c in diff["changes"]) == ["added", "added", "changed"],
                        "deployment_diff: what was edited", diff["changes"])
        dry = api.call("deployment_commit", where, body={"dry_run": True}, want=200, note="dry").json
        self.tap.ok(dry["operation"] is None, "deployment_commit: a dry run starts nothing")
        done = api.call("deployment_commit", where).json
        if not self.fake:
            self.ended(done["operation"]["id"], "succeeded")
        api.call("deployment_propose", where, body={"rollback": 1}, note="back")
        got = api.call("deployment_proposal", where, note="back")
        api.call("deployment_recall", where, match=got.headers["ETag"])
        dry = {"bindings": [{"role": "contract-stays", "nodes": NODES[0]}], "dry_run": True}
        api.call("deployment_unbind", where, body=dry, want=200, note="dry")
        noderole = self.noderole_of("contract-stays", NODES[0])
        gone = api.call("deployment_unbind", where, body={**dry, "dry_run": False}).json
        if not self.fake:
            self.ended(gone["operation"]["id"], "failed")
        left = api.call("noderole_abandon", noderole, body={"reason": "given up"}).json
        if not self.fake:
            self.tap.ok(left["undone"] == ["stays"], "noderole_abandon: what was not done", left)

    def trouble(self):
        """Work that fails, waits, is cancelled, and whose outcome nobody knows."""
        api = self.api
        failing = [self.bind("contract-fails", node) for node in NODES[1:4]]
        for operation in failing:
            self.ended(operation, "failed")
        api.call("task_retry", self.task_of(failing[0]))
        api.call("noderole_retry", self.noderole_of("contract-fails", NODES[2]))
        api.call("operation_retry", failing[2])
        self.ended(failing[2], "succeeded")
        waiting = self.bind("contract-waits", NODES[4])
        task = self.task_of(waiting)
        self.until("the task waits", lambda: self.get("task_get", task), lambda t: t["state"] == "WAITING")
        api.call("task_poke", task)
        self.ended(waiting, "succeeded")
        slow = self.bind("contract-slow", NODES[5])
        task = self.task_of(slow)
        self.until("the task runs", lambda: self.get("task_get", task), lambda t: t["state"] == "RUNNING")
        api.call("operation_cancel", slow, body={"abort": True})
        self.ended(slow, "cancelled")
        api.call("operation_resume", slow)
        api.call("operation_cancel", slow, body={"abort": True}, note="again")
        self.ended(slow, "cancelled")

    def uncertain(self):
        """A task that may run once only, and a server that dies while it runs."""
        api = self.api
        task = self.task_of(self.bind("contract-once", NODES[6]))
        if not self.fake and not self.process:
            api.refuse("task_resolve", (task,), 409, "a task that is not uncertain", body={"outcome": "done"})
            return
        self.until("the task runs", lambda: self.get("task_get", task), lambda t: t["state"] == "RUNNING")
        if self.process:
            before = self.get("status")["journal"]
            self.process.kill()
            self.process.start()
            self.tap.ok(self.get("status")["journal"] >= before, "the journal survives a kill")
            again = api.call("node_create", body=self.first_node, headers=self.first_key, note="after a kill")
            self.tap.ok(again.body == self.first_answer.body, "node_create: its key is still known")
        self.until("the task is uncertain", lambda: self.get("task_get", task), lambda t: t["reason"] == "uncertain")
        api.call("task_resolve", task, body={"outcome": "done"})

    def suspicion(self):
        """So many nodes fall silent at once that the server doubts itself rather than them."""
        api = self.api
        if not self.fake and not self.process:
            api.refuse("admin_confirm_dead", (), 409, "no suspicion")
            return
        for name in SILENT:
            api.call("node_create", body={"name": name, "alive": "alive"})
        api.call("node_report", SILENT[0], body={"alive": "silent"})

        def probe():
            for name in SILENT:
                api.send(api.operations["node_report"], (name,), body={"alive": "silent"})
            return self.get("status")
        self.until("the server suspects itself", probe, lambda s: s["suspect"])
        answer = api.call("admin_confirm_dead").json
        self.tap.ok(answer.get("suspect") is False, "admin_confirm_dead: ends the suspicion")
        api.call("node_list", query={"alive": "dead"})

        def buried():
            """One whose silence was still too short raises the suspicion again."""
            if probe()["suspect"]:
                api.send(api.operations["admin_confirm_dead"], ())
            dead = api.send(api.operations["node_list"], (), query={"alive": "dead"}).json["items"]
            return sorted(n["name"] for n in dead)
        if not self.fake:
            self.until("the silent ones are dead", buried, lambda dead: dead == sorted(SILENT))

    def events(self):
        api = self.api
        page = api.call("events", query={"limit": 3}).json
        self.tap.ok(len(page["items"]) > 0 and page["last"] >= page["items"][-1]["id"], "events: a page")
        ids = [e["id"] for e in page["items"]]
        while page["next"]:
            page = api.call("events", query={"since": page["next"], "limit": 500}).json
            ids += [e["id"] for e in page["items"]]
        self.tap.ok(ids == sorted(set(ids)), "events: pages hold each event once, in order")
        seen = self.stream(since=0, want=len(ids))
        self.tap.ok([e["id"] for e in seen] == ids[:len(seen)] and len(seen) == len(ids),
                    "events: a stream tells the same", f"{len(seen)} of {len(ids)}")
        schema = {"$ref": "#/components/schemas/Event"}
        bad = [b for e in seen for b in api.checker.check(schema, e, f"/{e['id']}", True)]
        self.tap.ok(not bad, "events: each as published", *bad[:10])
        rest = self.stream(since=None, want=len(ids) - 1, headers={"Last-Event-ID": str(ids[0])})
        self.tap.ok([e["id"] for e in rest] == ids[1:], "events: Last-Event-ID resumes")

    def stream(self, since, want, headers=None):
        """The first `want` events of a stream."""
        target = "/v1/events" + ("" if since is None else f"?since={since}")
        connection = http.client.HTTPConnection(self.api.url.hostname, self.api.url.port, timeout=PATIENCE_S)
        connection.request("GET", target, headers={"Authorization": "Bearer " + self.api.token,
                                                   "Accept": "text/event-stream", **(headers or {})})
        answer, seen, last = connection.getresponse(), [], None
        good = answer.status == 200 and answer.headers["Content-Type"] == "text/event-stream"
        self.tap.ok(good, f"events: {target} is a stream")
        while good and len(seen) < want:
            line = answer.readline().decode().rstrip("\n")
            if line.startswith("id: "):
                last = int(line[4:])
            elif line.startswith("data: "):
                event = json.loads(line[6:])
                good = good and event.get("id") == last
                seen.append(event)
        self.tap.ok(good, "events: id and data agree")
        connection.close()
        return seen

    def wrong(self):
        for op in self.api.operations.values():
            hostile.all_of(self.api, op, self.read_token)
        hostile.methods(self.api)
        answer = self.api.raw("GET", "/v1/nodez", {"Authorization": "Bearer " + self.api.token})
        self.tap.ok(answer.status == 404 and "/v1/nodes" in answer.json.get("hint", ""),
                    "a path that is almost right is 404 with a hint")

    def announces(self):
        """A machine makes itself known with a token that is good for nothing else."""
        api = self.api
        token = api.call("token_create", body={"name": "contract-machine", "scope": "announce"}).json["secret"]
        said = {"machine_id": "m-9", "boot_id": "b-9", "name": "announced.contract.example",
                "addresses": ["192.0.2.9"], "facts": {"cpus": 8}}
        made = api.call("announce", body=said, token=token)
        self.tap.ok(made.status == 201, "announce: an unknown machine is made")
        if not self.fake:
            again = api.call("announce", body=said, token=token)
            self.tap.ok(again.status == 200 and not again.json["new"], "announce: again is no change", again.json)
            api.refuse("announce", (), 409, "another machine under that name", token=token,
                       body=dict(said, machine_id="m-10"))
            api.refuse("announce", (), 409, "another name for that machine", token=token,
                       body=dict(said, name="other.contract.example"))
        api.refuse("node_list", (), 403, "a token of scope announce", token=token)
        api.call("node_redeploy", NODES[0] if self.fake else said["name"])

    def teardown(self):
        api = self.api
        spare = "spare.contract.example"
        api.call("node_create", body={"name": spare}, note="to be removed")
        api.call("node_delete", spare, match="*")
        api.refuse("node_get", (spare,), 404, "what was removed")
        api.call("deployment_create", body={"name": "contract-spare"}, note="to be removed")
        api.call("deployment_delete", "contract-spare", match="*")

    def complete(self):
        excused = () if self.fake or self.process else ("admin_confirm_dead", "task_resolve")
        for op in self.api.operations.values():
            declared = {int(s) for s in op.spec["responses"] if s.isdigit() and s.startswith("2")}
            good = op.seen & declared or op.id in excused and op.seen
            self.tap.ok(good, f"{op.id} was answered with success", f"only {sorted(op.seen)}")


def run(args, tap, url, token, process=None):
    scenario = Scenario(Api(url, token, tap), args)
    scenario.process = process
    for step in (scenario.server, scenario.token, scenario.tenants, scenario.catalog, scenario.inventory, scenario.providers, scenario.workers, scenario.resources, scenario.overlays, scenario.work,
                 scenario.graph, scenario.clusters, scenario.wanting, scenario.trouble, scenario.uncertain, scenario.suspicion, scenario.events, scenario.teardown,
                 scenario.wrong, scenario.complete):
        print(f"# {step.__name__}", flush=True)
        step()


def run_own(args, tap):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was made is removed
    with tempfile.TemporaryDirectory(prefix="anneal-contract-") as work:
        process = serve.fake(args.fake, work) if args.fake else serve.anneald(args.anneald, work)
        url = process.start()
        try:
            token = "anl_admin" if args.fake else (pathlib.Path(work) / "data/admin.token").read_text().strip()
            run(args, tap, url, token, None if args.fake else process)
            tap.ok(process.stop() == 0, "the server ends in order", process.log.read_text(errors="replace")[-2000:])
        finally:
            if process.process.poll() is None:
                process.kill()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--catalog", required=True)
    how = arguments.add_mutually_exclusive_group(required=True)
    how.add_argument("--anneald")
    how.add_argument("--url")
    how.add_argument("--fake")
    arguments.add_argument("--token-file")
    args = arguments.parse_args()
    tap = Tap()
    if args.url:
        run(args, tap, args.url, pathlib.Path(args.token_file).read_text().strip())
    else:
        run_own(args, tap)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
