/* complete.c - what may come next on a command line
 *
 * The shell's script knows nothing: it hands over the words up to the cursor and offers what comes
 * back, one candidate a line, or ":file" or ":dir" where the shell itself knows best.  Names of
 * objects are asked of the server with a short limit; if it does not answer there are simply no
 * candidates.
 *
 * bash splits words at "=", and replaces only what follows it: such words are joined again here,
 * and only the part after the "=" is offered.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <string.h>

#include "cli/term_i.h"

enum { COMPLETE_MOST = 1000, COMPLETE_MS = 2000 };

struct completion {
    struct cli *c;
    VEC(const char *) words; /* joined at "="; the last is being typed */
    const char *noun;
    const struct cli_verb *verb;
    size_t args;                 /* positional arguments before the cursor */
    const struct cli_opt *wants; /* its value is being typed */
    bool plain;                  /* after -- */
    const char *prefix;          /* of what is being typed */
    const char *lead;            /* what stands before the prefix and is offered with it */
    struct buf out;
};

static void candidate_offer(struct completion *k, const char *s, size_t n, const char *suffix)
{
    size_t want = strlen(k->prefix);
    if (n < want || memcmp(s, k->prefix, want) != 0)
        return;
    buf_puts(&k->out, k->lead ? k->lead : "");
    term_clean(&k->out, s, n, 0);
    buf_printf(&k->out, "%s\n", suffix);
}

/* "--output", "=", "js" as "--output=js". */
static void words_join(struct completion *k, int n, char **words)
{
    for (int i = 0; i < n; i++) {
        const char *last = k->words.n ? k->words.at[k->words.n - 1] : NULL;
        bool glue = !strcmp(words[i], "=");
        bool glued = last && *last && last[strlen(last) - 1] == '=' && i &&
                     !strcmp(words[i - 1], "=");
        if (last && (glue || glued))
            k->words.at[k->words.n - 1] = arena_printf(&k->c->mem, "%s%s", last, words[i]);
        else
            vec_push(&k->words, words[i]);
    }
}

/* An option before the cursor; *i moves over its value.  Those that lead to the server are kept. */
static void option_pass(struct completion *k, size_t *i)
{
    const char *word = k->words.at[*i], *eq = strchr(word, '=');
    const struct cli_opt *o;
    if (word[1] == '-')
        o = verbs_option(k->verb, word + 2, eq ? (size_t)(eq - word - 2) : strlen(word + 2));
    else
        o = verbs_letter(k->verb, word[strlen(word) - 1]);
    if (!o || !o->value || o->flags & ARG_OPTIONAL)
        return;
    if (!eq && ++*i + 1 >= k->words.n) {
        k->wants = o;
        return;
    }
    const struct cli_given g = {o, eq ? eq + 1 : k->words.at[*i]};
    vec_push(&k->c->line.given, g);
}

static void words_walk(struct completion *k)
{
    for (size_t i = 0; i + 1 < k->words.n; i++) {
        const char *w = k->words.at[i];
        if (!k->plain && !strcmp(w, "--")) {
            k->plain = true;
        } else if (!k->plain && w[0] == '-' && w[1]) {
            option_pass(k, &i);
        } else if (!k->noun) {
            k->noun = w;
            k->verb = verbs_find(w, NULL);
        } else if (!k->verb) {
            k->verb = verbs_find(k->noun, w);
        } else {
            k->args++;
        }
    }
}

/* --- candidates --- */

static void offer_objects(struct completion *k, const char *path, const char *name,
                          const char *suffix)
{
    const struct value *v;
    struct err ignored; /* no server, no candidates */
    if (cli_get_list(k->c, &k->c->mem, path, COMPLETE_MOST, &v, &ignored))
        return;
    const struct value *items = value_get(v, "items");
    for (uint32_t i = 0; i < items->n; i++) {
        const struct value *n = value_get(&items->items[i], name);
        char number[24];
        if (value_is(n, VALUE_INT)) {
            snprintf(number, sizeof number, "%lld", (long long)n->i);
            candidate_offer(k, number, strlen(number), suffix);
        } else {
            struct str s = value_as_str(n);
            if (s.n)
                candidate_offer(k, s.s, s.n, suffix);
        }
    }
}

static void offer_words(struct completion *k, const char *words, const char *suffix)
{
    const char *w;
    size_t n;
    while (verbs_word_next(&words, &w, &n))
        candidate_offer(k, w, n, suffix);
}

static void offer_kind(struct completion *k, enum cli_kind kind, const char *words)
{
    static const struct {
        const char *path, *name;
    } lists[KIND_COUNT] = {
        [KIND_NODE] = {"/v1/nodes", "name"},
        [KIND_SELECTOR] = {"/v1/nodes", "name"},
        [KIND_ROLE] = {"/v1/roles", "name"},
        [KIND_BINDING] = {"/v1/roles", "name"},
        [KIND_DEPLOYMENT] = {"/v1/deployments", "name"},
        [KIND_CLUSTER] = {"/v1/clusters", "name"},
        [KIND_JIG] = {"/v1/jigs", "name"},
        [KIND_POOL] = {"/v1/pools", "name"},
        [KIND_PROVIDER] = {"/v1/providers", "name"},
        [KIND_WORKER] = {"/v1/workers", "name"},
        [KIND_PLUGIN] = {"/v1/plugins", "name"},
        [KIND_TENANT] = {"/v1/tenants", "name"},
        [KIND_BARCLAMP] = {"/v1/barclamps", "name"},
        [KIND_NODEROLE] = {"/v1/noderoles", "id"},
        [KIND_OPERATION] = {"/v1/operations", "id"},
        [KIND_TASK] = {"/v1/tasks", "id"},
        [KIND_TOKEN] = {"/v1/tokens", "id"},
    };
    if (kind == KIND_FILE || kind == KIND_DIR)
        buf_puts(&k->out, kind == KIND_FILE ? ":file\n" : ":dir\n");
    else if (kind == KIND_WORD)
        offer_words(k, words, "");
    else if (lists[kind].path)
        offer_objects(k, lists[kind].path, lists[kind].name, kind == KIND_BINDING ? "=" : "");
}

