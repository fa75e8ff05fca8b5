/* test_crowbar.c - barclamps that ran clusters for years, imported and bound
 *
 * The facts are named G1 to G12 as the study of the original lists them; numbers of noderoles and
 * edges were computed from its source with another program.  Its files are not part of this tree:
 * they are read from $ANNEAL_TEST_DATA/data/crowbar, by default ../shared beside the tree, and
 * without them the tests that need them are counted as skipped.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "catalog/catalog_files.h"
#include "catalog/import.h"
#include "fake_world.h"

/* Jigs that nothing of ours executes; here they count as if something did. */
static const struct import_map maps[] = {
    {{"chef", 4}, {"shell", 5}},
    {{"chef-solo", 9}, {"shell", 5}},
    {{"puppet-sa", 9}, {"shell", 5}},
    {{"role-provided", 13}, {"noop", 4}},
};

enum { SYSTEM = 1, KID, SIBLING };

/* --- a world to bind in --- */

struct scene {
    struct fake_world w;
    const struct catalog *cat;
    uint32_t last; /* noderoles of the last plan */
};

static void scene_init(struct scene *s, const struct catalog *cat)
{
    s->cat = cat;
    fake_init(&s->w, cat, 4);
    vec_push(&s->w.deployments, ((struct fake_deployment){"kid", SYSTEM}));
    vec_push(&s->w.deployments, ((struct fake_deployment){"sibling", SYSTEM}));
}

static int scene_bind(struct scene *s, const char *role, uint32_t node, uint32_t deployment,
                      struct err *e)
{
    struct bind_item item = {str_of(role), node, NULL};
    struct bind_request req = {.deployment = deployment, .items = &item, .n_items = 1};
    SCOPED(plan) *p = NULL;

    err_clear(e);
    int r = planner_bind(s->cat, &s->w.face, &req, &p, NULL, e);
    if (r < 0)
        return r;
    s->last = p->n_noderoles;
    fake_apply(&s->w, p);
    fake_raise(&s->w);
    return 0;
}

static uint32_t edges(const struct scene *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->w.noderoles.n; i++)
        n += s->w.noderoles.at[i].parents.n;
    return (uint32_t)n;
}

static uint32_t top_cohort(const struct scene *s)
{
    uint32_t top = 0;
    for (size_t i = 0; i < s->w.noderoles.n; i++)
        if (s->w.noderoles.at[i].cohort > top)
            top = s->w.noderoles.at[i].cohort;
    return top;
}

static const struct fake_noderole *find(const struct scene *s, const char *role, uint32_t node)
{
    for (size_t i = 0; i < s->w.noderoles.n; i++)
        if (s->w.noderoles.at[i].node == node && !strcmp(s->w.noderoles.at[i].role, role))
            return &s->w.noderoles.at[i];
    return NULL;
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "a@n1 b@n2 ..." of the parents of a noderole, by name. */
static const char *parents(struct scene *s, const char *role, uint32_t node)
{
    const struct fake_noderole *nr = find(s, role, node);
    const char *names[64];
    struct buf b = {0};
    size_t n = nr ? nr->parents.n : 0;

    for (size_t i = 0; i < n && i < 64; i++) {
        const struct fake_noderole *p = &s->w.noderoles.at[nr->parents.at[i] - 1];
        names[i] = arena_printf(&s->w.mem, "%s@n%u", p->role, p->node);
    }
    qsort(names, n, sizeof *names, compare_text);
    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "%s%s", i ? " " : "", names[i]);
    const char *text = arena_strndup(&s->w.mem, buf_str(&b).s, b.len);
    buf_done(&b);
    return nr ? text : "(not there)";
}

static void counts(struct scene *s, uint32_t added, uint32_t noderoles, uint32_t n_edges,
                   const char *label)
{
    is_int(s->last, added, "%s: noderoles added", label);
    is_int((long long)s->w.noderoles.n, noderoles, "%s: noderoles in all", label);
    is_int(edges(s), n_edges, "%s: edges in all", label);
}

