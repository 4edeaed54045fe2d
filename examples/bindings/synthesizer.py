"""synthesizer.py   the library for Python, by ctypes alone: no compiler, no struct but a text.

    make -C tools shared
    LIBRARY=tools/build/libsynthesizer.so python3 examples/bindings/try.py

An object keeps what it was made of, so that it is freed first. Errors are exceptions. A context,
with all that was made of it, is for one thread at a time: ctypes lets other threads run meanwhile.
"""
import ctypes
import os
import weakref
from ctypes import POINTER, c_char, c_char_p, c_float, c_int, c_size_t, c_void_p


class Text(ctypes.Structure):
    _fields_ = [("at", POINTER(c_char)), ("size", c_size_t)]

    def __str__(self):
        return ctypes.string_at(self.at, self.size).decode(errors="replace") if self.size else ""


def text(s):
    data = s.encode()
    t = Text(ctypes.cast(c_char_p(data), POINTER(c_char)), len(data))
    t.data = data  # lives as long
    return t


def texts(lines):
    array = (Text * len(lines))()
    array.kept = [text(line) for line in lines]
    for i, t in enumerate(array.kept):
        array[i] = t
    return array


library = ctypes.CDLL(os.environ.get("LIBRARY", "libsynthesizer.so"))
ON_PIECE = ctypes.CFUNCTYPE(c_int, c_void_p, Text)
for name, result, *arguments in [
        ("syn_version", c_int), ("syn_context_with", c_void_p, c_char_p),
        ("syn_context_free", None, c_void_p), ("syn_context_message", c_char_p, c_void_p),
        ("syn_context_clear", None, c_void_p),
        ("syn_learn_with", c_void_p, c_void_p, c_char_p, POINTER(Text), POINTER(Text), c_size_t),
        ("syn_model_with", c_void_p, c_void_p, c_char_p),
        ("syn_model_load", c_void_p, c_void_p, c_char_p),
        ("syn_model_save", c_int, c_void_p, c_void_p, c_char_p),
        ("syn_model_free", None, c_void_p), ("syn_run_free", None, c_void_p),
        ("syn_run_with", c_void_p, c_void_p, c_void_p, c_char_p),
        ("syn_classify", Text, c_void_p, Text, POINTER(c_float)),
        ("syn_decoder_with", c_void_p, c_void_p, c_void_p, c_char_p),
        ("syn_decoder_free", None, c_void_p),
        ("syn_decoder_run_text", c_int, c_void_p, Text, Text, ON_PIECE, c_void_p)]:
    getattr(library, name).restype, getattr(library, name).argtypes = result, arguments


class Error(Exception):
    pass


class Object:
    """What one function makes and another one frees; its finalizer keeps what it was made of."""

    def __init__(self, context, of, free, pointer):
        self.context = context or self
        self.pointer = pointer
        if pointer:
            weakref.finalize(self, lambda p, of: getattr(library, free)(p), pointer, of)
        self.context.check()

    def check(self):
        message = library.syn_context_message(self.context.pointer).decode()
        if message:
            library.syn_context_clear(self.context.pointer)
            raise Error(message)


class Context(Object):
    def __init__(self, settings=""):
        pointer = library.syn_context_with(settings.encode())
        super().__init__(None, None, "syn_context_free", pointer)

    def model(self, settings):
        return Model(self, library.syn_model_with(self.pointer, settings.encode()))

    def load(self, path):
        return Model(self, library.syn_model_load(self.pointer, os.fsencode(path)))

    def learn(self, settings, sources, targets):
        return Model(self, library.syn_learn_with(self.pointer, settings.encode(), texts(sources),
                                                  texts(targets), len(targets)))


class Model(Object):
    def __init__(self, context, pointer):
        super().__init__(context, context, "syn_model_free", pointer)

    def save(self, path):
        library.syn_model_save(self.context.pointer, self.pointer, os.fsencode(path))
        self.check()

    def classify(self, line, settings=""):
        run = Object(self.context, self, "syn_run_free",
                     library.syn_run_with(self.context.pointer, self.pointer, settings.encode()))
        label = str(library.syn_classify(run.pointer, text(line), None))
        self.check()
        return label

    def decode(self, source, settings="", prompt=""):
        pieces = []
        keep = ON_PIECE(lambda user, piece: pieces.append(str(piece)) or 0)
        decoder = Object(self.context, self, "syn_decoder_free", library.syn_decoder_with(
            self.context.pointer, self.pointer, settings.encode()))
        library.syn_decoder_run_text(decoder.pointer, text(source), text(prompt), keep, None)
        self.check()
        return "".join(pieces)
