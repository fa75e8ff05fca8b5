"""schema_check.py - the part of JSON Schema that the published API uses, checked independently of the server

Returns a list of complaints, each "pointer: what".  Written apart from src/model/schema.c on purpose: the same
mistake twice would go unnoticed.
"""
# SPDX-License-Identifier: Apache-2.0
import re

TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
KNOWN = {"$ref", "type", "enum", "const", "properties", "required", "additionalProperties", "items", "minimum",
         "maximum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "anyOf", "oneOf", "format",
         "description"}
TYPES = {
    "null": lambda v: v is None,
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "string": lambda v: isinstance(v, str),
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}


class Checker:
    def __init__(self, document):
        self.components = document["components"]["schemas"]

    def resolve(self, schema):
        """The schema with its $ref followed; keywords beside the $ref stay."""
        while "$ref" in schema:
            name = schema["$ref"].removeprefix("#/components/schemas/")
            rest = {k: v for k, v in schema.items() if k != "$ref"}
            schema = {**self.components[name], **rest}
        return schema

    def check(self, schema, v, at="", strict=False):
        """strict: a field that the schema does not name is a complaint, though a client must bear it."""
        schema = self.resolve(schema)
        bad = [f"{at}: the schema has unknown keyword {k}" for k in schema if k not in KNOWN]
        if "anyOf" in schema or "oneOf" in schema:
            bad += self.alternatives(schema, v, at, strict)
        types = schema.get("type")
        if types is not None:
            types = types if isinstance(types, list) else [types]
            if not any(TYPES[t](v) for t in types):
                return bad + [f"{at}: expected {' or '.join(types)}, got {v!r:.60}"]
        if "enum" in schema and v not in schema["enum"]:
            bad.append(f"{at}: {v!r:.60} is not one of {schema['enum']}")
        if "const" in schema and v != schema["const"]:
            bad.append(f"{at}: {v!r:.60} is not {schema['const']!r}")
        if TYPES["number"](v):
            bad += self.numbers(schema, v, at)
        elif isinstance(v, str):
            bad += self.texts(schema, v, at)
        elif isinstance(v, list):
            bad += self.lists(schema, v, at, strict)
        elif isinstance(v, dict):
            bad += self.maps(schema, v, at, strict)
        return bad

    def alternatives(self, schema, v, at, strict):
        forms = schema.get("anyOf", []) + schema.get("oneOf", [])
        tries = [self.check(form, v, at, strict) for form in forms]
        fits = sum(not t for t in tries)
        if "oneOf" in schema and fits > 1:
            return [f"{at}: fits {fits} forms of oneOf"]
        return [] if fits else min(tries, key=len)

    @staticmethod
    def numbers(schema, v, at):
        bad = []
        if v < schema.get("minimum", v):
            bad.append(f"{at}: {v} is below {schema['minimum']}")
        if v > schema.get("maximum", v):
            bad.append(f"{at}: {v} is above {schema['maximum']}")
        return bad

    @staticmethod
    def texts(schema, v, at):
        bad = []
        if not schema.get("minLength", 0) <= len(v) <= schema.get("maxLength", len(v)):
            bad.append(f"{at}: {len(v)} characters")
        if schema.get("format") == "date-time" and not TIME.match(v):
            bad.append(f"{at}: {v!r} is not a time in UTC with milliseconds")
        return bad

    def lists(self, schema, v, at, strict):
        bad = []
        if not schema.get("minItems", 0) <= len(v) <= schema.get("maxItems", len(v)):
            bad.append(f"{at}: {len(v)} items")
        if schema.get("uniqueItems") and len({repr(i) for i in v}) < len(v):
            bad.append(f"{at}: items are not unique")
        for i, item in enumerate(v):
            bad += self.check(schema.get("items", {}), item, f"{at}/{i}", strict)
        return bad

    def maps(self, schema, v, at, strict):
        properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        bad = [f"{at}/{k}: missing" for k in schema.get("required", []) if k not in v]
        for k, item in v.items():
            if k in properties:
                bad += self.check(properties[k], item, f"{at}/{k}", strict)
            elif isinstance(more, dict):
                bad += self.check(more, item, f"{at}/{k}", strict)
            elif not more or (strict and properties):
                bad.append(f"{at}/{k}: is not in the published schema")
        return bad