/* G12, whenever something was bound: a child stands above every parent. */
static void rising(const struct scene *s, const char *label)
{
    bool good = true;
    for (size_t i = 0; i < s->w.noderoles.n; i++)
        for (size_t k = 0; k < s->w.noderoles.at[i].parents.n; k++)
            good &= s->w.noderoles.at[s->w.noderoles.at[i].parents.at[k] - 1].cohort <
                    s->w.noderoles.at[i].cohort;
    ok(good, "G12: cohorts rise along every edge after %s", label);
}

/* --- the facts --- */

static void test_g1_to_g4(const struct catalog *cat)
{
    static const char *const implicit[] = {
        "crowbar-access",  "chef-client",         "proxy-client",   "provisioner-repos",
        "deployer-client", "dns-client",          "logging-client", "ntp-client",
        "network-lldpd",   "crowbar-managed-node"};
    static const char *const kids[] = {"saltstack",
                                       "saltstack-minion",
                                       "saltstack-master",
                                       "crowbar-installed-node",
                                       "crowbar-hardware-configured",
                                       "provisioner-os-install"};
    struct scene s;
    struct err e;

    scene_init(&s, cat);
    is_int(scene_bind(&s, "crowbar-installed-node", 1, SYSTEM, &e), 0, "G1: binds (%s)", e.text);
    counts(&s, 23, 23, 49, "G1");
    is_int(top_cohort(&s), 11, "G1: cohorts 0 to 11");
    is_text(parents(&s, "chef-client", 1), "chef-server@n1", "G1: parents of chef-client");
    is_text(parents(&s, "dns-client", 1), "chef-client@n1 dns-service@n1",
            "G1: parents of dns-client");
    is_text(parents(&s, "provisioner-os-install", 1),
            "crowbar-hardware-configured@n1 provisioner-service@n1",
            "G1: parents of provisioner-os-install");
    rising(&s, "G1");

    is_int(scene_bind(&s, "crowbar-managed-node", 2, SYSTEM, &e), 0, "G2: binds (%s)", e.text);
    counts(&s, 10, 33, 77, "G2");
    for (size_t i = 0; i < sizeof implicit / sizeof *implicit; i++)
        ok(find(&s, implicit[i], 2) != NULL, "G2: %s is on n2", implicit[i]);
    is_text(parents(&s, "dns-client", 2), "chef-client@n2 dns-service@n1",
            "G2: parents of dns-client");
    rising(&s, "G2");

    is_int(scene_bind(&s, "saltstack", 2, KID, &e), 0, "G3: binds (%s)", e.text);
    counts(&s, 6, 39, 86, "G3");
    for (size_t i = 0; i < sizeof kids / sizeof *kids; i++) {
        const struct fake_noderole *nr = find(&s, kids[i], 2);
        ok(nr && nr->deployment == KID, "G3: %s is on n2 in kid", kids[i]);
    }
    is_text(parents(&s, "crowbar-hardware-configured", 2), "crowbar-managed-node@n2",
            "G3: stands on what is in system");
    is_int(find(&s, "crowbar-managed-node", 2)->deployment, SYSTEM, "G3: which is in system");
    is_int(top_cohort(&s), 14, "G3: the highest cohort");
    is_int(find(&s, "saltstack", 2)->cohort, 14, "G3: is that of saltstack");
    rising(&s, "G3");

    is_int(scene_bind(&s, "saltstack-master", 3, KID, &e), 0, "G4: binds (%s)", e.text);
    counts(&s, 14, 53, 121, "G4");
    is_text(parents(&s, "saltstack-minion", 2),
            "crowbar-installed-node@n2 saltstack-master@n2 saltstack-master@n3",
            "G4: the minion gains the new master");
    rising(&s, "G4");

    uint32_t before = (uint32_t)s.w.noderoles.n, n_edges = edges(&s);
    is_int(scene_bind(&s, "saltstack-master", 3, KID, &e), 0, "G6: the same once more");
    is_int(s.last, 0, "G6: adds nothing");
    is_int(scene_bind(&s, "saltstack-master", 3, SYSTEM, &e), 0, "G6: in another deployment");
    is_int((long long)s.w.noderoles.n, before, "G6: as many noderoles as before");
    is_int(edges(&s), n_edges, "G6: as many edges as before");
    fake_done(&s.w);
}

