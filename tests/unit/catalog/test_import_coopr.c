/* test_import_coopr.c - Coopr's entities become a catalog that loads, and all that is lost is told
 *
 * What was published is read from $ANNEAL_TEST_DATA/data/coopr, by default ../shared beside the
 * tree, and left out, saying so, where it is not there.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "import_job.h"

#include "catalog/kinds.h"

static int job_import(struct job *j)
{
    struct catalog_source source = files_source(&j->in);
    j->rc = catalog_import_coopr(&source, &j->out, &j->e);
    return job_load(j);
}

static void service(void)
{
    struct job j = {0};

    job_file(&j, "services/web.json",
             "{\"name\": \"Web\", \"description\": \"d\", \"icon\": \"x\",\n"
             " \"dependencies\": {\"provides\": [\"http\"], \"conflicts\": [\"nobody\", \"old\"],\n"
             "  \"install\": {\"requires\": [\"old\"], \"uses\": [\"gone\"]},\n"
             "  \"runtime\": {\"requires\": [\"http-db\"], \"uses\": []}},\n"
             " \"provisioner\": {\"actions\": {\n"
             "  \"install\": {\"type\": \"chef-solo\", \"fields\": {\"run_list\": \"r\"}},\n"
             "  \"start\": {\"type\": \"shell\", \"fields\": {\"script\": \"go\", \"args\": \"-v\","
             " \"mode\": 1}}}}}");
    job_file(&j, "services/old.json",
             "{\"name\": \"old\", \"dependson\": [\"http-db\"], \"provisioner\": {\"actions\":"
             " {\"start\": {\"type\": \"chef\", \"script\": \"r\", \"data\": \"{}\"}}}}");
    job_file(&j, "anything.json",
             "{\"name\": \"db\", \"dependencies\": {\"provides\": [\"http-db\"]},"
             " \"provisioner\": {\"actions\": {}}}");
    job_file(&j, "broken.json", "{\"name\": }");
    job_file(&j, "other.json", "{\"taskId\": 1}");
    job_file(&j, "services/z-again.json",
             "{\"name\": \"old\", \"provisioner\": {\"actions\": {}}}");
    ok(job_import(&j) == 0, "services are imported: %s", j.e.text);
    is_int(j.out->counts.roles, 3, "all that are one");
    is_text(made(&j, "coopr/roles/web.yaml"),
            "# Imported from services/web.json\n"
            "name: web\ndescription: d\njig: chef-solo\nflags:\n  - service\n"
            "provides:\n  - http\nconflicts:\n  - old\n"
            "requires:\n  install:\n    - old\n  run:\n    - http-db\n"
            "uses:\n  install:\n    - gone\n"
            "actions:\n  install:\n    - name: install-web\n      timeout: 30m\n      retries: 2\n"
            "      params:\n        action: install\n        fields:\n          run_list: r\n"
            "  start:\n    - name: start-web\n      timeout: 30m\n      retries: 2\n"
            "      type: shell\n      params:\n        script: go -v\n",
            "a service is a role with phases");
    ok(told(&j, "services/web.json:1: changed: service: Web is called web"), "a name is adapted");
    ok(told(&j, "macros that name it as Web are not adapted"), "which macros are not");
    ok(told(&j, "services/web.json:1: left out: web: icon"), "what is not known is told");
    ok(told(&j, "services/web.json:2: left out: web: conflicts with nobody"),
       "and who is not there");
    ok(told(&j, "services/web.json:3: fault: web: uses gone"), "or may be");
    ok(told(&j, "left out: web start: mode: the shell has no use for it"), "fields too");
    ok(told(&j, "changed: old: dependson is what it requires to run"), "flat dependencies");
    ok(told(&j, "broken.json: fault: left out, as it is no JSON"), "what is no JSON");
    ok(told(&j, "other.json: left out: this file"), "what is something else");
    ok(told(&j, "left out: there is a service of this name already"), "a second of the name");
    const struct catalog_role *old = catalog_role_get(j.cat, str_of("old"));
    ok(old && old->phased && old->n_depends == 1 && old->depends[0].kind == DEPEND_RUN,
       "an old service");
    has_text(made(&j, "coopr/roles/old.yaml"),
             "fields:\n          script: r\n          data: \"{}\"",
             "has its fields without the word");
    ok(catalog_role_get(j.cat, str_of("db"))->phased, "one without actions is a service too");
    ok(!catalog_jig_get(j.cat, str_of("chef"))->active &&
           catalog_jig_get(j.cat, str_of("shell"))->active,
       "what nothing of ours executes is off");
    job_done(&j);
}

static void cluster(void)
{
    struct job j = {0};
    SCOPED_ARENA(mem);
    const struct catalog_template *t = NULL;

    job_file(&j, "export.json",
             "{\"services\": [{\"name\": \"a\", \"provisioner\": {\"actions\": {\"start\":"
             " {\"type\": \"x\"}}}}],\n"
             "\"providers\": [{\"name\": \"p\", \"providertype\": \"cloud\", \"provisioner\":"
             " {\"secret\": \"s\", \"zone\": \"z\"}}],\n"
             "\"hardwaretypes\": [{\"name\": \"h\", \"providermap\": {\"p\": {\"flavor\": 6,"
             " \"cost\": \"0.60\", \"ram\": \"007.5\", \"disks\": \"d\"},\n"
             "  \"q\": {\"flavor\": \"x\"}}}, {\"name\": \"none\", \"providermap\": {\"p\":"
             " {\"flavour\": 1}}}],\n"
             "\"imagetypes\": [{\"name\": \"i\", \"providermap\": {\"p\": {\"image\": \"im\","
             " \"sshuser\": \"u\"}}}],\n"
             "\"partialtemplates\": [{\"name\": \"part\", \"immutable\": true, \"defaults\":"
             " {\"config\": {\"k\": 1}}, \"constraints\": {}}],\n"
             "\"clustertemplates\": [{\"name\": \"T\", \"includes\": [{\"name\": \"part\","
             " \"version\": 2}],\n"
             "  \"defaults\": {\"services\": [\"a\"], \"provider\": \"p\", \"hardwaretype\":"
             " \"h\", \"imagetype\": \"i\", \"dnsSuffix\": \"a_b\"},\n"
             "  \"compatibility\": {\"hardwaretypes\": [\"h\", \"gone\"]},\n"
             "  \"constraints\": {\"layout\": {\"mustcoexist\": [[\"a\", \"gone\"]],"
             " \"cantcoexist\": [[\"a\", \"gone\"]]},\n"
             "   \"services\": {\"a\": {\"quantities\": {\"max\": \"3\", \"stepSize\": 2}}},"
             " \"size\": {\"min\": \"2\"}},\n"
             "  \"administration\": {\"leaseduration\": {\"initial\": \"5400000\", \"max\":"
             " \"3d\", \"step\": \"x\"}},\n"
             "  \"links\": [{\"label\": \"l\", \"url\": \"%host.service.a%\"},"
             " {\"url\": \"%hots.x%\"}]}]}");
    job_file(
        &j, "plugins/cloud.json",
        "{\"name\": \"cloud\", \"classname\": \"C\", \"parameters\": {\"admin\": {\"fields\":"
        " {\"secret\": {\"type\": \"password\"}, \"zone\": {\"override\": true}},"
        " \"required\": [[\"secret\"], [\"zone\"]]},\n"
        " \"user\": {\"fields\": {\"key\": {\"label\": \"Key\"}}, \"required\": [[\"key\"]]}}}");
    job_file(&j, "plugins/shell_automator.json", "{\"automatortypes\": [\"shell\"]}");
    ok(job_import(&j) == 0, "an export is imported: %s", j.e.text);
    is_text(made(&j, "coopr/hardware/h.yaml"),
            "# Imported from export.json\nhardware: h\nproviders:\n  p:\n    flavor: \"6\"\n"
            "    cost: 0.6\n    ram: 7.5\n    disks: d\n",
            "numbers are numbers");
    ok(told(&j, "left out: h: q: there is no such provider"), "who is not there is told");
    ok(told(&j, "left out: none: a provider does not say its flavor"), "what has no name is told");
    has_text(made(&j, "coopr/images/i.yaml"), "image: im\n    user: u", "images");
    const struct catalog_provider *p = catalog_provider_get(j.cat, str_of("p"));
    ok(p && p->n_fields == 3 && p->n_required == 2 && p->required[0].n == 2,
       "a provider has the fields of its type");
    ok(provider_field_get(p, str_of("secret"))->sensitive, "a password is sensitive");
    ok(told(&j, "changed: p: secret is a secret"), "and told, as it is in a file");
    is_int(p->actions[PROVIDER_BOOTSTRAP].n_steps, 1, "what services need is bootstrapped");
    is_text(made(&j, "coopr/templates/t.yaml"),
            "# Imported from export.json\ntemplate: t\nincludes:\n  - part\n"
            "defaults:\n  services:\n    - a\n  provider: p\n  hardware: h\n  image: i\n"
            "compatibility:\n  hardware:\n    - h\n"
            "constraints:\n  together:\n    - - a\n  size:\n    min: 2\n  services:\n    a:\n"
            "      max: 3\n"
            "administration:\n  lease:\n    initial: 90m\n    max: 3d\n"
            "links:\n  - label: l\n    url: \"%host.service.a%\"\n"
            "  - label: \"%hots.x%\"\n    url: \"%hots.x%\"\n",
            "a template");
    ok(told(&j, "left out: t: a_b is no domain") && told(&j, "left out: t: version") &&
           told(&j, "left out: t: gone: there is no such hardware type") &&
           told(&j, "a set of services that are to be apart has too few") &&
           told(&j, "left out: t a: stepSize: it never had an effect") &&
           told(&j, "changed: t a: says no least number") &&
           told(&j, "left out: t: x is no time that a lease can have") &&
           told(&j, "fault: t: %hots.x% is no macro") &&
           told(&j, "left out: part: constraints: of a partial template it never counted"),
       "all that is lost is told");
    ok(catalog_template_resolve(j.cat, str_of("t"), &mem, &t, &j.e) == -ERR_REFUSED,
       "a template with a fault is kept, and cannot be used");
    has_text(j.text.data,
             "imported 2 templates, 1 service, 2 hardware types, 1 image and 1 provider",
             "what came over is counted");
    job_done(&j);
}

static void nothing(void)
{
    struct job j = {0};

    job_file(&j, "x.json", "[1]");
    is_int(job_import(&j), -ERR_INVALID, "nothing of Coopr is refused");
    has_text(j.e.hint, "it is no service", "with the first that was looked at");
    job_done(&j);
    is_int(job_import(&j), -ERR_INVALID, "no file at all, too");
    job_done(&j);
}

/* --- what was published --- */

