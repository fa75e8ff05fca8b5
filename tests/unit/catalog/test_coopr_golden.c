/* test_coopr_golden.c - published facts about Coopr's templates, macros, leases, names and fields
 *
 * Cases are read from $ANNEAL_TEST_DATA/golden/coopr, by default ../shared beside the tree, and
 * left out, saying so, where they are not there.  Templates and descriptors go the way of a user:
 * they are imported, loaded and resolved.  Checks of other operations are run by the tests of those
 * who solve and plan.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "catalog_files.h"

#include "base/json.h"
#include "base/text.h"
#include "catalog/import.h"
#include "catalog/kinds.h"
#include "template/macro.h"

struct tally {
    uint32_t ran, passed, excepted, elsewhere;
};

static bool is_error(const struct value *expect)
{
    return value_is(expect, VALUE_MAP) && value_get(expect, "error");
}

/* --- macros --- */

struct scene { /* a cluster as cases describe one */
    struct macro_view view;
    uint32_t self;
};

static void scene_read(struct arena *a, const struct value *in, struct scene *s)
{
    const struct value *list = value_get(in, "nodes");
    struct macro_node *nodes = arena_new(a, struct macro_node, list->n);
    struct str self = value_as_str(value_get(in, "self"));

    *s = (struct scene){.self = MACRO_NO_NODE};
    for (uint32_t i = 0; i < list->n; i++) {
        const struct value *v = &list->items[i], *ips = value_get(v, "ips");
        const struct value *services = value_get(v, "services");
        struct macro_address *addresses = arena_new(a, struct macro_address, ips ? ips->n : 0);
        struct str *names = arena_new(a, struct str, services->n);
        for (uint32_t k = 0; ips && k < ips->n; k++)
            addresses[k] = (struct macro_address){{ips->members[k].key, ips->members[k].key_n},
                                                  value_as_str(&ips->members[k].v)};
        for (uint32_t k = 0; k < services->n; k++)
            names[k] = value_as_str(&services->items[k]);
        nodes[i] = (struct macro_node){value_as_str(value_get(v, "id")),
                                       (uint32_t)value_as_int(value_get(v, "num"), 0),
                                       value_as_str(value_get(v, "host")),
                                       addresses,
                                       ips ? ips->n : 0,
                                       names,
                                       services->n};
        if (str_eq(nodes[i].name, self))
            s->self = i;
    }
    s->view = (struct macro_view){value_as_str(value_get(in, "owner")), nodes, list->n};
}

/* What a text becomes; NULL if it is refused. */
static const char *expanded(struct arena *a, const struct value *in)
{
    struct scene s;
    struct err e;
    SCOPED_BUF(out);

    scene_read(a, in, &s);
    struct macro_cluster *c = macro_cluster_new(&s.view);
    const struct macro_text *t = macro_text_compile(a, value_as_str(value_get(in, "text")), &e);
    int rc = t ? macro_text_expand(t, c, s.self, &out, &e) : -1;
    macro_cluster_free(c);
    return rc < 0 ? NULL : arena_strndup(a, buf_str(&out).s, out.len);
}

static bool check_macro_expand(struct arena *a, const struct value *in, const struct value *expect)
{
    const char *got = expanded(a, in);
    if (is_error(expect))
        return !got;
    return got && str_is(value_as_str(expect), got);
}

static bool check_macro_json(struct arena *a, const struct value *in, const struct value *expect)
{
    const struct value *path = value_get(in, "path"), *v = value_get(in, "json"), *want = expect;
    struct scene s;
    const struct value *got = NULL;
    struct err e;

    for (uint32_t i = 0; i < path->n; i++) {
        v = value_get_str(v, value_as_str(&path->items[i]));
        want = value_get_str(want, value_as_str(&path->items[i]));
    }
    SCOPED_BUF(before);
    SCOPED_BUF(after);
    json_write(&before, v, 0);
    scene_read(a, in, &s);
    struct macro_cluster *c = macro_cluster_new(&s.view);
    bool good = macro_value_expand(a, v, c, s.self, &got, &e) == 0 && value_equal(got, want);
    json_write(&after, v, 0);
    macro_cluster_free(c);
    return good && !strcmp(before.data, after.data);
}

static bool check_macro_parse(struct arena *a, const struct value *in, const struct value *expect)
{
    struct err e;
    (void)a;
    return (macro_check(value_as_str(value_get(in, "macro")), &e) < 0) == is_error(expect);
}

/* --- small facts --- */

static bool check_lease_parse(struct arena *a, const struct value *in, const struct value *expect)
{
    uint64_t ms = 0;
    int rc = catalog_import_lease_ms(value_as_str(value_get(in, "text")), &ms, NULL);
    (void)a;
    return is_error(expect) ? rc < 0 : rc == 0 && (int64_t)ms == value_as_int(expect, -1);
}

