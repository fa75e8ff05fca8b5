/* test_kinds.c - what clusters are made of: looked up, resolved, read back; fields of providers */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "catalog_files.h"

#include "base/json.h"
#include "base/text.h"
#include "catalog/kinds.h"

static const char catalog_text[] =
    "barclamp: x\n"
    "version: '3'\n"
    "roles:\n"
    "  - {name: web, jig: noop, demands: {ram: 0.5}, actions: {start: []}}\n"
    "  - {name: db, jig: noop, version: '9', requires: {run: [web]}, actions: {install: []}}\n"
    "providers:\n"
    "  - provider: acme\n"
    "    jig: noop\n"
    "    config: {account: me, empty: ''}\n"
    "    fields:\n"
    "      account: {by: admin}\n"
    "      region: {by: admin, override: true}\n"
    "      url: {by: admin, override: true, sensitive: true}\n"
    "      size: {default: 10}\n"
    "      key: {sensitive: true}\n"
    "      name: {}\n"
    "      empty: {by: admin}\n"
    "    required: [[account, key], [name, size, empty]]\n"
    "    actions: {create: [{name: make}], confirm: [{name: look}], "
    "delete: [{name: kill, repeat: safe}]}\n"
    "  - {provider: free}\n"
    "hardware: [{hardware: big, providers: {acme: {flavor: b, cost: 1, ram: 7.5, cpu: 3}}}]\n"
    "images: [{image: im, providers: {acme: {image: i}}}]\n"
    "templates:\n"
    "  - template: t\n"
    "    defaults: {services: [web, {name: db, config: {p: 1}}], provider: acme, config: {c: "
    "[1]}}\n"
    "    constraints: {services: {web: {max: 0}, db: {ratio: {of: web, max: 1/3}}}}\n"
    "  - {template: bare, extends: t}\n";

static struct catalog *load(const char *text)
{
    struct catalog_file file = {str_of("barclamp.yaml"), str_of(text)};
    struct catalog_source source = {&file, 1};
    struct catalog_report report = {0};
    struct catalog *c = NULL;
    struct err e;

    if (catalog_load(&source, NULL, 1, &report, &c, &e) < 0)
        note("%s: %s", e.at, e.text);
    catalog_report_done(&report);
    return c;
}

static const struct value *parsed(struct arena *a, const char *json)
{
    struct value *v = NULL;
    return json_parse(a, json, strlen(json), NULL, &v, NULL) < 0 ? NULL : v;
}

static void lookups(const struct catalog *c)
{
    const struct catalog_hardware *h = catalog_hardware_get(c, str_of("big"));
    const struct catalog_provider *p = catalog_provider_get(c, str_of("acme"));
    const struct catalog_comparator *k = catalog_comparator_get(c, str_of("fewest-nodes"));
    const struct catalog_role *db = catalog_role_get(c, str_of("db"));

    ok(h && !catalog_hardware_get(c, str_of("bigger")), "hardware by name");
    ok(catalog_image_get(c, str_of("im")) && !catalog_image_get(c, str_of("big")),
       "images by name, which are names of their own");
    const struct catalog_offer *o = catalog_offer_get(h->offers, h->n_offers, str_of("acme"));
    ok(o && o->cost == 1000000 && o->has_cost, "a cost in millionths");
    is_int(catalog_amount_get(o->capacities, o->n_capacities, str_of("ram")), 7500, "thousandths");
    is_int(catalog_amount_get(o->capacities, o->n_capacities, str_of("disk")), 0, "none is 0");
    ok(!catalog_offer_get(h->offers, h->n_offers, str_of("free")), "not every provider has it");
    is_int(p->actions[PROVIDER_CREATE].steps[0].repeat, 1, "what creates has a token");
    is_int(p->actions[PROVIDER_CONFIRM].steps[0].repeat, 1, "what looks at it has it, too");
    is_int(p->actions[PROVIDER_DELETE].steps[0].repeat, 0, "unless a task says otherwise");
    is_int(p->actions[PROVIDER_BOOTSTRAP].n_steps, 0, "an action that is not there is empty");
    is_int(c->n_comparators, 3, "comparators that are built in");
    ok(k && k->n_keys == 3 && k->keys[2].more, "and what they compare");
    ok(catalog_comparator_get(c, str_of("coopr"))->n_keys == 0, "the original order has no keys");
    is_text(db->version.s, "9", "a version of its own");
    is_text(catalog_role_get(c, str_of("web"))->version.s, "3", "or that of the barclamp");
    ok(db->phased && db->n_depends == 1 && db->depends[0].required && db->n_requires == 0,
       "what it depends on is no need");
    is_int(catalog_role_get(c, str_of("web"))->demands[0].milli, 500, "what it demands");
    is_text(provider_action_name(PROVIDER_BOOTSTRAP), "bootstrap", "actions have names");
    is_text(callback_name(CALLBACK_BIT_FAILURE), "failure", "callbacks too");
    is_text(depend_name(DEPEND_RUN), "run", "and kinds of dependencies");
}

