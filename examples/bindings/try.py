# try.py   what try.lua and try.rs do, too: learns to tell two classes, saves, loads, classifies,
# learns to reverse a line, decodes, and meets an error.
import synthesizer

c = synthesizer.Context("threads=1")
ROWS = [("the sun is hot", "summer"), ("a warm day", "summer"), ("we swim in the sea", "summer"),
        ("snow falls", "winter"), ("the ice is cold", "winter"), ("a frosty night", "winter")]
SETTINGS = """
task = classify; src_tokenizer = space; tgt_tokenizer = line; hold_back = 0
encoder = res(syn_att(R+V)) -> norm  # two kinds of scores, mixed
d_model = 16; heads = 2; max_len = 10; tie = none; batch_tokens = 100
optimizer = adam; lr = 0.01; steps = 60; epochs = 60
"""
m = c.learn(SETTINGS, [row[0] for row in ROWS], [row[1] for row in ROWS])
m.save("seasons.safetensors")
loaded = c.load("seasons.safetensors")
print(loaded.classify("the sun is hot"), loaded.classify("the ice is cold"))

reverse = c.learn("""task = seq2seq; src_tokenizer = space; tgt_tokenizer = space; hold_back = 0
    encoder = pos -> res_nd(syn_att(R+V)) -> norm
    decoder = pos -> res_nd(syn_att(R+V)) -> res_nd(mh_dot_att) -> res_nd(ffl) -> norm
    d_model = 32; heads = 2; max_len = 10; tie = none; batch_tokens = 100
    optimizer = adam; lr = 0.01; steps = 60; epochs = 60""", ["a b c", "d e"], ["c b a", "e d"])
print(reverse.decode("a b c", "beam=1"))

try:
    c.model("task=lm; decoder=res(syn_at(V)); tgt_vocab=10")
except synthesizer.Error as error:
    print("an error:", error)
