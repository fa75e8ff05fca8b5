"""client.py - calls operations of a published OpenAPI document and holds every answer against it

An answer's status must be declared, its body must have the declared type and shape, an object with a revision must
carry it as ETag, a problem must be a problem.  What was called is remembered, so that the runner can tell what never
was.
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import urllib.parse

from schema_check import Checker

METHODS = ("get", "post", "put", "patch", "delete")


class Tap:
    def __init__(self):
        self.run = self.failed = 0

    def ok(self, good, label, *detail):
        self.run += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.run} - {label}", flush=True)
        for line in detail if not good else ():
            print(f"#   {line}", flush=True)
        return good

    def done(self):
        print(f"1..{self.run}")
        return 1 if self.failed else 0


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        self.media = headers.get("Content-Type", "").split(";")[0]
        self.json = None
        if self.media.endswith("json") and body:
            self.json = json.loads(body)


class Operation:
    def __init__(self, method, path, spec):
        self.method, self.path, self.spec = method.upper(), path, spec
        self.id, self.summary = spec["operationId"], spec["summary"]
        self.parameters = {place: [p for p in spec["parameters"] if p["in"] == place]
                           for place in ("path", "query", "header")}
        self.body = spec.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        self.body_required = spec.get("requestBody", {}).get("required", False)
        self.open = not spec["security"]
        self.scope = None if self.open else spec["security"][0]["token"][0]
        self.needs_match = any(p["name"] == "If-Match" for p in self.parameters["header"])
        self.seen = set()   # statuses
        self.sample = None  # (ids, body) of a call that went well

    def target(self, ids, query=None):
        path = self.path
        for p, v in zip(self.parameters["path"], ids):
            path = path.replace("{%s}" % p["name"], urllib.parse.quote(str(v), safe="@"))
        return path + ("?" + urllib.parse.urlencode(query) if query else "")


class Api:
    """One server.  Answers are checked by default; `strict` also refuses fields that are not published."""

    def __init__(self, url, token, tap, strict=True):
        self.url, self.token, self.tap, self.strict = urllib.parse.urlsplit(url), token, tap, strict
        self.connection = None
        self.worker_token = None  # whose line the operations of scope worker are about
        document = self.raw("GET", "/v1/openapi.json")
        self.document = document.json
        self.checker = Checker(self.document)
        self.operations = {}
        for path, methods in self.document["paths"].items():
            for method, spec in methods.items():
                assert method in METHODS, method
                op = Operation(method, path, spec)
                self.operations[op.id] = op
        self.operations["openapi"].seen.add(document.status)

    def raw(self, method, target, headers=None, body=None):
        """One exchange on a kept connection, opened anew if the server closed it."""
        for attempt in (1, 2):
            if not self.connection:
                self.connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=60)
            try:
                self.connection.request(method, target, body=body, headers=headers or {})
                r = self.connection.getresponse()
                answer = Answer(r.status, r.headers, r.read())
                if r.will_close:
                    self.connection = None
                return answer
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self.connection = None
                if attempt == 2:
                    raise

    def send(self, op, ids=(), query=None, body=None, headers=None, token=True, raw_body=None):
        """A call that is not judged.  token: True for ours, None for none, or another one."""
        head = dict(headers or {})
        if token is True:
            token = self.worker_token if op.scope == "worker" else self.token
        if token:
            head["Authorization"] = "Bearer " + token
        data = raw_body
        if body is not None:
            data = json.dumps(body).encode()
        if data is not None:
            head.setdefault("Content-Type", "application/json")
        answer = self.raw(op.method, op.target(ids, query), head, data)
        op.seen.add(answer.status)
        return answer

    def judge(self, op, answer, label):
        """Complaints about an answer, as TAP."""
        bad = []
        declared = op.spec["responses"].get(str(answer.status))
        if declared is None and answer.status >= 500:
            declared = op.spec["responses"]["default"]
        if declared is None:
            bad.append(f"status {answer.status} is not declared: {answer.body[:300]!r}")
        else:
            content = declared.get("content", {})
            if content and answer.media not in content:
                bad.append(f"the type {answer.media!r} is not declared")
            elif not content and answer.body:
                bad.append("a body although none is declared")
            elif answer.media.endswith("json") and content:
                bad += self.checker.check(content[answer.media]["schema"], answer.json, "", self.strict)
        tag = answer.headers.get("ETag")
        if op.method == "GET" and answer.status == 200 and isinstance(answer.json, dict) and "rev" in answer.json:
            if tag != '"%d"' % answer.json["rev"]:
                bad.append(f"ETag is {tag}, rev is {answer.json['rev']}")
        if answer.status == 201 and not answer.headers.get("Location"):
            bad.append("201 without Location")
        return self.tap.ok(not bad, label, *bad[:10])

    def call(self, name, *ids, want=None, query=None, body=None, headers=None, match=None, note="", **more):
        """A call that must go well: one of the declared 2xx, or exactly `want`."""
        op = self.operations[name]
        head = dict(headers or {})
        if match is not None:
            head["If-Match"] = match
        answer = self.send(op, ids, query, body, head, **more)
        good = answer.status == want if want else 200 <= answer.status < 300
        label = f"{name} {op.target(ids, query)}{' ' + note if note else ''}"
        if not good:
            self.tap.ok(False, f"{label} is {want or '2xx'}", f"{answer.status}: {answer.body[:400]!r}")
            return answer
        self.judge(op, answer, f"{label}: {answer.status} as published")
        if 200 <= answer.status < 300 and op.sample is None:
            op.sample = (ids, body)
        return answer

    def refuse(self, name, ids, want, label, pointer=None, op=None, **more):
        """A call that must be refused with a problem of one of the statuses `want`."""
        op = op or self.operations[name]
        want = want if isinstance(want, tuple) else (want,)
        answer = self.send(op, ids, **more)
        bad = []
        if answer.status not in want:
            bad.append(f"got {answer.status}: {answer.body[:300]!r}")
        elif answer.media != "application/problem+json":
            bad.append(f"the type is {answer.media!r}")
        else:
            bad += self.checker.check({"$ref": "#/components/schemas/Problem"}, answer.json, "", True)
            if answer.json.get("status") != answer.status:
                bad.append("status differs inside")
            if pointer is not None and answer.json.get("pointer") != pointer:
                bad.append(f"points to {answer.json.get('pointer')!r}, not {pointer!r}")
            if str(answer.status) not in op.spec["responses"]:
                bad.append(f"status {answer.status} is not declared")
        self.tap.ok(not bad, f"{name}: {label} is {' or '.join(map(str, want))}", *bad[:10])
        return answer