struct published {
    const char *dirs[3];
    uint32_t templates, services, hardware, images, providers, broken; /* templates at fault */
};

static void published_import(const char *data, const struct published *p)
{
    struct job j = {0};
    uint32_t faults = 0, resolved = 0;

    for (size_t i = 0; i < 3 && p->dirs[i]; i++)
        if (!files_read(&j.in, data, p->dirs[i])) {
            skip(p->dirs[i]);
            job_done(&j);
            return;
        }
    const char *name = p->dirs[0];
    if (!ok(job_import(&j) == 0, "%s loads: %s", name, j.e.text)) {
        job_done(&j);
        return;
    }
    is_int(j.report.n_errors, 0, "%s: without error", name);
    is_int(j.cat->n_templates, p->templates, "%s: templates", name);
    is_int(catalog_roles_written(j.cat), p->services, "%s: services", name);
    is_int(j.cat->n_hardware, p->hardware, "%s: hardware types", name);
    is_int(j.cat->n_images, p->images, "%s: images", name);
    is_int(j.cat->n_providers, p->providers, "%s: providers", name);
    for (uint32_t i = 0; i < j.cat->n_roles; i++)
        faults += j.cat->roles[i].fault != NULL;
    is_int(faults, 0, "%s: every service can be used", name);
    for (uint32_t i = 0; i < j.cat->n_templates; i++) {
        SCOPED_ARENA(mem);
        const struct catalog_template *t = NULL;
        resolved += catalog_template_resolve(j.cat, j.cat->templates[i].kind.name, &mem, &t,
                                             &j.e) == 0;
    }
    is_int(resolved, p->templates - p->broken, "%s: templates that can be used", name);
    note("%s: %zu lines of what is not as it was", name, j.out->n_lines);
    job_done(&j);
}

static void published(void)
{
    static const struct published all[] = {
        {{"current"}, 15, 53, 5, 11, 8, 1},
        {{"current", "branches", "plugins"}, 17, 55, 5, 11, 8, 1},
        {{"old/0.9.6"}, 5, 14, 3, 2, 3, 0},
        {{"old/0.9.7"}, 3, 19, 3, 2, 3, 0},
        {{"old/0.9.8"}, 7, 25, 5, 2, 7, 0},
    };
    const char *data = getenv("ANNEAL_TEST_DATA"), *top = getenv("ANNEAL_TOP");
    SCOPED_BUF(dir);

    if (data)
        buf_printf(&dir, "%s/data/coopr", data);
    else
        buf_printf(&dir, "%s/../shared/data/coopr", top ? top : ".");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        published_import(dir.data, &all[i]);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        setenv("ANNEAL_TOP", argv[1], 0);
    service();
    cluster();
    nothing();
    published();
    return tap_done();
}
