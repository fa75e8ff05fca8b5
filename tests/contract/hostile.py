"""hostile.py - wrong variants of requests that went well: each must be a problem with the right status

Everything is derived from the published document and from the sample that the scenario recorded for an operation, so
a new operation gets its wrong variants by itself.  None of them changes anything, since none is let through.
"""
# SPDX-License-Identifier: Apache-2.0
WRONG = {"string": 7, "integer": "seven", "boolean": "perhaps", "object": [], "array": {}, "number": "x", "null": 1}


def types_of(checker, schema):
    schema = checker.resolve(schema)
    if "anyOf" in schema:
        return set().union(*(types_of(checker, s) for s in schema["anyOf"]))
    t = schema.get("type", [])
    return set(t if isinstance(t, list) else [t])


def wrong_value(checker, schema):
    """A value of none of its types; None if it takes anything."""
    types = types_of(checker, schema)
    for t in ("string", "integer", "boolean", "object", "array"):
        if t in types:
            bad = WRONG[t]
            if not checker.check(schema, bad):
                continue
            return bad
    return None


def bodies(api, op):
    ids, sample = op.sample
    sample = sample or {}
    head = {"If-Match": "*"} if op.needs_match else {}
    schema = api.checker.resolve(op.body)

    def no(label, body=None, pointer=None, want=400, **more):
        api.refuse(op.id, ids, want, label, pointer, op=op, body=body,
                   headers={**head, **more.pop("headers", {})}, **more)

    no("a list as body", [])
    no("malformed JSON", raw_body=b'{"a": 1,,}', pointer="body:1:9")
    no("a duplicate key", raw_body=b'{"a": 1, "a": 2}')
    no("half a body", raw_body=b'{"a"')
    no("nesting of 300 levels", raw_body=b'{"a":' + b"[" * 300 + b"]" * 300 + b"}")
    no("bytes that are not UTF-8", raw_body=b'{"a": "\xff"}')
    no("another media type", raw_body=b"a=b", want=415,
       headers={"Content-Type": "application/x-www-form-urlencoded"})
    if op.body_required:
        no("no body", None)
    if schema.get("additionalProperties") is False:
        no("an unknown field", {**sample, "x_unknown": 1}, "/x_unknown")
    for field in schema.get("required", []):
        no(f"no {field}", {k: v for k, v in sample.items() if k != field}, f"/{field}")
    for field, kind in schema.get("properties", {}).items():
        bad = wrong_value(api.checker, kind)
        if bad is not None:
            answer = api.refuse(op.id, ids, 400, f"{field} = {bad!r}", op=op, body={**sample, field: bad},
                                headers=head)
            where = (answer.json or {}).get("pointer", "")
            api.tap.ok(where.startswith(f"/{field}"), f"{op.id}: and points to /{field}", where)


def queries(api, op):
    ids, body = op.sample
    api.refuse(op.id, ids, 400, "an unknown parameter", "?x_unknown", op=op, query={"x_unknown": 1})
    api.refuse(op.id, ids, 400, "a broken escape", op=op.__class__(op.method.lower(), op.path + "?%zz", op.spec))
    for p in op.parameters["query"]:
        schema = api.checker.resolve(p["schema"])
        if schema.get("type") in ("integer", "boolean") or "enum" in schema:
            api.refuse(op.id, ids, 400, f"?{p['name']}=x!", f"?{p['name']}", op=op, query={p["name"]: "x!"})
        if schema.get("minimum") is not None:
            api.refuse(op.id, ids, 400, f"?{p['name']} too small", f"?{p['name']}", op=op,
                       query={p["name"]: schema["minimum"] - 1})


def paths(api, op):
    ids, body = op.sample
    head = {"If-Match": "*"} if op.needs_match else {}
    for i, p in enumerate(op.parameters["path"]):
        schema = api.checker.resolve(p["schema"])
        wrong = list(ids)
        if schema.get("type") == "integer" or "enum" in schema:
            wrong[i] = "no-number"
            api.refuse(op.id, wrong, 400, f"{{{p['name']}}} = no-number", "{%s}" % p["name"], op=op, body=body,
                       headers=head)
        if "enum" in schema:
            continue
        wrong[i] = 4000000000 if schema.get("type") == "integer" else "nobody.knows.this"
        may_make = op.id in ("pool_put", "provider_put")  # PUT makes what is not there
        if not may_make:
            api.refuse(op.id, wrong, 403 if op.scope == "worker" else (404, 422) if op.method == "POST" else 404, f"an unknown {{{p['name']}}}",
                       op=op, body=body, headers=head)


def tokens(api, op, read_token):
    ids, body = op.sample
    head = {"If-Match": "*"} if op.needs_match else {}
    answer = api.refuse(op.id, ids, 401, "no token", op=op, body=body, headers=head, token=None)
    api.tap.ok(answer.headers.get("WWW-Authenticate", "").startswith("Bearer"), f"{op.id}: with a challenge")
    api.refuse(op.id, ids, 401, "a wrong token", op=op, body=body, headers=head, token="anl_wrong")
    if op.scope != "read":
        api.refuse(op.id, ids, 403, "a token of scope read", op=op, body=body, headers=head, token=read_token)


def revisions(api, op):
    ids, body = op.sample
    api.refuse(op.id, ids, 428, "no If-Match", op=op, body=body)
    api.refuse(op.id, ids, 400, "an If-Match without quotes", op=op, body=body, headers={"If-Match": "1"})


def all_of(api, op, read_token):
    """Every wrong variant of one operation."""
    if op.sample is None:
        return
    if op.body is not None:
        bodies(api, op)
    queries(api, op) if op.method == "GET" else None
    paths(api, op)
    if not op.open:
        tokens(api, op, read_token)
    if op.needs_match:
        revisions(api, op)


def methods(api):
    """What a path has not is 405 and says what it has."""
    for path, spec in api.document["paths"].items():
        target = path.replace("{kind}", "node").replace("{object}", "1").replace("{", "").replace("}", "")
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "BREW"):
            if method.lower() in spec:
                continue
            answer = api.raw(method, target)
            allow = {m.strip().lower() for m in answer.headers.get("Allow", "").split(",")}
            good = answer.status == 405 and set(spec) <= allow and answer.media == "application/problem+json"
            api.tap.ok(good, f"{method} {path} is 405 with Allow", f"{answer.status} {allow}")
        answer = api.raw("OPTIONS", target)
        api.tap.ok(answer.status == 204 and "OPTIONS" in answer.headers.get("Allow", ""), f"OPTIONS {path} is 204")
