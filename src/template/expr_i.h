/* expr_i.h - what the parts of the expression language share
 *
 * expr_lex.c makes tokens; expr_parse.c, expr_term.c and expr_call.c turn them into a program for a
 * machine with a stack; expr_eval.c runs it.  expr_form.c reads and runs the parts that run
 * otherwise than once.  expr_ground.c has what all of these stand on, expr_ops.c the operators,
 * expr_among.c membership, expr_show.c how values are written, expr_builtin.c the tables, and the
 * filter_*.c files what is in them.
 *
 * The program is flat, so that a chain of ten thousand operators is a loop and not a recursion.
 * Jumps are relative: x if c else y is read in one order and runs in another, and the code of x is
 * moved behind that of c as a block.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEMPLATE_EXPR_I_H
#define TEMPLATE_EXPR_I_H

#include "base/alloc.h"
#include "base/map.h"
#include "template/expr.h"

/* --- tokens --- */

/* clang-format off */
/*    id         text; of two that begin alike the longer comes first */
#define EXPR_MARKS(X)                                                                              \
    X(POW,       "**")                                                                             \
    X(FLOORDIV,  "//")                                                                             \
    X(EQ,        "==")                                                                             \
    X(NE,        "!=")                                                                             \
    X(LE,        "<=")                                                                             \
    X(GE,        ">=")                                                                             \
    X(LT,        "<")                                                                              \
    X(GT,        ">")                                                                              \
    X(ADD,       "+")                                                                              \
    X(SUB,       "-")                                                                              \
    X(MUL,       "*")                                                                              \
    X(DIV,       "/")                                                                              \
    X(MOD,       "%")                                                                              \
    X(TILDE,     "~")                                                                              \
    X(PIPE,      "|")                                                                              \
    X(ASSIGN,    "=")                                                                              \
    X(DOT,       ".")                                                                              \
    X(COMMA,     ",")                                                                              \
    X(COLON,     ":")                                                                              \
    X(OPEN,      "(")                                                                              \
    X(CLOSE,     ")")                                                                              \
    X(OPEN_LIST, "[")                                                                              \
    X(CLOSE_LIST,"]")                                                                              \
    X(OPEN_MAP,  "{")                                                                              \
    X(CLOSE_MAP, "}")
/* clang-format on */
enum token_kind {
    TOKEN_END,
    TOKEN_NAME,
    TOKEN_STRING,
    TOKEN_INT,
    TOKEN_REAL,
#define X(id, text) TOKEN_##id,
    EXPR_MARKS(X)
#undef X
        TOKEN_COUNT
};
struct token {
    uint8_t kind;
    uint32_t pos, n; /* bytes of the source */
};
struct source_text { /* the text and where it is from, for errors */
    struct str text;
    struct expr_origin origin;
};
typedef VEC(struct token) tokens_v;
/* Ends with a TOKEN_END. */
int expr_lex(const struct source_text *src, tokens_v *ret_tokens, struct err *e);
/* The values of literals; what they are made of has been checked by the lexer. */
int expr_lex_number(const struct source_text *src, const struct token *t, struct value *ret_v,
                    struct err *e);
int expr_lex_string(const struct source_text *src, const struct token *t, struct buf *out,
                    struct err *e);

/* Completes an error already set: place, line, and below it a caret with what the hint said.
 * Returns `code`. */
int expr_point(const struct source_text *src, uint32_t pos, int code, struct err *e);
/* Bytes of s to show in a message. */
int expr_shown(struct str s);

/* --- programs --- */