/* KIND/NAME: the kinds, then the objects of one; a noun of the same name tells how they are named.
 */
static void offer_object(struct completion *k, const char *kinds)
{
    const char *slash = strchr(k->prefix, '/');
    if (!slash) {
        offer_words(k, kinds, "/");
        return;
    }
    k->lead = arena_strndup(&k->c->mem, k->prefix, (size_t)(slash + 1 - k->prefix));
    const char *noun = arena_strndup(&k->c->mem, k->prefix, (size_t)(slash - k->prefix));
    const struct cli_verb *show = verbs_find(noun, "show");
    k->prefix = slash + 1;
    if (show)
        offer_kind(k, show->args[0].kind, NULL);
}

static void offer_options(struct completion *k, const struct cli_opt *o)
{
    for (; o && o->name; o++) {
        SCOPED_BUF(name);
        buf_printf(&name, "--%s", o->name);
        candidate_offer(k, name.data, name.len, "");
    }
}

static void offer_verbs(struct completion *k)
{
    for (const struct cli_verb *v = cli_verbs; v->noun; v++)
        if (v->verb && !strcmp(v->noun, k->noun))
            candidate_offer(k, v->verb, strlen(v->verb), "");
}

static void offer_nouns(struct completion *k)
{
    for (const struct cli_noun *n = cli_nouns; n->name; n++)
        if (n->help)
            candidate_offer(k, n->name, strlen(n->name), "");
}

/* `anneal help NOUN VERB` is completed like a command. */
static void offer_help(struct completion *k)
{
    if (k->args == 0) {
        offer_nouns(k);
    } else if (k->args == 1) {
        k->noun = k->words.at[k->words.n - 2];
        offer_verbs(k);
    }
}

static void offer_argument(struct completion *k)
{
    const struct cli_arg *a = k->verb->args;
    size_t n = 0;
    if (!strcmp(k->verb->noun, "help")) {
        offer_help(k);
        return;
    }
    while (n < CLI_ARGS_MAX && a[n].name)
        n++;
    size_t i = k->args;
    if (i >= n) {
        if (!n || !(a[n - 1].flags & ARG_MANY))
            return;
        i = n - 1;
    }
    const char *eq = strchr(k->prefix, '=');
    if (a[i].kind == KIND_BINDING && eq) {
        k->prefix = eq + 1;
        offer_kind(k, KIND_SELECTOR, NULL);
    } else if (a[i].kind == KIND_OBJECT) {
        offer_object(k, a[i].words);
    } else {
        offer_kind(k, a[i].kind, a[i].words);
    }
}

static void next_offer(struct completion *k)
{
    const char *word = k->words.at[k->words.n - 1], *eq = strchr(word, '=');
    k->prefix = word;
    if (k->wants) {
        offer_kind(k, k->wants->kind, k->wants->words);
    } else if (!k->plain && word[0] == '-' && word[1] == '-' && eq) {
        const struct cli_opt *o = verbs_option(k->verb, word + 2, (size_t)(eq - word - 2));
        k->prefix = eq + 1;
        if (o)
            offer_kind(k, o->kind, o->words);
    } else if (!k->plain && word[0] == '-') {
        offer_options(k, k->verb ? k->verb->opts : NULL);
        offer_options(k, cli_globals);
    } else if (!k->noun) {
        offer_nouns(k);
    } else if (!k->verb) {
        offer_verbs(k);
    } else {
        offer_argument(k);
    }
}

int cmd_complete(struct cli *c, struct err *e)
{
    struct completion k = {.c = c};
    (void)e;
    c->quiet = true;
    c->brief_ms = COMPLETE_MS;
    words_join(&k, c->argc - c->line.raw_from, c->argv + c->line.raw_from);
    if (!k.words.n)
        vec_push(&k.words, "");
    words_walk(&k);
    next_offer(&k);
    cli_put(c, &k.out);
    buf_done(&k.out);
    vec_done(&k.words);
    return 0;
}

int cmd_completion(struct cli *c, struct err *e)
{
    static const char script[] =
        "# bash completion of anneal; load it with: source <(anneal completion bash)\n"
        "_anneal()\n"
        "{\n"
        "    local out\n"
        "    COMPREPLY=()\n"
        "    out=$(\"${COMP_WORDS[0]}\" __complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
        "    case $out in\n"
        "    '') ;;\n"
        "    :file) compopt -o default ;;\n"
        "    :dir) compopt -o dirnames ;;\n"
        "    *)\n"
        "        mapfile -t COMPREPLY <<<\"$out\"\n"
        "        if [[ ${COMPREPLY[0]} == *[=/] ]]; then compopt -o nospace; fi\n"
        "        ;;\n"
        "    esac\n"
        "}\n"
        "complete -F _anneal anneal\n";
    (void)e;
    (void)fputs(script, c->env->out);
    return 0;
}
