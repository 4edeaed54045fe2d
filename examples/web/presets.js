// presets.js   the networks of the papers, at the size of this page, and what the words mean
"use strict";

const reads = (layer) => `pos -> repeat(2, res_nd(${layer}) -> res_nd(ffl)) -> norm`;
const writes = (layer) =>
  `pos -> repeat(2, res_nd(${layer}) -> res_nd(mh_dot_att) -> res_nd(ffl)) -> norm`;
const attention = (kinds, name, paper) => ({
  name,
  paper,
  encoder: reads(`syn_att(${kinds})`),
  decoder: writes(`syn_att(${kinds})`),
});

const TAY = "Tay et al. 2021";
const PRESETS = [
  attention("R+V", "R+V: learned matrix and queries with keys", TAY),
  attention("V", "V: queries with keys, the Transformer", "Vaswani et al. 2017"),
  attention("R", "R: a learned matrix", TAY),
  attention("Fix", "Fix: a random matrix, never trained", TAY),
  attention("FR", "FR: a learned matrix of low rank", TAY),
  attention("D", "D: scores from each token alone", TAY),
  attention("FD", "FD: the same, factorized", TAY),
  attention("D+V", "D+V: mixture", TAY),
  attention("R+D", "R+D: mixture", TAY),
  {
    name: "light convolution",
    paper: "Wu et al. 2019",
    encoder: reads("light_conv(5)"),
    decoder: writes("light_conv(5)"),
  },
  {
    name: "dynamic convolution",
    paper: "Wu et al. 2019",
    encoder: reads("dyn_conv(5)"),
    decoder: writes("dyn_conv(5)"),
  },
  {
    name: "recurrent: LSTM with attention",
    paper: "Luong et al. 2015; Domhan 2018",
    encoder: "birnn -> res(norm -> birnn)",
    decoder: "rnn -> res(norm -> rnn) -> res(norm -> mlp_att) -> norm",
  },
  {
    name: "convolutions: ConvS2S",
    paper: "Gehring et al. 2017; Domhan 2018",
    encoder: "pos -> repeat(2, res(norm -> cnn)) -> norm",
    decoder: "pos -> repeat(2, res(norm -> cnn) -> res(norm -> dot_src_att(s=1))) -> norm",
  },
  {
    name: "universal: one block twice",
    paper: "Dehghani et al. 2019",
    encoder: "universal(2, res_nd(syn_att(V)) -> res_nd(ffl)) -> norm",
    decoder: "universal(2, res_nd(syn_att(V)) -> res_nd(mh_dot_att) -> res_nd(ffl)) -> norm",
  },
  {
    name: "fixed attention in the encoder",
    paper: "Raganato et al. 2020",
    encoder: "pos -> repeat(2, res_nd(fixed_att(8)) -> res_nd(ffl)) -> norm",
    decoder: writes("syn_att(V)"),
  },
  {
    name: "no self-attention in the decoder",
    paper: "Domhan 2018",
    encoder: reads("syn_att(V)"),
    decoder: "pos -> repeat(2, res_nd(mh_dot_att) -> res_nd(ffl)) -> norm",
  },
];

// What completion says about a word. Names of layers that are missing here come from the library,
// with their arguments.
const WORDS = {
  pos: "x √d + sinusoids of the place",
  learn_pos: "x + a learned vector of the place",
  ngram: "x + learned vectors of the n-grams that end here",
  dropout: "sets a share of the numbers to 0 while training",
  id: "nothing",
  linear: "x Wᵀ + b",
  ff: "act(x Wᵀ + b)",
  ffl: "ff, then linear: the feed-forward layer",
  cnn: "convolution over k tokens",
  act: "relu, gelu, tanh, sigmoid, swish …",
  norm: "normalizes each row",
  rms_norm: "the same without mean and shift",
  rnn: "recurrent from token to token: lstm or gru",
  birnn: "recurrent from both ends; encoder",
  res: "x + layers(x)",
  res_d: "res with dropout",
  res_nd: "res with norm before, dropout behind",
  highway: "g x + (1 − g) layers(x), g learned",
  concat: "results side by side",
  parallel: "results side by side",
  parallel_add: "results added",
  repeat: "n copies with weights of their own",
  universal: "n steps with the same weights",
  input_feed: "the output of the token before beside x; first in a decoder",
  syn_att: "self-attention: syn_att(V), syn_att(R+V) …",
  rel_pos: "bias of the distance for attention",
  rope: "rotates queries and keys by their places",
  mh_dot_self_att: "syn_att(V), the Transformer's",
  mh_dot_att: "attention to the source",
  mh_dot_src_att: "attention to the source",
  dot_src_att: "attention to the source, one head",
  mlp_att: "additive attention to the source",
  mlp_src_att: "additive attention to the source",
  aop: "attention to learned keys and values",
  light_conv: "averages over k tokens, learned",
  dyn_conv: "averages over k tokens, made from the token",
  linformer: "attention to k sums; encoder",
  fixed_att: "seven heads look at fixed places; encoder",
  V: "queries with keys",
  R: "a learned matrix",
  Fix: "a random matrix, never trained",
  FR: "a learned matrix of low rank",
  D: "scores from each token alone",
  FD: "D, factorized",
  BD: "D with few hidden units a head",
  Conv: "scores by a convolution",
  CRC: "two convolutions, relu between",
  BCRC: "the same with channels for each head",
  GLU: "scores by a gated linear unit",
};
const SCORES = ["V", "R", "Fix", "FR", "D", "FD", "BD", "Conv", "CRC", "BCRC", "GLU"];