static void templates(const struct catalog *c)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(text);
    const struct catalog_template *t = NULL, *back = NULL;
    const struct template_rule *r;
    struct err e;

    ok(catalog_template_resolve(c, str_of("bare"), &mem, &t, &e) == 0, "a template is resolved");
    ok(t->resolved && t->services.n == 2 && str_is(t->provider, "acme"), "with what it extends");
    r = template_rule_get(t, str_of("web"));
    ok(r && r->min == 0 && r->max == 0, "at most none is none");
    r = template_rule_get(t, str_of("db"));
    ok(r && r->min == 1 && r->max == CATALOG_NONE && !r->ratio_min.den && r->ratio_max.den == 3,
       "a rule that says nothing of numbers is one or more");
    ok(!template_rule_get(t, str_of("other")), "no rule of others");
    is_int(t->min_nodes, 1, "at least a node");
    json_write(&text, t->config, 0);
    is_text(text.data, "{\"db\":{\"p\":1},\"c\":[1]}", "config of services is under their names");

    SCOPED_ARENA(later);
    buf_clear(&text);
    json_write(&text, t->body, 0);
    const struct value *kept = parsed(&later, text.data);
    ok(catalog_template_read(&later, kept, &back, &e) == 0, "what is kept is read back");
    ok(back->resolved && value_equal(back->body, t->body) && back->n_rules == t->n_rules &&
           str_eq(back->rules[1].service, t->rules[1].service),
       "and is the same");
    ok(catalog_template_read(&later, parsed(&later, "{\"template\":\"x\",\"defaults\":3}"), &back,
                             &e) < 0,
       "what is no template is refused");
    has_text(e.text, "\"defaults\"", "with what is wrong");
    ok(catalog_template_read(&later, parsed(&later, "[]"), &back, &e) < 0, "a list too");
    is_int(catalog_template_resolve(c, str_of("bar"), &mem, &t, &e), -ERR_UNKNOWN_NAME,
           "a template that is not there");
    has_text(e.hint, "bare", "is told with the nearest");
}

static void fields(const struct catalog *c)
{
    SCOPED_ARENA(mem);
    const struct catalog_provider *p = catalog_provider_get(c, str_of("acme"));
    const struct value *plain, *secret, *dropped;
    struct err e;

    provider_fields_split(&mem, p,
                          parsed(&mem, "{\"region\":\"r\",\"url\":\"u\",\"account\":\"a\","
                                       "\"key\":\"k\",\"bogus\":1}"),
                          &plain, &secret, &dropped);
    ok(plain->n == 1 && value_get(plain, "region"), "what may be overridden is kept");
    ok(secret->n == 2 && value_get(secret, "url") && value_get(secret, "key"),
       "what is sensitive is kept apart");
    ok(dropped->n == 2, "an admin's own and what is not known do not count, and are told");
    provider_fields_split(&mem, p, NULL, &plain, &secret, &dropped);
    ok(!plain->n && !secret->n && !dropped->n, "nothing given is nothing");
    ok(provider_fields_check(p, parsed(&mem, "{\"key\":\"k\"}"), &e) == 0,
       "the config has what is left");
    is_int(provider_fields_check(p, parsed(&mem, "{\"name\":\"n\",\"account\":\"x\"}"), &e),
           -ERR_INVALID, "neither set is whole");
    is_text(e.text, "provider \"acme\" needs key, or empty", "and both say what is missing");
    ok(provider_fields_check(catalog_provider_get(c, str_of("free")), NULL, &e) == 0,
       "a provider that requires nothing");
}

static void domains(void)
{
    ok(text_is_dns_suffix(str_of("example.com")) && text_is_dns_suffix(str_of("A-1.b")), "domains");
    static const char *const bad[] = {"",   ".",  "a.",   ".a",  "a..b",
                                      "-a", "a-", "a.-b", "a_b", "a b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ok(!text_is_dns_suffix(str_of(bad[i])), "\"%s\" is none", bad[i]);
}

static void limits(void)
{
    SCOPED_BUF(text);
    struct catalog_report report = {0};
    struct catalog *c = NULL;
    struct err e;

    buf_puts(&text, "barclamp: x\ntemplates:\n  - {template: t0}\n");
    for (int i = 1; i < CATALOG_MAX_CHAIN; i++)
        buf_printf(&text, "  - {template: t%d, extends: t%d}\n", i, i - 1);
    c = load(text.data);
    ok(c != NULL, "as many over each other as there may be");
    catalog_unref(c);
    buf_printf(&text, "  - {template: last, extends: t%d}\n", CATALOG_MAX_CHAIN - 1);
    struct catalog_file file = {str_of("barclamp.yaml"), buf_str(&text)};
    struct catalog_source source = {&file, 1};
    is_int(catalog_load(&source, NULL, 1, &report, &c, &e), -ERR_LIMIT, "one more is refused");
    catalog_report_done(&report);

    buf_clear(&text);
    buf_puts(&text, "barclamp: x\ncomparators:\n");
    for (int i = 0; i <= CATALOG_MAX_KINDS; i++)
        buf_printf(&text, "  - {comparator: c%d}\n", i);
    file.text = buf_str(&text);
    is_int(catalog_load(&source, NULL, 1, &report, &c, &e), -ERR_LIMIT, "as many of a kind");
    has_text(e.text, "more than 20000 comparators", "are refused");
    catalog_report_done(&report);

    buf_clear(&text);
    buf_printf(&text, "barclamp: x\nproviders: [{provider: '%056d'}]\n", 1);
    c = load(text.data);
    ok(c != NULL, "the longest name of a provider");
    catalog_unref(c);
    buf_clear(&text);
    buf_printf(&text, "barclamp: x\nproviders: [{provider: '%057d'}]\n", 1);
    file.text = buf_str(&text);
    is_int(catalog_load(&source, NULL, 1, &report, &c, &e), -ERR_INVALID, "and one too long");
    has_text(e.text, "at most 56 bytes", "is told");
    catalog_report_done(&report);
}

int main(void)
{
    struct catalog *c = load(catalog_text);

    if (ok(c != NULL, "the catalog loads")) {
        lookups(c);
        templates(c);
        fields(c);
    }
    catalog_unref(c);
    domains();
    limits();
    return tap_done();
}