enum op {
    OP_CONST,  /* a: constant */
    OP_NAME,   /* a: name */
    OP_ATTR,   /* a: name; the top's member */
    OP_ITEM,   /* top: key, below it the container */
    OP_SLICE,  /* top: step, stop, start, container; null where not given */
    OP_LIST,   /* a: items */
    OP_MAP,    /* a: pairs of key and value */
    OP_CONCAT, /* a: operands */
    OP_NEG,
    OP_POS,
    OP_NOT,
    OP_ARITH,   /* sub: token of the operator */
    OP_COMPARE, /* sub: enum relation */
    OP_CHAIN,   /* as OP_COMPARE; false: push it and jump, true: keep the right operand */
    OP_JUMP,    /* a: relative to this instruction, as in all jumps */
    OP_AND,     /* false: jump, else drop */
    OP_OR,      /* true: jump, else drop */
    OP_UNLESS,  /* drop; jump if it was false */
    OP_NOTHING, /* undefined: an if without else */
    OP_CALL,    /* a: call */
    OP_LOCAL,   /* a: number of a comprehension's name */
    OP_ONCE,    /* a: once; the code of a value that a memo may know follows */
    OP_EACH,    /* a: loop; its blocks follow; top: what it goes through */
    OP_FORM,    /* sub: enum form; a: length of the block that follows */
};
enum relation { REL_EQ, REL_NE, REL_LT, REL_LE, REL_GT, REL_GE, REL_IN, REL_NOT_IN };

struct instr {
    uint8_t op, sub;
    int32_t a;
    uint32_t pos;      /* where the caret goes */
    uint32_t from, to; /* the source of the value made, which is its name if it is undefined */
};

/* clang-format off */
/*    id           name           parameters */
#define EXPR_FORMS(X)                                                                              \
    X(ADDED,       "added",       "e")                                                             \
    X(CHANGED,     "changed",     "e")                                                             \
    X(CHANGED_ALL, "changed_all", "e ...")                                                         \
    X(CHANGED_ANY, "changed_any", "e ...")                                                         \
    X(DELETED,     "deleted",     "e")                                                             \
    X(NEW,         "new",         "e")                                                             \
    X(OLD,         "old",         "e")
/* clang-format on */
enum form { /* what is called as a function is and evaluates its arguments itself */
            FORM_NONE,
#define X(id, name, params) FORM_##id,
            EXPR_FORMS(X)
#undef X
};

struct eval;
struct slot; /* below */
typedef int (*builtin_f)(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret);
enum builtin_flag {
    BUILTIN_ANY = 1u << 0,     /* the subject may be undefined */
    BUILTIN_ANY_ALL = 1u << 1, /* and so may every other argument */
    BUILTIN_MORE = 1u << 2,    /* takes arguments beyond its parameters */
};
struct builtin {
    const char *name, *params;
    builtin_f call; /* NULL: a form */
    uint8_t min, flags;
    uint8_t form;
};
struct call {
    const char *name;
    const struct builtin *builtin;        /* or */
    const struct expr_function *function; /* one of the library */
    uint8_t n;                            /* arguments on the stack */
    uint8_t n_slots;                      /* arguments handed over */
    uint8_t to[EXPR_MAX_ARGS];            /* which of them each on the stack is */
};

struct loop {                /* [item for name in ... if cond] */
    uint32_t local;          /* number of its name */
    uint32_t n_cond, n_item; /* lengths of its blocks; without a condition 0 */
};

struct once {               /* a part whose value may be the same in many scopes */
    uint32_t n_code;        /* its length */
    uint32_t read, n_reads; /* which paths it reads, in expr.reads */
    bool alone;             /* it uses no name of a comprehension around it, nor the library */
};

struct expr {
    struct source_text src;
    const struct instr *code;
    const struct once *onces;
    const uint32_t *reads; /* numbers of paths */
    const struct loop *loops;
    const struct value *consts;
    const struct str *names;
    const struct call *calls;
    const struct str *paths;
    uint32_t n_code, n_paths, max_stack;
};

/* --- compiling --- */