/* G5 is of test.yml alone: nothing else may be there to borrow. */
static void test_g5(const struct catalog *cat)
{
    struct scene s;
    struct err e;

    scene_init(&s, cat);
    is_int(scene_bind(&s, "test-client-client", 1, SYSTEM, &e), 0, "G5: binds (%s)", e.text);
    counts(&s, 5, 5, 5, "G5");
    is_int(scene_bind(&s, "test-client-client", 2, SYSTEM, &e), 0, "G5: again on n2");
    counts(&s, 3, 8, 9, "G5 on n2");
    ok(find(&s, "test-library", 2) && find(&s, "test-client", 2) &&
           find(&s, "test-client-client", 2),
       "G5: n2 gets library, client and client-client");
    is_text(parents(&s, "test-client", 2), "test-library@n2 test-server@n1",
            "G5: the server is borrowed");
    is_text(parents(&s, "test-library", 2), "test-admin@n1", "G5: and so is the admin");
    rising(&s, "G5");
    fake_done(&s.w);
}

static void test_g7_to_g10(const struct catalog *cat)
{
    struct scene s;
    struct err e;

    scene_init(&s, cat);
    is_int(scene_bind(&s, "puppet-sa", 1, SYSTEM, &e), -ERR_REFUSED, "G7: puppet-sa is refused");
    ok(strstr(e.text, "puppet/roles/puppet-sa.yaml:5:5: ") && strstr(e.text, "\"milestone\""),
       "G7: for the role that does not exist, with its place: %s", e.text);
    is_int((long long)s.w.noderoles.n, 0, "G7: and leaves nothing behind");

    is_int(scene_bind(&s, "crowbar-joined-node", 1, SYSTEM, &e), 0, "G8: a joined node");
    is_int(scene_bind(&s, "crowbar-managed-node", 1, SYSTEM, &e), -ERR_REFUSED,
           "G8: cannot be managed as well");
    ok(strstr(e.text, "crowbar-joined-node"), "G8: and the refusal names it: %s", e.text);

    is_int(scene_bind(&s, "docker-prep", 1, SYSTEM, &e), 0, "G9: binds (%s)", e.text);
    ok(strstr(parents(&s, "docker-prep", 1), "crowbar-joined-node@n1"),
       "G9: the joined node stands for an installed one: %s", parents(&s, "docker-prep", 1));
    ok(!find(&s, "crowbar-installed-node", 1), "G9: which is not created");
    rising(&s, "G9");
    fake_done(&s.w);

    scene_init(&s, cat);
    is_int(scene_bind(&s, "test-server", 1, SIBLING, &e), 0, "G10: a server in a sibling");
    is_int(scene_bind(&s, "test-client", 2, KID, &e), 0, "G10: a client in kid");
    is_text(parents(&s, "test-client", 2), "test-library@n2 test-server@n2",
            "G10: does not see the sibling's");
    ok(find(&s, "test-server", 2) && find(&s, "test-server", 2)->deployment == KID,
       "G10: its server is created on its node, in kid");
    rising(&s, "G10");
    fake_done(&s.w);
}

/* In the source as well as in a catalog: the load refuses it. */
static void test_g11(void)
{
    static const char text[] = "barclamp: {name: ring}\n"
                               "roles:\n"
                               "  - {name: a, jig: noop, requires: [b]}\n"
                               "  - {name: b, jig: noop, requires: [c]}\n"
                               "  - {name: c, jig: noop, requires: [a]}\n";
    struct catalog_file file = {str_of("ring.yml"), {text, sizeof text - 1}};
    struct catalog_source source = {&file, 1};
    SCOPED(catalog_import) *import = NULL;
    SCOPED(catalog) *cat = NULL;
    struct catalog_report report = {0};
    struct err e;

    is_int(catalog_import_crowbar(&source, NULL, 0, &import, &e), 0, "G11: a ring is imported");
    source = (struct catalog_source){import->files, import->n_files};
    is_int(catalog_load(&source, NULL, 1, &report, &cat, &e), -ERR_CYCLE, "G11: and refused");
    is_text(e.text, "roles require each other: a -> b -> c -> a", "G11: the whole ring is told");
    catalog_report_done(&report);
}