static bool check_dns_suffix(struct arena *a, const struct value *in, const struct value *expect)
{
    (void)a;
    return text_is_dns_suffix(value_as_str(value_get(in, "suffix"))) ==
           value_as_bool(expect, false);
}

/* --- through an import --- */

struct imported {
    struct files in;
    struct catalog_import *out;
    struct catalog *cat;
    struct catalog_report report;
    struct err e;
};

static void source_add(struct imported *i, const char *path, const struct value *v)
{
    SCOPED_BUF(text);
    json_write(&text, v, 2);
    files_add(&i->in, path, text.data, text.len);
}

static bool source_load(struct imported *i)
{
    struct catalog_source source = files_source(&i->in);

    if (catalog_import_coopr(&source, &i->out, &i->e) < 0)
        return false;
    source = (struct catalog_source){i->out->files, i->out->n_files};
    return catalog_load(&source, NULL, 1, &i->report, &i->cat, &i->e) == 0;
}

static void imported_done(struct imported *i)
{
    catalog_unref(i->cat);
    catalog_import_free(i->out);
    catalog_report_done(&i->report);
    files_done(&i->in);
}

static bool check_provider_group(struct arena *a, const struct value *in,
                                 const struct value *expect)
{
    struct imported i = {0};
    struct value *provider = value_map(a);
    const struct value *plain, *sensitive, *dropped;
    bool good = false;

    value_put_text(a, provider, "name", "one");
    value_set(a, provider, "providertype", value_at(in, "type.name"));
    source_add(&i, "providers/one.json", provider);
    source_add(&i, "plugins/type.json", value_get(in, "type"));
    if (source_load(&i)) {
        provider_fields_split(a, catalog_provider_get(i.cat, str_of("one")),
                              value_get(in, "fields"), &plain, &sensitive, &dropped);
        good = value_equal(plain, value_get(expect, "nonsensitive")) &&
               value_equal(sensitive, value_get(expect, "sensitive"));
    }
    imported_done(&i);
    return good;
}

/* Entities that templates name, so that they are there. */
static void stubs_add(struct imported *i, struct arena *a, const char *folder,
                      const struct strmap *names)
{
    for (size_t k = 0; k < names->n; k++) {
        const char *name = names->at[k].key;
        struct value *v = value_map(a), *actions = value_map(a), *inner = value_map(a);
        value_put_text(a, v, "name", name);
        if (!strcmp(folder, "services")) {
            value_set(a, inner, "actions", actions);
            value_set(a, v, "provisioner", inner);
        } else if (!strcmp(folder, "providers")) {
            value_put_text(a, v, "providertype", "cloud");
        }
        source_add(i, arena_printf(a, "%s/%s.json", folder, name), v);
    }
}

static void names_gather(struct strmap *names, const struct value *v)
{
    if (value_is(v, VALUE_STRING) && v->n)
        strmap_put(names, value_as_str(v), 0);
    else if (value_is(v, VALUE_MAP) && value_get(v, "name"))
        names_gather(names, value_get(v, "name"));
    for (uint32_t i = 0; value_is(v, VALUE_LIST) && i < v->n; i++)
        names_gather(names, &v->items[i]); /* two levels at most: cases are ours */
}

static void chain_add(struct imported *i, struct arena *a, const struct value *chain)
{
    struct strmap services = {0}, hardware = {0}, images = {0}, providers = {0};

    for (uint32_t k = 0; k < chain->n; k++) {
        const struct value *body = value_get(&chain->items[k], "body");
        bool partial = str_is(value_as_str(value_get(&chain->items[k], "kind")), "partial");
        const struct value *rules = value_at(body, "constraints.services");
        source_add(i,
                   arena_printf(a, "%stemplates/%s.json", partial ? "partial" : "cluster",
                                value_as_text(value_get(body, "name"), "")),
                   body);
        names_gather(&services, value_at(body, "defaults.services"));
        names_gather(&services, value_at(body, "compatibility.services"));
        names_gather(&services, value_at(body, "constraints.layout.mustcoexist"));
        names_gather(&services, value_at(body, "constraints.layout.cantcoexist"));
        for (uint32_t m = 0; rules && m < rules->n; m++)
            strmap_put(&services, str_of(rules->members[m].key), 0);
        names_gather(&hardware, value_at(body, "defaults.hardwaretype"));
        names_gather(&hardware, value_at(body, "compatibility.hardwaretypes"));
        names_gather(&images, value_at(body, "defaults.imagetype"));
        names_gather(&images, value_at(body, "compatibility.imagetypes"));
        names_gather(&providers, value_at(body, "defaults.provider"));
    }
    /* Names of ours are lower case; what was meant is compared without regard to that. */
    stubs_add(i, a, "services", &services);
    stubs_add(i, a, "hardwaretypes", &hardware);
    stubs_add(i, a, "imagetypes", &images);
    stubs_add(i, a, "providers", &providers);
    strmap_done(&services);
    strmap_done(&hardware);
    strmap_done(&images);
    strmap_done(&providers);
}

