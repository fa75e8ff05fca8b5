/* test_opts.c - settings from the table: defaults, file, --set, and what is refused where */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/opts.h"
#include "sys/scratch.h"

static void test_defaults(void)
{
    struct opts o;
    struct err e;
    SCOPED_BUF(b);
    opts_init(&o);
    is_text(o.data_dir, "/var/lib/anneal", "data_dir");
    is_int(o.worker_capacity, 64, "worker_capacity");
    is_int(o.worker_output_limit, 1 << 20, "worker_output_limit in bytes");
    is_int(o.recover_grace, 5000, "recover_grace in milliseconds");
    is_int(o.dead_after, 60000, "dead_after in milliseconds");
    is_int(o.journal_keep, 30ll * 86400000, "journal_keep");
    is_int(o.journal_keep_bytes, 4ll << 30, "journal_keep_bytes");
    ok(o.worker_enabled, "worker_enabled");
    is_text(o.on_error, "continue", "on_error");
    is_text(o.tls_cert, "", "tls_cert");
    is_int(opts_check(&o, &e), 0, "the defaults go together");
    for (size_t k = 0; k < OPTS_KEY_COUNT; k++) {
        const struct opts_info *info = opts_info((enum opts_key)k);
        buf_clear(&b);
        opts_show(&o, (enum opts_key)k, &b);
        if (strcmp(info->def, "60s"))
            is_text(b.data ? b.data : "", info->def, "%s shows as its default is written",
                    info->name);
        ok(info->help[0] && opts_type_name(info->type)[0] && o.origin[k][0] == '\0',
           "%s has a help line, a type and no origin", info->name);
    }
    opts_done(&o);
}

static void test_file(void)
{
    struct opts o;
    struct err e = {0};
    char *dir = scratch_new(), *path = fs_join(dir, "anneald.yaml");
    const char *text = "# a comment\n"
                       "data_dir: /srv/anneal\n"
                       "worker_capacity: 8\n"
                       "worker_enabled: false\n"
                       "body_limit: 64KiB\n"
                       "recover_grace: 5ms\n"
                       "dead_after: 90\n"
                       "on_error: freeze-node\n"
                       "journal_keep_bytes: 2097152\n";
    opts_init(&o);
    is_int(fs_write_atomic(path, text, strlen(text), 0600, &e), 0, "a file");
    is_int(opts_load(&o, path, &e), 0, "loads");
    is_text(o.data_dir, "/srv/anneal", "a path");
    is_int(o.worker_capacity, 8, "an integer");
    ok(!o.worker_enabled, "a boolean");
    is_int(o.body_limit, 65536, "a size");
    is_int(o.recover_grace, 5, "a duration");
    is_int(o.dead_after, 90000, "a bare duration is in seconds");
    is_text(o.on_error, "freeze-node", "a choice");
    is_int(o.journal_keep_bytes, 2 << 20, "a bare size is in bytes");
    has_text(o.origin[OPTS_KEY_worker_capacity], "anneald.yaml:3:18",
             "each knows where it was set");
    is_int(opts_set(&o, "worker_capacity=9", &e), 0, "--set");
    is_int(o.worker_capacity, 9, "wins over the file");
    is_text(o.origin[OPTS_KEY_worker_capacity], "--set", "and is remembered as such");
    is_int(opts_set(&o, "admin_domain=a=b", &e), 0, "--set with = in the value");
    is_text(o.admin_domain, "a=b", "splits at the first one");
    is_int(opts_load_text(&o, "x", str_of(""), &e), 0, "an empty file changes nothing");
    is_int(o.worker_capacity, 9, "indeed");
    is_int(opts_load(&o, "/no/such.yaml", &e), -ERR_NOT_FOUND, "a missing file is an error");
    opts_done(&o);
    free(path);
    scratch_end(dir);
}

