/* test_cluster_state.c - what a cluster is, for every noderole it may have, and for combinations */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cluster_state.h"

#include "base/str.h"
#include "tap.h"

/* A cluster in words: "open" or noderoles, each STATE with marks behind it:
 * ! never made, ~ held, + on a dead node, - to be absent, . to be stopped. */
static enum cluster_state state_of(const char *words)
{
    struct cluster_sum sum = {0};
    while (*words) {
        size_t n = strcspn(words, " ");
        char word[32];
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        words += n + (words[n] == ' ');
        if (!strcmp(word, "open")) {
            sum.open = true;
            continue;
        }
        struct cluster_part p = {.made = !strchr(word, '!'),
                                 .held = strchr(word, '~'),
                                 .dead = strchr(word, '+'),
                                 .target = strchr(word, '-')   ? TARGET_ABSENT
                                           : strchr(word, '.') ? TARGET_STOPPED
                                                               : TARGET_RUNNING};
        word[strcspn(word, "!~+-.")] = '\0';
        int state = noderole_state_find(word);
        if (!ok(state >= 0, "%s is a state", word))
            return CLUSTER_STATE_COUNT;
        p.state = (uint8_t)state;
        cluster_sum_add(&sum, &p);
    }
    return cluster_state_of(&sum);
}

