/* test_plugin.c - plugins under the runner: asked, misbehaving, repeated, ended; secrets masked */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include "jig/bench.h"

#define SECRET "correct-horse-7"

static const char descriptor[] =
    "plugin: t\ntype: provider\nversion: '1'\nprotocol: 1\nexecutable: run\ndry_run: true\n"
    "actions: {create: {probe: find}, delete: {}, find: {}, slow: {timeout: 300ms}, confirm: {},\n"
    "          garbage: {}, flood: {}, endless: {}, crash: {}, early: {}, long: {}, mute: {},\n"
    "          leak: {}, named: {}, again: {}, error: {}, lost: {probe: say}, say: {},\n"
    "          broken: {probe: crash}, surroundings: {}}\n"
    "types: {t: {fields: {admin: {root: {default: /srv, override: true}},\n"
    "                     user: {key: {type: password}}}}}\n";

/* Each action is a way to behave. */
static const char program[] =
    "#!/bin/sh\n"
    "read -r doc\n"
    "is() { case $doc in *\"\\\"$1\\\"\"*) return 0;; *) return 1;; esac; }\n"
    "for a in create delete find slow confirm garbage flood endless crash early long mute leak "
    "named \\\n"
    "         again error lost say broken surroundings; do\n"
    "  case $doc in *\"\\\"action\\\":\\\"$a\\\"\"*) action=$a;; esac\n"
    "done\n"
    "echo $action >>calls\n"
    "case $action in\n"
    "create) case $doc in *'\"dry_run\":true'*) echo '{\"log\":\"would create\"}';; esac\n"
    "  echo '{\"progress\":0.5,\"text\":\"half\"}'; echo '{\"result\":{\"id\":\"m1\"}}';;\n"
    "delete) printf '{\"result\":{}}';;\n"
    "find) if [ -e made ]; then echo '{\"result\":{\"found\":true,\"id\":\"m1\"}}'\n"
    "  else echo '{\"result\":{\"found\":false}}'; fi;;\n"
    "slow) (trap '' TERM; echo $$ >tree; echo up >&2; while :; do sleep 60; done);;\n"
    "garbage) echo hello; printf '\\001\\377\\n'; echo '{\"result\":{}}';;\n"
    "flood) exec yes '{\"log\":\"0123456789012345678901234567890123456789\"}';;\n"
    "endless) exec tr '\\0' x </dev/zero;;\n"
    "crash) echo 'it broke' >&2; kill -SEGV $$;;\n"
    "early) exec >&-; exit 0;;\n"
    "long) head -c 2000000 /dev/zero | tr '\\0' x; echo;;\n"
    "leak) printf '{\"log\":\"key " SECRET "\"}\\n'; printf 'raw " SECRET "\\n'\n"
    "  printf 'correct-' >&2; sleep 0.05; printf 'horse-7 done\\n' >&2\n"
    "  echo '{\"error\":{\"text\":\"bad key " SECRET "\"}}';;\n"
    "named) echo '{\"result\":{\"a\":[\"" SECRET "\"]}}';;\n"
    "again) echo '{\"again\":{\"in\":1.5,\"watch\":\"the boot\"}}';;\n"
    "error) echo '{\"error\":{\"text\":\"no quota\",\"remedy\":\"ask for more\"}}'; exit 1;;\n"
    "lost|say) echo '{\"result\":{}}';;\n"
    "confirm) printf '%s\\n' \"$doc\" >document; echo '{\"result\":{}}';;\n"
    "surroundings) { env; tr '\\0' ' ' </proc/$$/cmdline; pwd; } >around; echo "
    "'{\"result\":{}}';;\n"
    "esac\n";

static char *place(const struct bench *b, const char *name)
{
    struct buf p = {0};
    buf_printf(&p, "%s/plugins/t/%s", b->dir, name);
    return buf_take(&p, NULL);
}

static void put(const struct bench *b, const char *name, const char *text, mode_t mode)
{
    char *path = place(b, name);
    struct err e;
    if (fs_write_atomic(path, text, strlen(text), mode, &e) < 0)
        note("%s", e.text);
    free(path);
}

static void take(const struct bench *b, const char *name, struct buf *ret)
{
    char *path = place(b, name);
    struct err e;
    buf_clear(ret);
    (void)fs_read(path, 1 << 20, ret, &e);
    free(path);
}

static void forget(const struct bench *b, const char *name)
{
    char *path = place(b, name);
    (void)unlink(path);
    free(path);
}