static bool same_name(struct str ours, struct str theirs)
{
    return ours.n == theirs.n && !strncasecmp(ours.s, theirs.s, ours.n);
}

static bool same_names(struct catalog_names ours, const struct value *theirs)
{
    if (ours.n != theirs->n)
        return false;
    for (uint32_t i = 0; i < theirs->n; i++) {
        bool found = false;
        for (uint32_t k = 0; k < ours.n; k++)
            found |= same_name(ours.at[k], value_as_str(&theirs->items[i]));
        if (!found)
            return false;
    }
    return true;
}

static bool same_rules(const struct catalog_template *t, const struct value *rules)
{
    bool good = t->n_rules == rules->n;

    for (uint32_t i = 0; i < rules->n; i++) {
        const struct template_rule *r = template_rule_get(t, str_of(rules->members[i].key));
        const struct value *want = &rules->members[i].v;
        good &= r && r->min == (uint32_t)want->items[0].i && r->max == (uint32_t)want->items[1].i;
    }
    return good;
}

/* One field of the summary that a case expects; false if we do not know what it is. */
static bool pick_same(const struct catalog_template *t, const char *key, const struct value *want)
{
    struct str text = value_as_str(want);

    if (!strcmp(key, "name"))
        return same_name(t->kind.name, text);
    if (!strcmp(key, "services_set"))
        return same_names(t->services, want);
    if (!strcmp(key, "config"))
        return value_equal(t->config, want);
    if (!strcmp(key, "provider"))
        return same_name(t->provider, text);
    if (!strcmp(key, "hardwaretype"))
        return same_name(t->hardware, text);
    if (!strcmp(key, "imagetype"))
        return same_name(t->image, text);
    if (!strcmp(key, "dnsSuffix"))
        return str_eq(t->domain, text);
    if (!strcmp(key, "must"))
        return t->n_together == (uint32_t)want->i;
    if (!strcmp(key, "cant"))
        return t->n_apart == (uint32_t)want->i;
    if (!strcmp(key, "service_rules"))
        return same_rules(t, want);
    if (!strcmp(key, "lease_initial"))
        return (int64_t)t->lease_initial_ms == want->i;
    if (!strcmp(key, "lease_step"))
        return (int64_t)t->lease_step_ms == want->i;
    if (!strcmp(key, "compat_hw"))
        return same_names(t->may_hardware, want);
    if (!strcmp(key, "compat_img"))
        return same_names(t->may_images, want);
    if (!strcmp(key, "compat_services"))
        return same_names(t->may_services, want);
    note("unknown field %s of a case", key);
    return false;
}

static bool check_template_merge(struct arena *a, const struct value *in,
                                 const struct value *expect)
{
    const struct value *chain = value_get(in, "chain");
    const struct value *leaf = value_get(&chain->items[chain->n - 1], "body");
    const struct value *pick = value_get(expect, "pick");
    const struct catalog_template *t = NULL;
    struct imported i = {0};

    chain_add(&i, a, chain);
    bool good = source_load(&i) &&
                catalog_template_resolve(i.cat, value_as_str(value_get(leaf, "name")), a, &t,
                                         &i.e) == 0;
    if (!good && !is_error(expect))
        note("%s: %s", i.e.at, i.e.text);
    if (is_error(expect)) {
        good = !good;
    } else if (good) {
        pick = pick ? pick : value_get(expect, "pickmin");
        for (uint32_t k = 0; k < pick->n; k++)
            if (!pick_same(t, pick->members[k].key, &pick->members[k].v)) {
                note("%s differs", pick->members[k].key);
                good = false;
            }
    }
    imported_done(&i);
    return good;
}

/* --- leases, told as facts: one asked after the other --- */

/* What is said of a cluster in a state that has no lease to change is the server's: it refuses any
 * change of it. */
