/* synthesizer_lua.c   the library for Lua 5.4, in the memory of its allocator, which wants the size
   of what it frees. Lua finalizes what was made last first: a model before its context.
     make -C tools shared
     cc -shared -fPIC -I. -I/usr/include/lua5.4 examples/bindings/synthesizer_lua.c \
       -o synthesizer.so -Ltools/build -lsynthesizer
     LD_LIBRARY_PATH=tools/build lua5.4 examples/bindings/try.lua */
#include <lauxlib.h>
#include <string.h>
#include "synthesizer.h"
#define CONTEXT "synthesizer.context"
#define MODEL "synthesizer.model"

typedef struct object {
  syn_context *c;
  syn_model *m;
  lua_Alloc alloc; /* of a context */
  void *alloc_user;
} object;
static void *take(void *user, size_t bytes) {
  return ((object *)user)->alloc(((object *)user)->alloc_user, NULL, 0, bytes);
}
static void give(void *user, void *block, size_t bytes) {
  ((object *)user)->alloc(((object *)user)->alloc_user, block, bytes, 0);
}
/* Returns `results`, or the error of the context as a Lua error. */
static int done(lua_State *L, syn_context *c, int results) {
  if (!*syn_context_message(c)) return results;
  lua_pushstring(L, syn_context_message(c));
  syn_context_clear(c);
  return lua_error(L);
}
static object *get(lua_State *L, const char *type) { return (object *)luaL_checkudata(L, 1, type); }
static syn_text text_at(lua_State *L, int i) {
  syn_text text;
  text.at = luaL_checklstring(L, i, &text.size);
  return text;
}
static object *push(lua_State *L, const char *type, syn_context *c) {
  object *o = (object *)lua_newuserdatauv(L, sizeof *o, 1);
  memset(o, 0, sizeof *o);
  o->c = c;
  luaL_setmetatable(L, type);
  lua_pushvalue(L, 1); /* a model keeps the first argument, its context */
  lua_setiuservalue(L, -2, 1);
  return o;
}

static int context_new(lua_State *L) { /* synthesizer.context(threads) */
  object *o = (lua_settop(L, 1), push(L, CONTEXT, NULL));
  syn_options options = {.alloc = take, .release = give, .alloc_user = o};
  options.threads = (int)luaL_optinteger(L, 1, 1);
  o->alloc = lua_getallocf(L, &o->alloc_user);
  o->c = syn_context_new(&options);
  return done(L, o->c, 1);
}
static int object_free(lua_State *L) {
  object *o = (object *)lua_touserdata(L, 1);
  syn_model_free(o->m);
  if (o->alloc) syn_context_free(o->c);
  return memset(o, 0, sizeof *o), 0;
}
static int made(lua_State *L, syn_model *(*make)(syn_context *c, const char *text)) {
  object *o = push(L, MODEL, get(L, CONTEXT)->c);
  o->m = make(o->c, luaL_checkstring(L, 2));
  return done(L, o->c, 1);
}
static int model_new(lua_State *L) { return made(L, syn_model_with); }  /* c:model(settings) */
static int model_load(lua_State *L) { return made(L, syn_model_load); } /* c:load(path) */
static int model_learn(lua_State *L) { /* c:learn(settings, {source, ...}, {target, ...}) */
  const size_t n = (size_t)luaL_len(L, 4);
  syn_text *texts = (syn_text *)lua_newuserdatauv(L, (2 * n + 1) * sizeof *texts, 0);
  object *o = push(L, MODEL, get(L, CONTEXT)->c);
  size_t i;
  for (i = 0; i < 2 * n; i++, lua_pop(L, 1)) { /* the tables keep their texts */
    lua_geti(L, i < n ? 3 : 4, (lua_Integer)(i % n + 1));
    texts[i] = text_at(L, -1);
  }
  o->m = syn_learn_with(o->c, luaL_checkstring(L, 2), texts, texts + n, n);
  return done(L, o->c, 1);
}
static int model_save(lua_State *L) { /* m:save(path) */
  const object *o = get(L, MODEL);
  syn_model_save(o->c, o->m, luaL_checkstring(L, 2));
  return done(L, o->c, 0);
}
static int model_classify(lua_State *L) { /* m:classify(text) */
  const object *o = get(L, MODEL);
  const syn_text text = text_at(L, 2);
  syn_run *r = syn_run_with(o->c, o->m, NULL);
  const syn_text label = syn_classify(r, text, NULL); /* lives as long as the model */
  syn_run_free(r);
  lua_pushlstring(L, label.at, label.size);
  return done(L, o->c, 1);
}
static int model_decode(lua_State *L) { /* m:decode(source, settings) */
  const object *o = get(L, MODEL);
  const syn_text source = text_at(L, 2);
  syn_decoder *d = syn_decoder_with(o->c, o->m, luaL_optstring(L, 3, ""));
  char out[4000];
  syn_decoder_run_text(d, source, syn_text_of(""), NULL, NULL);
  syn_decoder_output_text(d, 0, 0, out, sizeof out, NULL);
  syn_decoder_free(d);
  lua_pushstring(L, out);
  return done(L, o->c, 1);
}
static const luaL_Reg methods[] = {
    {"__gc", object_free}, {"model", model_new},         {"load", model_load},     {"learn", model_learn},
    {"save", model_save},  {"classify", model_classify}, {"decode", model_decode}, {0, 0}};
LUAMOD_API int luaopen_synthesizer(lua_State *L) {
  static const luaL_Reg functions[] = {{"context", context_new}, {0, 0}};
  int i;
  for (i = 0; i < 2; i++) {
    luaL_newmetatable(L, i ? MODEL : CONTEXT);
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
  }
  luaL_newlib(L, functions);
  return 1;
}