struct parser {
    struct arena *a;
    struct source_text src;
    const struct expr_library *library;
    tokens_v tokens;
    size_t at; /* token */
    VEC(struct instr) code;
    VEC(struct value) consts;
    VEC(struct str) names;
    VEC(struct call) calls;
    VEC(struct loop) loops;
    VEC(struct str) locals; /* names of the comprehensions that are open, outermost first */
    VEC(struct once) onces;
    VEC(uint32_t) reads;
    uint32_t lowest_local; /* of those used since the part under way began */
    bool foreign;          /* a function of the library was called since then */
    VEC(struct str) paths;
    struct strmap seen; /* paths */
    uint32_t depth, max_depth;
    uint32_t stack, max_stack;
    struct err *e;
};
static inline const struct token *parse_peek(const struct parser *p)
{
    return &p->tokens.at[p->at];
}
bool parse_is_word(const struct parser *p, size_t token, const char *word);
bool parse_accept(struct parser *p, enum token_kind k);
bool parse_accept_word(struct parser *p, const char *word);
int parse_expect(struct parser *p, enum token_kind k, const char *what);
/* An error at the next token, or at a place. */
int parse_fail(struct parser *p, const char *expected);
int parse_wrong(struct parser *p, enum errcode code, uint32_t pos, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* One level deeper; ERR_LIMIT. */
int parse_enter(struct parser *p);
/* Adds an instruction that takes `pops` off the stack and pushes one value. */
struct instr *parse_emit(struct parser *p, enum op op, int32_t a, uint32_t pops, uint32_t pos,
                         uint32_t from);
/* A jump that drops what it has looked at when it does not jump; its place is given later. */
size_t parse_emit_jump(struct parser *p, enum op op, uint32_t pos);
void parse_patch(struct parser *p, size_t jump);
int parse_expression(struct parser *p);
int parse_or(struct parser *p); /* an expression that ends before an `if` */
/* A literal, name or bracket with what is attached to it; filters and tests only if asked for. */
int parse_unary(struct parser *p, bool with_filters);
struct str parse_next_text(const struct parser *p);
/* A word that cannot be a name. */
bool parse_is_reserved(struct str s);
bool parse_is_literal(struct str s); /* true, none and the like */
/* *path stays empty unless the primary is a name of the scope. */
int parse_primary(struct parser *p, struct buf *path);
int parse_postfix(struct parser *p, struct buf *path, uint32_t from);
/* name(...), and what is behind | and `is`; the subject of the latter begins at `from`. */
int parse_function(struct parser *p);
int parse_filter(struct parser *p, uint32_t from);
int parse_test(struct parser *p, uint32_t from);
/* The number of a name that a comprehension binds; the innermost counts. */
bool parse_local(const struct parser *p, struct str name, uint32_t *ret_i);
/* The token `for` of the list that has just been opened, 0 if it has none. */
size_t parse_find_for(const struct parser *p);
int parse_comprehension(struct parser *p, size_t word, uint32_t pos);
int parse_form(struct parser *p, const struct builtin *b);
bool parse_paths_meet(struct str a, struct str b);
/* Around the code of a value that a memo may know. */
struct part_begun {
    size_t at; /* its OP_ONCE */
    uint32_t lowest_local;
    bool foreign;
};
struct part_begun parse_once_begin(struct parser *p, uint32_t pos);
void parse_once_end(struct parser *p, const struct part_begun *b);

/* --- evaluating --- */

enum { SLOT_ABSENT = UINT32_MAX };
/* A value on the stack.  Undefined if v is NULL: then pc is the instruction that made it and `of`
 * the map that lacks it, if there is one. */
struct slot {
    const struct value *v;
    const struct value *of;
    uint32_t pc;
};
static inline bool slot_given(const struct slot *s)
{
    return s->v || s->pc != SLOT_ABSENT;
}

enum { EVAL_PATTERNS = 4 };
struct eval_patterns; /* filter_text.c */
struct eval {
    const struct expr *x;
    const struct expr_scope *scope;
    const struct expr_scope *view; /* where names are looked up: scope, or its old one */
    const struct value **locals;   /* by number */
    struct slot *stack;
    struct eval_patterns *patterns; /* compiled so far; NULL: none */
    struct expr_memo *memo;         /* the scope's */
    struct arena *mem;
    struct err *e;
    uint32_t pc;
    bool quiet;                  /* only limits are worded: other errors are answers */
    const struct call *call;     /* under way, for messages */
    const struct builtin *inner; /* what map() or select() is calling */
    uint32_t steps, max_steps;
    size_t bytes_from, max_bytes;
};
/* An error at the instruction under way, in a call with its name in front. */
int eval_fail(struct eval *ev, enum errcode code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* "name: param must be WHAT, not a list". */
int eval_wrong(struct eval *ev, const struct value *v, const char *param, const char *what);
/* Something undefined was used. */
int eval_undefined(struct eval *ev, const struct slot *s);
/* Charges steps; ERR_LIMIT when there are none left. */
int eval_steps(struct eval *ev, uint64_t n);
/* For work that goes over the bytes of a text. */
static inline int eval_steps_text(struct eval *ev, size_t bytes)
{
    return eval_steps(ev, 1 + bytes / 256);
}
/* May this many bytes be taken?  Asked before, so that nothing large is made in vain. */
int eval_bytes(struct eval *ev, size_t n);
size_t eval_bytes_left(const struct eval *ev);

/* Results. */
int give_value(struct eval *ev, const struct value *v, struct slot *ret);
int give_bool(struct eval *ev, bool b, struct slot *ret);
int give_int(struct eval *ev, int64_t i, struct slot *ret);
int give_real(struct eval *ev, double r, struct slot *ret); /* an error unless finite */
int give_text(struct eval *ev, struct str s, struct slot *ret);
int give_undefined(struct eval *ev, struct slot *ret);
/* A list with room for n, n items short; filled with eval_list_put(). */
int eval_list(struct eval *ev, uint32_t n, struct value **ret_list);
static inline void eval_list_put(struct value *list, const struct value *v)
{
    list->items[list->n] = *v;
    list->items[list->n++].cap = 0;
}
int eval_map_put(struct eval *ev, struct value *map, struct str key, const struct value *v);

/* Runs a part of the program with n slots in use. */
int eval_block(struct eval *ev, uint32_t from, uint32_t to, uint32_t n, struct slot *ret);
int eval_loop(struct eval *ev, const struct loop *l, const struct slot *over, uint32_t n,
              struct slot *ret);
int eval_form(struct eval *ev, enum form form, uint32_t block, uint32_t n, struct slot *ret);
/* 1: the memo knew the value; 0: it does not, and *ret_keep is where it would be kept, -1 nowhere.
 */
int eval_memo_get(struct eval *ev, uint32_t once, struct slot *ret, int64_t *ret_keep);
void eval_memo_put(struct eval *ev, int64_t keep, const struct value *v);
/* ops_equal() of two values that are part of the scopes. */
int eval_memo_equal(struct eval *ev, const struct value *a, const struct value *b, bool *ret);
void eval_patterns_free(struct eval_patterns *p);

/* A list that is asked what it has (expr_among.c). */
struct among {
    const struct value *at;
    uint32_t n;
    uint32_t cursor; /* behind the last that was found */
    uint32_t *heads, *next, mask;
};
int among_has(struct eval *ev, struct among *a, const struct value *v, bool *ret);
void among_done(struct among *a);
/* The items of one list that are in another, or that are not; in their order. */
int among_filter(struct eval *ev, const struct value *from, const struct value *in, bool wanted,
                 struct slot *ret);

/* What there is at a key or index; undefined if nothing. */
void eval_member(struct eval *ev, const struct value *of, struct str key, struct slot *ret);
int eval_item(struct eval *ev, const struct value *of, const struct value *key, struct slot *ret);
/* Items of a list, keys of a map, characters of a text; anything else is an error. */
int eval_each(struct eval *ev, const struct value *v, const struct value **ret_items,
              uint32_t *ret_n);
/* A filter or test by its name at run time, as map() and select() call it. */
int eval_by_name(struct eval *ev, enum expr_table table, const struct value *name,
                 const struct slot *subject, const struct slot *more, uint32_t n_more,
                 struct slot *ret);
/* By way of "a.b.0"; a key of digits is an index. */
int eval_attribute(struct eval *ev, const struct value *v, struct str path, struct slot *ret);

/* Operators.  Equality is Python's: 1 == 1.0 == true. */
bool ops_truth(const struct value *v);
bool ops_is_number(const struct value *v); /* booleans count as well */
int ops_equal(struct eval *ev, const struct value *a, const struct value *b, bool *ret);
int ops_order(struct eval *ev, const struct value *a, const struct value *b, int *ret);
int ops_relation(struct eval *ev, enum relation r, const struct value *a, const struct value *b,
                 bool *ret);
int ops_arith(struct eval *ev, enum token_kind op, const struct value *a, const struct value *b,
              struct slot *ret);
int ops_negate(struct eval *ev, bool minus, const struct value *v, struct slot *ret);
int ops_slice(struct eval *ev, const struct slot *at, struct slot *ret);

/* --- text (expr_show.c, expr_chars.c) --- */

/* As Python's str(); a text is itself.  The result may be part of v. */
int show_text(struct eval *ev, const struct value *v, struct str *ret_s);
/* Appends str() or, inside a container, repr(). */
int show_write(struct eval *ev, struct buf *b, const struct value *v, bool repr);
int show_json(struct eval *ev, struct buf *b, const struct value *v, uint32_t indent);
/* A decimal number as Python's float() reads it, but finite; false if it is none. */
bool chars_read_real(struct str s, double *ret_r);
enum read_int { READ_INT_OK, READ_INT_NONE, READ_INT_LARGE };
/* As Python's int(s, base). */
enum read_int chars_read_int(struct str s, uint32_t base, int64_t *ret_i);
const char *show_kind(const struct value *v); /* "a list" */

struct str chars_trim(struct str s);
size_t chars_count(struct str s);
/* The code point at s, which is not empty; *ret_len is what it takes.  Bytes that are not UTF-8
 * stand for themselves. */
uint32_t chars_at(struct str s, size_t *ret_len);
void chars_put(struct buf *b, uint32_t c);
bool chars_is_space(uint32_t c);
bool chars_is_printable(uint32_t c);
void chars_put_upper(struct buf *b, uint32_t c);
void chars_put_lower(struct buf *b, uint32_t c);

/* --- the tables --- */

/* NULL if there is none. */
const struct builtin *builtin_find(enum expr_table table, struct str name);
/* The nearest name, for a hint; NULL. */
const char *builtin_nearest(enum expr_table table, struct str name);
/* Parameters that are given by place, and those that have a name.  Behind a "*" there are only
 * names; what is given by place beyond the first is handed over behind the latter. */
void builtin_params(const char *params, uint32_t *ret_places, uint32_t *ret_names);
/* The number of a parameter, -1 if there is none of that name. */
int builtin_param_find(const char *params, struct str name);

/* clang-format off */
/*    name             function        parameters                             min flags */
#define EXPR_FILTERS(X)                                                                            \
    X("abs",           abs,            "value",                               1,  0)               \
    X("bool",          bool,           "value",                               1,  0)               \
    X("capitalize",    capitalize,     "s",                                   1,  0)               \
    X("combine",       combine,        "value * recursive",                   1,  BUILTIN_MORE)    \
    X("count",         length,         "value",                               1,  0)               \
    X("d",             default,        "value default_value boolean",         1,  BUILTIN_ANY_ALL) \
    X("default",       default,        "value default_value boolean",         1,  BUILTIN_ANY_ALL) \
    X("dictsort",      dictsort,       "value case_sensitive by reverse",     1,  0)               \
    X("first",         first,          "seq",                                 1,  0)               \
    X("flatten",       flatten,        "value",                               1,  0)               \
    X("float",         float,          "value default",                       1,  0)               \
    X("fromjson",      fromjson,       "value",                               1,  0)               \
    X("int",           int,            "value default base",                  1,  0)               \
    X("intersect",     intersect,      "value other",                         2,  0)               \
    X("items",         items,          "value",                               1,  BUILTIN_ANY)     \
    X("join",          join,           "value d attribute",                   1,  0)               \
    X("keys",          keys,           "value",                               1,  0)               \
    X("last",          last,           "seq",                                 1,  0)               \
    X("length",        length,         "value",                               1,  0)               \
    X("list",          list,           "value",                               1,  0)               \
    X("lower",         lower,          "s",                                   1,  0)               \
    X("map",           map,            "value filter * attribute default",    1,  BUILTIN_MORE)    \
    X("max",           max,            "value case_sensitive attribute",      1,  0)               \
    X("min",           min,            "value case_sensitive attribute",      1,  0)               \
    X("regex_match",   regex_match,    "value pattern",                       2,  0)               \
    X("regex_replace", regex_replace,  "value pattern replacement count",     3,  0)               \
    X("reject",        reject,         "value test",                          1,  BUILTIN_MORE)    \
    X("rejectattr",    rejectattr,     "value attribute test",                2,  BUILTIN_MORE)    \
    X("replace",       replace,        "s old new count",                     3,  0)               \
    X("reverse",       reverse,        "value",                               1,  0)               \
    X("round",         round,          "value precision method",              1,  0)               \
    X("select",        select,         "value test",                          1,  BUILTIN_MORE)    \
    X("selectattr",    selectattr,     "value attribute test",                2,  BUILTIN_MORE)    \
    X("sort",          sort,           "value reverse case_sensitive attribute", 1, 0)             \
    X("split",         split,          "value separator maxsplit",            1,  0)               \
    X("string",        string,         "value",                               1,  0)               \
    X("sum",           sum,            "iterable attribute start",            1,  0)               \
    X("title",         title,          "s",                                   1,  0)               \
    X("tojson",        tojson,         "value indent",                        1,  0)               \
    X("toyaml",        toyaml,         "value",                               1,  0)               \
    X("trim",          trim,           "value chars",                         1,  0)               \
    X("unique",        unique,         "value case_sensitive attribute",      1,  0)               \
    X("upper",         upper,          "s",                                   1,  0)               \
    X("values",        values,         "value",                               1,  0)

#define EXPR_TESTS(X)                                                                              \
    X("boolean",       boolean,        "value",                               1,  BUILTIN_ANY)     \
    X("defined",       defined,        "value",                               1,  BUILTIN_ANY)     \
    X("divisibleby",   divisibleby,    "value num",                           2,  0)               \
    X("eq",            eq,             "a b",                                 2,  0)               \
    X("equalto",       eq,             "a b",                                 2,  0)               \
    X("==",            eq,             "a b",                                 2,  0)               \
    X("even",          even,           "value",                               1,  0)               \
    X("false",         false,          "value",                               1,  BUILTIN_ANY)     \
    X("float",         float,          "value",                               1,  BUILTIN_ANY)     \
    X("ge",            ge,             "a b",                                 2,  0)               \
    X(">=",            ge,             "a b",                                 2,  0)               \
    X("gt",            gt,             "a b",                                 2,  0)               \
    X("greaterthan",   gt,             "a b",                                 2,  0)               \
    X(">",             gt,             "a b",                                 2,  0)               \
    X("in",            in,             "value seq",                           2,  0)               \
    X("integer",       integer,        "value",                               1,  BUILTIN_ANY)     \
    X("iterable",      iterable,       "value",                               1,  0)               \
    X("le",            le,             "a b",                                 2,  0)               \
    X("<=",            le,             "a b",                                 2,  0)               \
    X("lt",            lt,             "a b",                                 2,  0)               \
    X("lessthan",      lt,             "a b",                                 2,  0)               \
    X("<",             lt,             "a b",                                 2,  0)               \
    X("mapping",       mapping,        "value",                               1,  BUILTIN_ANY)     \
    X("match",         match,          "value pattern",                       2,  0)               \
    X("ne",            ne,             "a b",                                 2,  0)               \
    X("!=",            ne,             "a b",                                 2,  0)               \
    X("none",          none,           "value",                               1,  BUILTIN_ANY)     \
    X("number",        number,         "value",                               1,  BUILTIN_ANY)     \
    X("odd",           odd,            "value",                               1,  0)               \
    X("sequence",      sequence,       "value",                               1,  BUILTIN_ANY)     \
    X("string",        string,         "value",                               1,  BUILTIN_ANY)     \
    X("true",          true,           "value",                               1,  BUILTIN_ANY)     \
    X("undefined",     undefined,      "value",                               1,  BUILTIN_ANY)

#define EXPR_FUNCTIONS(X)                                                                          \
    X("addr_next",     addr_next,      "addr",                                1,  0)               \
    X("address_free",  address_free,   "first last taken",                    3,  0)               \
    X("cidr_contains", cidr_contains,  "net addr",                            2,  0)               \
    X("cidr_host",     cidr_host,      "net n",                               2,  0)               \
    X("cidr_network",  cidr_network,   "net",                                 1,  0)               \
    X("cidr_prefix",   cidr_prefix,    "net",                                 1,  0)               \
    X("range",         range,          "start stop step",                     1,  0)
/* clang-format on */

#define X(name, f, params, min, flags)                                                             \
    int expr_filter_##f(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret);
EXPR_FILTERS(X)
#undef X
#define X(name, f, params, min, flags)                                                             \
    int expr_test_##f(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret);
EXPR_TESTS(X)
#undef X
#define X(name, f, params, min, flags)                                                             \
    int expr_fn_##f(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret);
EXPR_FUNCTIONS(X)
#undef X

#endif