static void test_one(void)
{
    static const struct {
        const char *words;
        enum cluster_state want;
    } cases[] = {
        /* Each by itself. */
        {"ACTIVE", CLUSTER_STATE_ACTIVE},
        {"ACTIVE.", CLUSTER_STATE_ACTIVE},
        {"STALE", CLUSTER_STATE_PENDING},
        {"TODO", CLUSTER_STATE_PENDING},
        {"TRANSITION", CLUSTER_STATE_PENDING},
        {"BLOCKED", CLUSTER_STATE_INCONSISTENT},
        {"ERROR", CLUSTER_STATE_INCONSISTENT},
        {"REMOVING-", CLUSTER_STATE_DELETING},
        {"ERROR-", CLUSTER_STATE_INCOMPLETE},
        {"REMOVED-", CLUSTER_STATE_DELETING},
        {"", CLUSTER_STATE_DELETING},
        /* Never made. */
        {"ERROR!", CLUSTER_STATE_INCOMPLETE},
        {"BLOCKED!", CLUSTER_STATE_INCOMPLETE},
        {"ACTIVE!", CLUSTER_STATE_INCOMPLETE},
        {"TRANSITION!", CLUSTER_STATE_PENDING},
        {"TODO!", CLUSTER_STATE_PENDING},
        /* Cancelled: nothing of it starts by itself. */
        {"TRANSITION~", CLUSTER_STATE_INCONSISTENT},
        {"STALE~", CLUSTER_STATE_INCONSISTENT},
        {"BLOCKED~", CLUSTER_STATE_INCONSISTENT},
        {"TRANSITION!~", CLUSTER_STATE_INCOMPLETE},
        {"BLOCKED!~", CLUSTER_STATE_INCOMPLETE},
        {"ACTIVE~", CLUSTER_STATE_ACTIVE},
        {"REMOVING-~", CLUSTER_STATE_INCOMPLETE},
        /* On a dead node. */
        {"TODO+", CLUSTER_STATE_INCONSISTENT},
        {"TODO!+", CLUSTER_STATE_INCOMPLETE},
        {"ACTIVE+", CLUSTER_STATE_ACTIVE},
        {"REMOVING-+", CLUSTER_STATE_DELETING},
        /* While an operation is under way. */
        {"open ERROR!", CLUSTER_STATE_PENDING},
        {"open ACTIVE", CLUSTER_STATE_PENDING},
        {"open ERROR-", CLUSTER_STATE_DELETING},
        {"open", CLUSTER_STATE_DELETING},
        /* Together. */
        {"ACTIVE ACTIVE ACTIVE.", CLUSTER_STATE_ACTIVE},
        {"ACTIVE STALE BLOCKED", CLUSTER_STATE_PENDING},
        {"ACTIVE ERROR", CLUSTER_STATE_INCONSISTENT},
        {"STALE ERROR", CLUSTER_STATE_INCONSISTENT},
        {"ERROR! BLOCKED!", CLUSTER_STATE_INCOMPLETE},
        {"ACTIVE ACTIVE ERROR! BLOCKED!", CLUSTER_STATE_INCOMPLETE},
        {"ERROR ERROR!", CLUSTER_STATE_INCOMPLETE},
        {"TRANSITION! BLOCKED!", CLUSTER_STATE_PENDING},
        {"TRANSITION! BLOCKED! ERROR!", CLUSTER_STATE_INCOMPLETE},
        {"TODO+ BLOCKED+ BLOCKED", CLUSTER_STATE_INCONSISTENT},
        {"ACTIVE REMOVING-", CLUSTER_STATE_PENDING},
        {"ACTIVE ERROR-", CLUSTER_STATE_INCONSISTENT},
        {"ACTIVE REMOVED-", CLUSTER_STATE_ACTIVE},
        {"REMOVING- ERROR-", CLUSTER_STATE_INCOMPLETE},
        {"open ACTIVE ERROR-", CLUSTER_STATE_PENDING},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        is_text(cluster_state_name(state_of(cases[i].words)), cluster_state_name(cases[i].want),
                "\"%s\"", cases[i].words);
}

/* Of all pairs of noderoles: what is promised whatever they are. */
enum { PARTS = NODEROLE_STATE_COUNT * TARGET_COUNT * 8 };

static struct cluster_part part_numbered(int i)
{
    return (struct cluster_part){.state = (uint8_t)(i % NODEROLE_STATE_COUNT),
                                 .target = (uint8_t)(i / NODEROLE_STATE_COUNT % TARGET_COUNT),
                                 .made = i / NODEROLE_STATE_COUNT / TARGET_COUNT & 1,
                                 .held = i / NODEROLE_STATE_COUNT / TARGET_COUNT & 2,
                                 .dead = i / NODEROLE_STATE_COUNT / TARGET_COUNT & 4};
}

static enum cluster_state pair_state(bool open, int a, int b)
{
    struct cluster_part x = part_numbered(a), y = part_numbered(b);
    struct cluster_sum sum = {.open = open};
    cluster_sum_add(&sum, &x);
    cluster_sum_add(&sum, &y);
    return cluster_state_of(&sum);
}

static bool is_well(int i)
{
    struct cluster_part p = part_numbered(i);
    return p.target == TARGET_ABSENT ? p.state == NODEROLE_REMOVED
                                     : p.made && p.state == NODEROLE_ACTIVE;
}

static bool is_wanted(int i)
{
    return part_numbered(i).target != TARGET_ABSENT;
}

static void test_pairs(void)
{
    int turned = 0, falsely_active = 0, not_active = 0, quiet = 0, unwanted = 0;
    for (int a = 0; a < PARTS; a++)
        for (int b = 0; b < PARTS; b++) {
            enum cluster_state s = pair_state(false, a, b), open = pair_state(true, a, b);
            bool wanted = is_wanted(a) || is_wanted(b), well = is_well(a) && is_well(b);
            turned += s != pair_state(false, b, a);
            falsely_active += s == CLUSTER_STATE_ACTIVE && !well;
            not_active += wanted && well && s != CLUSTER_STATE_ACTIVE;
            quiet += open != (wanted ? CLUSTER_STATE_PENDING : CLUSTER_STATE_DELETING);
            unwanted += !wanted && s != CLUSTER_STATE_DELETING && s != CLUSTER_STATE_INCOMPLETE;
        }
    is_int(turned, 0, "the order of noderoles does not matter (%d pairs)", PARTS * PARTS);
    is_int(falsely_active, 0, "nothing is active while something is not as it is wanted");
    is_int(not_active, 0, "everything that is as it is wanted is active");
    is_int(quiet, 0, "an operation under way is told before anything else");
    is_int(unwanted, 0, "what nobody wants is on its way out, or would not go");
}

int main(void)
{
    test_one();
    test_pairs();
    return tap_done();
}