/* G12 with other orders: each role on a node of its own, forwards and backwards. */
static void test_g12(const struct catalog *cat)
{
    for (int backwards = 0; backwards < 2; backwards++) {
        struct scene s;
        struct err e;
        uint32_t bound = 0;
        scene_init(&s, cat);
        for (uint32_t i = 0; i < cat->n_roles; i++) {
            uint32_t role = backwards ? cat->n_roles - 1 - i : i;
            bound += scene_bind(&s, cat->roles[role].name.s, 1 + i % 4, SYSTEM + i % 2, &e) == 0;
        }
        ok(bound > 50, "G12: %u of %u roles bound, %s", bound, cat->n_roles,
           backwards ? "backwards" : "forwards");
        rising(&s, backwards ? "all roles backwards" : "all roles forwards");
        fake_done(&s.w);
    }
}

/* --- loading --- */

static struct catalog *import_load(const struct catalog_source *source,
                                   const struct import_map *some, size_t n,
                                   struct import_counts *ret_counts)
{
    SCOPED(catalog_import) *import = NULL;
    struct catalog_report report = {0};
    struct catalog *cat = NULL;
    struct err e;

    if (catalog_import_crowbar(source, some, n, &import, &e) < 0) {
        ok(false, "imported: %s", e.text);
        return NULL;
    }
    struct catalog_source made = {import->files, import->n_files};
    is_int(catalog_load(&made, NULL, 1, &report, &cat, &e), 0, "the result loads: %s",
           report.n_errors ? e.text : "");
    is_int(report.n_errors, 0, "without an error");
    catalog_report_done(&report);
    if (ret_counts)
        *ret_counts = import->counts;
    return cat;
}

static const struct catalog_file *file_named(const struct files *f, const char *path)
{
    for (size_t i = 0; i < f->at.n; i++)
        if (str_is(f->at.at[i].path, path))
            return &f->at.at[i];
    return NULL;
}

static void test_data(struct files *files)
{
    struct catalog_source source = files_source(files);
    struct import_counts n = {0};
    SCOPED(catalog) *cat = import_load(&source, maps, sizeof maps / sizeof *maps, &n);

    if (!cat)
        return;
    printf("# imported %u of 64 roles, %u of 17 files and the root's, %u of 130 attributes\n",
           n.roles, n.files - 1, n.attributes + n.node_attributes);
    is_int(n.roles, 64, "all roles");
    is_int(n.files, 18, "all files: 17 and the root's");
    is_int(n.attributes, 101, "attributes of roles, each name once");
    is_int(n.node_attributes, 29, "attributes of nodes");
    is_int(n.jigs, 7, "jigs");
    is_int(n.wants, 53, "wants");
    is_int(n.requires, 85, "requires");
    test_g1_to_g4(cat);
    test_g7_to_g10(cat);
    test_g12(cat);

    const struct catalog_file *test = file_named(files, "barclamps/test.yml");
    ok(test != NULL, "test.yml is there");
    if (!test)
        return;
    struct catalog_source alone = {test, 1};
    SCOPED(catalog) *small = import_load(&alone, &maps[3], 1, NULL);
    if (small)
        test_g5(small);
}

int main(int argc, char **argv)
{
    const char *data = getenv("ANNEAL_TEST_DATA");
    struct files files = {0};

    test_g11();
    const char *dir = data ? arena_printf(&files.mem, "%s/data/crowbar", data)
                           : arena_printf(&files.mem, "%s/../shared/data/crowbar",
                                          argc > 1 ? argv[1] : ".");
    if (files_read(&files, dir, ""))
        test_data(&files);
    else
        skip(arena_printf(&files.mem, "11 facts, G1 to G10 and G12: no barclamps in %s", dir));
    files_done(&files);
    return tap_done();
}