static int ask(struct bench *b, const char *action)
{
    SCOPED_BUF(params);
    b->task++;
    buf_printf(&params, "{\"plugin\":\"t\",\"action\":\"%s\",\"size\":1.50}", action);
    return bench_run(b, "plugin", params.data);
}

static void answers(struct bench *b)
{
    is_int(ask(b, "create"), OUTCOME_OK, "an action");
    is_text(TEXT(b->returns), "{\"id\":\"m1\"}", "returns what it said");
    is_text(TEXT(b->log[0]), "50% half\n", "and its progress is in the log");
    is_int(ask(b, "delete"), OUTCOME_OK, "a last line without its newline");
    is_int(ask(b, "again"), OUTCOME_AGAIN, "not yet");
    is_int(b->r.again_ms, 1500, "in so many milliseconds");
    is_text(b->r.text, "waits for the boot", "and why");
    is_int(ask(b, "error"), OUTCOME_FAILED, "an error");
    is_text(b->r.text, "no quota (ask for more)", "with its text and remedy");
}

static void misbehaviour(struct bench *b)
{
    static const struct {
        const char *action, *text;
    } cases[] = {
        {"garbage", "it does not keep to the protocol: line 1 of its output is not JSON"},
        {"flood", "it was ended: it wrote more than 8388608 bytes"},
        {"endless", "it was ended: line 1 of its output is longer than 1048576 bytes"},
        {"crash", "ended by signal 11: it broke"},
        {"early", "it ended without a result"},
        {"mute", "it ended without a result"},
        {"long", "it was ended: line 1 of its output is longer than 1048576 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        is_int(ask(b, cases[i].action), OUTCOME_FAILED, "%s is a failure", cases[i].action);
        is_text(b->r.text, cases[i].text, "whose text says why");
    }
    is_int(ask(b, "garbage"), OUTCOME_FAILED, "garbage");
    is_text(TEXT(b->log[0]), "plugin: line 1 is not JSON: hello\nplugin: line 2 is not JSON: ..\n",
            "is logged");
    is_int(ask(b, "nothing"), -ERR_UNKNOWN_NAME, "an action that it does not have is not started");
    has_text(b->e.text, "plugin t has no action \"nothing\"", "and the error names it");
}

static void times(struct bench *b)
{
    SCOPED_BUF(tree);
    forget(b, "tree");
    is_int(ask(b, "slow"), OUTCOME_TIMEOUT, "longer than its own time");
    is_text(b->r.text, "plugin t gives slow 300ms, and it took longer", "says whose time it was");
    take(b, "tree", &tree);
    ok(tree.len && kill(atoi(TEXT(tree)), 0) < 0, "and nothing of it is left");
}

/* Once it is up: a cancel with much time, then one with none, of which the shorter wins. */
static void cancel_now(struct bench *b)
{
    b->jig->cancel(b->run, 60000);
    b->jig->cancel(b->run, 0);
}

static void secrets(struct bench *b)
{
    b->secrets = "{\"key\":\"" SECRET "\"}";
    is_int(ask(b, "leak"), OUTCOME_FAILED, "a plugin that tells its secrets");
    is_text(b->r.text, "bad key ***", "is masked in the text");
    is_text(TEXT(b->log[0]), "key ***\nplugin: line 2 is not JSON: raw ***\n", "in its lines");
    is_text(TEXT(b->log[1]), "*** done\n", "and on standard error, across pieces");
    is_int(ask(b, "named"), OUTCOME_OK, "one that returns them");
    is_text(TEXT(b->returns), "{\"a\":[\"***\"]}", "returns a mask");
    SCOPED_BUF(around);
    is_int(ask(b, "surroundings"), OUTCOME_OK, "its surroundings");
    take(b, "around", &around);
    ok(around.len && !strstr(around.data, SECRET), "hold no secret, in arguments or environment");
    has_text(TEXT(around), "ANNEAL_KEY=key-1\n", "but the key");
    has_text(TEXT(around), "/plugins/t\n", "and it starts in its own directory");
    b->secrets = NULL;
}

static void document(struct bench *b)
{
    SCOPED_BUF(doc);
    b->fields = "{\"type\":\"t\",\"provider\":\"p\",\"fields\":{\"zone\":\"z\"}}";
    b->secrets = "{\"key\":\"" SECRET "\"}";
    b->task++;
    is_int(bench_start(b, "plugin", "{\"action\":\"confirm\",\"n\":1.50}", "{\"d\" : 1}"), 0,
           "found by its provider's type");
    bench_end(b);
    is_int(b->r.outcome, OUTCOME_OK, "and asked");
    take(b, "document", &doc);
    has_text(TEXT(doc),
             "{\"protocol\":1,\"plugin\":\"t\",\"type\":\"t\",\"action\":\"confirm\","
             "\"key\":\"key-1\",\"dry_run\":false,",
             "it is told who it is");
    has_text(TEXT(doc), "\"fields\":{\"key\":\"" SECRET "\",\"root\":\"/srv\",\"zone\":\"z\"}",
             "defaults, what was said, and the secret");
    has_text(TEXT(doc),
             "\"params\":{\"action\":\"confirm\",\"n\":1.50},\"data\":{\"d\" : 1},\"task\":",
             "parameters and data byte for byte");
    b->fields = b->secrets = NULL;
}

static void probes(struct bench *b)
{
    SCOPED_BUF(calls);
    forget(b, "calls");
    b->attempt = 2;
    is_int(ask(b, "create"), OUTCOME_OK, "a second attempt");
    take(b, "calls", &calls);
    is_text(TEXT(calls), "find\ncreate\n", "asks first whether it is there");
    put(b, "made", "", 0644);
    forget(b, "calls");
    is_int(ask(b, "create"), OUTCOME_OK, "and if it is");
    take(b, "calls", &calls);
    is_text(TEXT(calls), "find\n", "does not make it again");
    is_text(TEXT(b->returns), "{\"id\":\"m1\"}", "but answers with what was found");
    has_text(b->r.text, "an earlier attempt had got there", "and says so");
    is_int(ask(b, "lost"), OUTCOME_FAILED, "a probe that does not say");
    has_text(b->r.text, "did not say whether it was found", "is a failure");
    is_int(ask(b, "broken"), OUTCOME_FAILED, "and so is one that fails");
    forget(b, "made");
    b->attempt = 1;
}

static void no_ops(struct bench *b)
{
    SCOPED_BUF(text);
    b->no_op = true;
    is_int(ask(b, "create"), OUTCOME_OK, "a no-op is a dry run of the plugin");
    is_text(b->r.text, "no-op: the plugin would do it", "which says so");
    has_text(TEXT(b->log[0]), "would create\n", "in its own words");
    is_int(b->returns.len, 0, "and returns nothing");
    forget(b, "calls");
    buf_puts(&text, descriptor);
    memcpy(strstr(text.data, "dry_run: true"), "# ry_run: tru", 13);
    put(b, "plugin.yaml", text.data, 0644);
    is_int(ask(b, "create"), OUTCOME_OK, "one that cannot do that");
    is_text(TEXT(b->log[0]), "would ask plugin t to create\n", "is not asked");
    is_text(b->r.text, "no-op: not asked", "which the text says");
    take(b, "calls", &text);
    is_int(text.len, 0, "nor started; and the changed descriptor was seen");
    b->no_op = false;
}

static void cancelling(struct bench *b)
{
    b->task++;
    forget(b, "tree");
    is_int(bench_start(b, "plugin", "{\"plugin\":\"t\",\"action\":\"slow\"}", ""), 0, "a long one");
    b->on_log = cancel_now;
    bench_end(b);
    b->on_log = NULL;
    is_int(b->r.outcome, OUTCOME_CANCELLED, "is cancelled");
}

static void checks(struct bench *b)
{
    is_int(bench_run(b, "plugin", "{\"action\":7}"), -ERR_INVALID, "an action is text");
    is_int(bench_run(b, "plugin", "{\"action\":\"create\"}"), -ERR_INVALID, "a type must be said");
    struct jig_plugins *kept = b->plugins;
    b->plugins = NULL;
    is_int(bench_run(b, "plugin", "{\"plugin\":\"t\"}"), -ERR_UNKNOWN_NAME, "no plugins at all");
    b->plugins = kept;
    put(b, "run", "#!/nowhere\n", 0755);
    is_int(ask(b, "create"), OUTCOME_FAILED, "a program that cannot be run");
}

int main(void)
{
    struct bench b;
    struct err e;
    bench_init(&b, RUNNER_PATH);
    char *root = fs_join(b.dir, "plugins"), *dir = fs_join(root, "t");
    if (fs_mkdirs(dir, 0755, &e) < 0)
        return 1;
    put(&b, "plugin.yaml", descriptor, 0644);
    put(&b, "run", program, 0755);
    b.plugins = jig_plugins_new(root);
    answers(&b);
    misbehaviour(&b);
    times(&b);
    secrets(&b);
    document(&b);
    probes(&b);
    cancelling(&b);
    no_ops(&b);
    checks(&b);
    jig_plugins_free(b.plugins);
    bench_done(&b);
    free(root);
    free(dir);
    return tap_done();
}
