-- try.lua   what try.py and try.rs do, too: learns to tell two classes, saves, loads, classifies,
-- learns to reverse a line, decodes, and meets an error.
local synthesizer = require "synthesizer"

local c = synthesizer.context()
local m = c:learn([[
  task = classify; src_tokenizer = space; tgt_tokenizer = line; hold_back = 0
  encoder = res(syn_att(R+V)) -> norm  # two kinds of scores, mixed
  d_model = 16; heads = 2; max_len = 10; tie = none; batch_tokens = 100
  optimizer = adam; lr = 0.01; steps = 60; epochs = 60]],
  {"the sun is hot", "a warm day", "we swim in the sea", "snow falls", "the ice is cold",
   "a frosty night"},
  {"summer", "summer", "summer", "winter", "winter", "winter"})
m:save("seasons.safetensors")
local loaded = c:load("seasons.safetensors")
print(loaded:classify("the sun is hot") .. " " .. loaded:classify("the ice is cold"))

local reverse = c:learn([[
  task = seq2seq; src_tokenizer = space; tgt_tokenizer = space; hold_back = 0
  encoder = pos -> res_nd(syn_att(R+V)) -> norm
  decoder = pos -> res_nd(syn_att(R+V)) -> res_nd(mh_dot_att) -> res_nd(ffl) -> norm
  d_model = 32; heads = 2; max_len = 10; tie = none; batch_tokens = 100
  optimizer = adam; lr = 0.01; steps = 60; epochs = 60]], {"a b c", "d e"}, {"c b a", "e d"})
print(reverse:decode("a b c", "beam=1"))

local made, message = pcall(c.model, c, "task=lm; decoder=res(syn_at(V)); tgt_vocab=10")
print("an error: " .. message)
assert(not made)