static void lease_facts(const struct value *top, struct tally *t)
{
    const struct value *facts = value_get(top, "facts");
    for (uint32_t i = 0; i < facts->n; i++) {
        const struct value *expect = value_get(&facts->items[i], "expect");
        const char *given = value_as_text(value_get(&facts->items[i], "given"), "");
        unsigned long began, ends, until, step = 0, most = 0;
        const char *at = strstr(given, "created");
        struct catalog_template template = {.kind.name = str_of("golden")};
        if (!at || sscanf(at, "created %lu, expires %lu, step %lu, max %lu", &began, &ends, &step,
                          &most) < 2)
            continue;
        template.lease_step_ms = step;
        template.lease_max_ms = most;
        if (!value_is(expect, VALUE_LIST)) {
            at = strstr(given, "ask ");
            bool good = at && sscanf(at, "ask %lu", &until) == 1 &&
                        template_lease_check(&template, began, ends, until, NULL) >= 0;
            t->ran++;
            t->passed += good;
            ok(good, "lease-prolong/%u", i);
            continue;
        }
        for (uint32_t k = 0; k < expect->n; k++) {
            const char *asked = value_as_text(&expect->items[k].items[0], "");
            const char *answer = value_as_text(&expect->items[k].items[1], "");
            if (sscanf(asked, "%lu", &until) != 1 ||
                (strstr(asked, "while") && strncmp(answer, "ok", 2) != 0)) {
                t->elsewhere++;
                continue;
            }
            int rc = template_lease_check(&template, began, ends, until, NULL);
            bool good = (rc >= 0) == !strncmp(answer, "ok", 2);
            t->ran++;
            t->passed += good;
            ok(good, "lease-prolong/%u: %s is %s", i, asked, answer);
            if (rc >= 0)
                ends = until;
        }
    }
}

/* --- all of them --- */

static const struct {
    const char *op;
    bool (*check)(struct arena *a, const struct value *in, const struct value *expect);
} ops[] = {
    {"macro_expand", check_macro_expand},     {"macro_json", check_macro_json},
    {"macro_parse", check_macro_parse},       {"lease_parse", check_lease_parse},
    {"dns_suffix", check_dns_suffix},         {"provider_group", check_provider_group},
    {"template_merge", check_template_merge},
};

/* A case about a defect has one answer or several that are right. */
static bool check_any(bool (*check)(struct arena *a, const struct value *in,
                                    const struct value *expect),
                      struct arena *a, const struct value *one, const struct value *correct)
{
    const struct value *any = value_get(correct, "any_of");
    bool good = false;

    if (value_get(one, "expect"))
        return check(a, value_get(one, "input"), value_get(one, "expect"));
    for (uint32_t i = 0; any && i < any->n; i++)
        good |= check(a, value_get(one, "input"), &any->items[i]);
    return good || (!any && correct && check(a, value_get(one, "input"), correct));
}

static void case_run(const struct value *top, struct arena *a, struct tally *t)
{
    const struct value *checks = value_get(top, "checks");

    if (str_is(value_as_str(value_get(top, "id")), "lease-prolong"))
        lease_facts(top, t);
    for (uint32_t i = 0; checks && i < checks->n; i++) {
        const struct value *one = &checks->items[i];
        struct str op = value_as_str(value_get(one, "op"));
        size_t k = 0;
        while (k < sizeof ops / sizeof *ops && !str_is(op, ops[k].op))
            k++;
        if (k == sizeof ops / sizeof *ops) {
            t->elsewhere++;
            continue;
        }
        bool good = check_any(ops[k].check, a, one, value_get(top, "correct"));
        t->ran++;
        t->passed += good;
        ok(good, "%s/%u %s", value_as_text(value_get(top, "id"), "?"), i, ops[k].op);
    }
}

int main(int argc, char **argv)
{
    struct files files = {0};
    struct tally t = {0};
    SCOPED_BUF(dir);
    const char *data = getenv("ANNEAL_TEST_DATA");

    if (data)
        buf_printf(&dir, "%s/golden/coopr", data);
    else
        buf_printf(&dir, "%s/../shared/golden/coopr", argc > 1 ? argv[1] : ".");
    if (!files_read(&files, dir.data, "")) {
        skip("no cases of Coopr");
        files_done(&files);
        return tap_done();
    }
    for (size_t i = 0; i < files.at.n; i++) {
        SCOPED_ARENA(mem);
        const struct catalog_file *f = &files.at.at[i];
        struct value *top = NULL;
        if (f->path.n > 5 && !strcmp(f->path.s + f->path.n - 5, ".json") &&
            json_parse(&mem, f->text.s, f->text.n, NULL, &top, NULL) == 0)
            case_run(top, &mem, &t);
    }
    ok(t.ran >= 60, "the cases are there: %u checks", t.ran);
    note("coopr: %u checks run, %u passed, %u excepted, 0 skipped, %u run elsewhere", t.ran,
         t.passed, t.excepted, t.elsewhere);
    files_done(&files);
    return tap_done();
}
