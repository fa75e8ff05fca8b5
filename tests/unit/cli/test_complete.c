/* test_complete.c - what the shell offers */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli_case.h"
#include "cluster.h"
#include "tap.h"
#include "workdir.h"

static const struct {
    const char *words, *offers;
} cases[] = {
    {"no", "node\nnoderole\n"},
    {"dep", "deployment\n"},
    {"__", ""},
    {"node ''", "list\nshow\nadd\nset\ndelete\nreport\nmaintenance\ntrust\nredeploy\nannounce\n"},
    {"node s", "show\nset\n"},
    {"noed s", ""},
    {"node show ''", "n1\n"},
    {"node show n", "n1\n"},
    {"node show x", ""},
    {"node show n1 ''", ""},
    {"node delete n1 ''", "n1\n"},
    {"node list n", "n1\n"},
    {"node report n1 ''", "alive\nsilent\ndead\n"},
    {"node list --sta", "--state\n"},
    {"node list --state A", "ACTIVE\n"},
    {"node list --state = A", "ACTIVE\n"},
    {"node list --state =", "PROPOSED\nBLOCKED\nTODO\nTRANSITION\nACTIVE\nSTALE\nERROR\nREMOVING\n"
                            "REMOVED\n"},
    {"node list --alive a", "alive\naway\n"},
    {"node list --deployment ''", "prod\n"},
    {"node list -o ''", "table\njson\nyaml\nname\n"},
    {"-o j", "json\n"},
    {"-o json node l", "list\n"},
    {"--server http://x node li", "list\n"},
    {"node list --nosuch ''", "n1\n"},
    {"node add --fac", "--facts\n"},
    {"node add x --facts ''", ":file\n"},
    {"catalog load ''", ":dir\n"},
    {"admin restore ''", ":file\n"},
    {"cluster show ''", "shop\n"},
    {"cluster list --state in", "incomplete\ninconsistent\n"},
    {"cluster delete shop --y", "--yes\n"},
    {"role show ''", "web\n"},
    {"jig enable ''", "ssh\n"},
    {"pool set ''", "p1\n"},
    {"noderole show ''", "12\n"},
    {"operation watch ''", "3\n"},
    {"task log ''", "6\n"},
    {"tenant set ''", "lab\n"},
    {"token add ci --tenant ''", "lab\n"},
    {"token revoke ''", "2\n"},
    {"deployment bind pr", "prod\n"},
    {"deployment bind prod w", "web=\n"},
    {"deployment bind prod web = n", "n1\n"},
    {"deployment bind prod web =", "n1\n"},
    {"deployment bind prod web=n1 w", "web=\n"},
    {"node show --wait n", "n1\n"},
    {"node show -- n", "n1\n"},
    {"node show -- -", ""},
    {"help n", "node\nnoderole\n"},
    {"help node l", "list\n"},
    {"help node list x", ""},
    {"completion ''", "bash\n"},
    {"status --ch", "--check\n"},
    {"sim x", ""},
    {"why no", "node/\nnoderole/\n"},
    {"why node/", "node/n1\n"},
    {"why task/", "task/6\n"},
    {"why pool/p", "pool/p1\n"},
    {"why binding/", ""},
    {"why frob/", ""},
};

static void test_words(void)
{
    struct cli_case c = {.server = cluster_new()};
    fake_off(c.server, "GET /v1/operations");
    fake_on(c.server, "GET /v1/operations", 200, LIST(OPERATION_JSON("succeeded", 4, 0, 0)));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[128];
        snprintf(line, sizeof line, "__complete %s", cases[i].words);
        is_int(case_run(&c, line), 0, "%s", line);
        is_text(c.out, cases[i].offers, "%s: what is offered", line);
        is_text(c.err, "", "%s: nothing said", line);
    }
    is_int(case_run(&c, "__complete"), 0, "no word at all");
    has_text(c.out, "status\nwatch\n", "offers all nouns");
    is_int(case_run(&c, "__complete node list -"), 0, "a dash");
    has_text(c.out, "--state\n", "offers the verb's options");
    has_text(c.out, "--server\n", "and the global ones");
    fake_free(c.server);
    case_done(&c);
}

static void test_quiet(void)
{
    struct cli_case c = {0};
    is_int(case_run(&c, "__complete node show ''"), 0, "without a server");
    is_text(c.out, "", "nothing is offered");
    is_text(c.err, "", "and nothing said");
    struct fake *other = fake_new();
    char line[128];
    fake_on(other, "GET /v1/nodes", 200,
            LIST("{\"name\":\"elsewhere\"},{\"name\":\"ev\\u001bil\"},{}"));
    snprintf(line, sizeof line, "__complete --server %s node show e", fake_url(other));
    is_int(case_run(&c, line), 0, "the server that the line names");
    is_text(c.out, "elsewhere\nev^[il\n", "is the one that is asked; names are cleaned");
    snprintf(line, sizeof line, "__complete node show e --server=%s ''", fake_url(other));
    fake_free(other);
    is_int(case_run(&c, "completion bash"), 0, "the script");
    has_text(c.out, "complete -F _anneal anneal\n", "registers itself");
    is_int(case_run(&c, "completion zsh"), 2, "another shell");
    has_text(c.err, "SHELL is one of bash", "is not there");
    case_done(&c);
}

/* The script itself, run by bash with COMP_WORDS as it would set them. */
static void test_script(void)
{
    struct cli_case c = {0};
    char *dir = workdir_new("completion"), script[600], command[640], got[256] = "";
    snprintf(script, sizeof script, "%s/script", dir);
    FILE *f = fopen(script, "w");
    is_int(case_run(&c, "completion bash"), 0, "the script");
    if (!f)
        printf("Bail out! no temporary file\n");
    fprintf(f,
            "%s\nprogram() { printf '%%s\\n' \"$@\" >&3; printf 'one\\ntwo words\\n'; }\n"
            "COMP_WORDS=(program node '' x); COMP_CWORD=2\n_anneal 3>/dev/stdout\n"
            "printf '[%%s]' \"${COMPREPLY[@]}\"\n",
            c.out);
    fclose(f);
    snprintf(command, sizeof command, "bash --norc %s 2>&1", script);
    FILE *p = popen(command, "r");
    for (size_t n = 0; p && fgets(got + n, (int)(sizeof got - n), p);)
        n = strlen(got);
    if (p)
        pclose(p);
    is_text(got, "__complete\nnode\n\n[one][two words]",
            "hands over the words up to the cursor and offers the lines that come back");
    free(dir);
    case_done(&c);
}

int main(void)
{
    test_words();
    test_quiet();
    test_script();
    return tap_done();
}