static void test_refusals(void)
{
    static const struct {
        const char *yaml, *at, *text, *hint;
    } cases[] = {
        {"worker_capacty: 3", "f:1:1", "there is no setting \"worker_capacty\"",
         "did you mean worker_capacity?"},
        {"a: 1\n", "f:1:1", "there is no setting \"a\"", ""},
        {"listen: x:1\nworker_capacity: many", "f:2:18", "expected integer, found string",
         "quotes"},
        {"worker_capacity: \"3\"", "f:1:18", "found string", "write it without quotes"},
        {"worker_capacity: 0", "f:1:18", "must be from 1 to 100000", ""},
        {"worker_capacity: -1", "f:1:18", "must not be negative", ""},
        {"worker_capacity: 1.5", "f:1:18", "expected integer, found number", ""},
        {"worker_enabled: yes", "f:1:17", "expected boolean, found string", "quotes"},
        {"worker_enabled: 1", "f:1:17", "expected boolean, found integer", ""},
        {"data_dir: 7", "f:1:11", "expected path, found integer", ""},
        {"data_dir: ''", "f:1:11", "data_dir must not be empty", ""},
        {"data_dir: \"a\\0b\"", "f:1:11", "must not contain a NUL", ""},
        {"data_dir: [a]", "f:1:11", "found list", ""},
        {"body_limit: 1kB", "f:1:13", "body_limit: \"1kB\" is no size", "KiB"},
        {"body_limit: KiB", "f:1:13", "is no size", "KiB"},
        {"body_limit: 99999999999TiB", "f:1:13", "is no size", "KiB"},
        {"body_limit: 1KiB\npage_limit: 0", "f:2:13", "must be from 1", ""},
        {"body_limit: 1023", "f:1:13", "must be from 1KiB to 1GiB", ""},
        {"recover_grace: 5 minutes", "f:1:16", "is not a duration", ""},
        {"recover_grace: 2h", "f:1:16", "recover_grace must be from 0ms to 1h", ""},
        {"on_error: stop", "f:1:11", "one of continue|freeze-node, not \"stop\"", ""},
        {"log_level: inf", "f:1:12", "error|warn|info|debug", ""},
        {"- a", "f:1:", "settings are a map, not a list", ""},
        {"a: [", "f:1", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct opts o;
        struct err e = {0};
        opts_init(&o);
        ok(opts_load_text(&o, "f", str_of(cases[i].yaml), &e) < 0, "refused: %s", cases[i].yaml);
        ok(!strncmp(e.at, cases[i].at, strlen(cases[i].at)), "at %s (%s)", cases[i].at, e.at);
        has_text(e.text, cases[i].text, "says: %s", cases[i].text);
        has_text(e.hint, cases[i].hint, "hints: %s", cases[i].hint);
        ok(opts_load_text(&o, "f", str_of(cases[i].yaml), NULL) < 0, "also without an err");
        opts_done(&o);
    }
}

static void test_set_refusals(void)
{
    static const struct {
        const char *set, *text;
    } cases[] = {
        {"worker_capacity", "has no ="},
        {"worker_capacityy=3", "there is no setting"},
        {"worker_capacity=x", "is not a whole number"},
        {"worker_enabled=yes", "must be true or false"},
        {"=3", "there is no setting"},
    };
    struct opts o;
    opts_init(&o);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err e = {0};
        ok(opts_set(&o, cases[i].set, &e) < 0, "refused: --set %s", cases[i].set);
        has_text(e.text, cases[i].text, "says: %s", cases[i].text);
        ok(opts_set(&o, cases[i].set, NULL) < 0, "also without an err");
    }
    struct err e;
    SCOPED_BUF(b);
    buf_puts(&b, "admin_domain=");
    for (int i = 0; i < 254; i++)
        buf_putc(&b, 'd');
    ok(opts_set(&o, b.data, &e) < 0, "a text that is too long");
    has_text(e.text, "admin_domain is longer than 253 bytes", "is refused");
    opts_done(&o);
}

static void test_check(void)
{
    static const struct {
        const char *set, *text;
    } cases[] = {
        {"listen=localhost", ":port"},      {"listen=h:", ":port"},
        {"listen=h:65536", ":port"},        {"listen=h:x", ":port"},
        {"listen=:80", "address:port"},     {"listen=::1:80", "IPv6"},
        {"tls_cert=/c.pem", "tls_key too"}, {"tls_key=/k.pem", "tls_cert too"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct opts o;
        struct err e = {0};
        opts_init(&o);
        is_int(opts_set(&o, cases[i].set, &e), 0, "--set %s alone is fine", cases[i].set);
        is_int(opts_check(&o, &e), -ERR_INVALID, "together it is not");
        has_text(e.text, cases[i].text, "says: %s", cases[i].text);
        is_text(e.at, "--set", "and where it came from");
        is_int(opts_check(&o, NULL), -ERR_INVALID, "also without an err");
        opts_done(&o);
    }
    struct opts o;
    struct err e;
    opts_init(&o);
    is_int(opts_set(&o, "listen=[::1]:0", &e), 0, "an IPv6 address in brackets");
    is_int(opts_check(&o, &e), 0, "is fine");
    SCOPED_BUF(b);
    o.worker_enabled = false;
    o.dead_after = 90061;
    opts_show(&o, OPTS_KEY_worker_enabled, &b);
    opts_show(&o, OPTS_KEY_dead_after, &b);
    is_text(b.data, "false90061ms", "values are shown in the largest unit that is exact");
    opts_done(&o);
}

int main(void)
{
    test_defaults();
    test_file();
    test_refusals();
    test_set_refusals();
    test_check();
    return tap_done();
}
