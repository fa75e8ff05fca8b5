/* request_auth.c - whose token is it, and does its scope reach so far?
 *
 * Tokens travel in Authorization only: an address with a token in it ends up in logs.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_i.h"

#include <string.h>
#include <strings.h>

enum { TOKEN_MAX = 256 };

static int no_token(struct request *req, const char *challenge, const char *text, struct err *e)
{
    req->answer.challenge = challenge;
    err_set(e, ERR_UNAUTHORIZED, "%s", text);
    return err_hint(e, "send Authorization: Bearer anl_...");
}

int request_authenticate(struct request *req, struct err *e)
{
    const struct api_route *route = req->match.route;
    const char *text = req->head.authorization;

    if (route->scope == SCOPE_NONE)
        return 0;
    if (!text)
        return no_token(req, "Bearer realm=\"anneal\"", "this needs a token", e);
    if (strncasecmp(text, "Bearer ", 7))
        return no_token(req, "Bearer realm=\"anneal\"", "only bearer tokens are understood", e);
    text += 7 + strspn(text + 7, " ");
    if (!*text || strlen(text) > TOKEN_MAX)
        return no_token(req, "Bearer realm=\"anneal\", error=\"invalid_token\"",
                        "this is no token of ours", e);
    int r = server_authenticate(req->api->server, text, &req->who, e);
    if (r < 0) {
        req->answer.challenge = "Bearer realm=\"anneal\", error=\"invalid_token\"";
        return r;
    }
    if (!scope_reaches(req->who.scope, route->scope)) {
        req->answer.challenge = "Bearer realm=\"anneal\", error=\"insufficient_scope\"";
        err_set(e, ERR_FORBIDDEN, "the token \"%s\" has scope %s; this needs %s", req->who.name,
                api_scope_name(req->who.scope), api_scope_name(route->scope));
        if (req->who.scope == SCOPE_WORKER || route->scope == SCOPE_WORKER)
            return err_hint(e, "a worker's credential is for its own line, and nothing else is");
        return err_hint(e, "an administrator makes one with `anneal token add NAME --scope %s`",
                        api_scope_name(route->scope));
    }
    return 0;
}
