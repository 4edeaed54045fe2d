// synthesizer.rs   the library for Rust, without a crate. An object borrows what it was made of, so
// the compiler makes sure that it is dropped first; a Context is not Sync: it is for one thread.
//
//   make -C tools shared
//   rustc -L tools/build examples/bindings/try.rs -o try && LD_LIBRARY_PATH=tools/build ./try
use std::ffi::{c_char, c_float, c_int, c_void, CStr, CString};
use std::ptr::{null, null_mut};

#[repr(C)]
#[derive(Clone, Copy)]
struct Text {
    at: *const u8,
    size: usize,
}

type Pointer = *mut c_void; // a context, model, run or decoder
type OnPiece = extern "C" fn(user: Pointer, piece: Text) -> c_int;

#[link(name = "synthesizer")]
extern "C" {
    fn syn_context_with(settings: *const c_char) -> Pointer;
    fn syn_context_free(c: Pointer);
    fn syn_context_message(c: Pointer) -> *const c_char;
    fn syn_context_clear(c: Pointer);
    fn syn_learn_with(c: Pointer, settings: *const c_char, src: *const Text, tgt: *const Text,
                      count: usize) -> Pointer;
    fn syn_model_with(c: Pointer, settings: *const c_char) -> Pointer;
    fn syn_model_load(c: Pointer, path: *const c_char) -> Pointer;
    fn syn_model_save(c: Pointer, m: Pointer, path: *const c_char) -> c_int;
    fn syn_model_free(m: Pointer);
    fn syn_run_with(c: Pointer, m: Pointer, settings: *const c_char) -> Pointer;
    fn syn_run_free(r: Pointer);
    fn syn_classify(r: Pointer, text: Text, p: *mut c_float) -> Text;
    fn syn_decoder_with(c: Pointer, m: Pointer, settings: *const c_char) -> Pointer;
    fn syn_decoder_free(d: Pointer);
    fn syn_decoder_run_text(d: Pointer, source: Text, prompt: Text, call: OnPiece, user: Pointer)
                            -> c_int;
}

fn text(s: &str) -> Text { Text { at: s.as_ptr(), size: s.len() } }
fn ended(s: &str) -> CString { CString::new(s).expect("a text with a 0 in it") }
fn string(t: Text) -> String {
    let bytes = if t.size == 0 { &[] } else { unsafe { std::slice::from_raw_parts(t.at, t.size) } };
    String::from_utf8_lossy(bytes).into_owned()
}
extern "C" fn on_piece(user: Pointer, piece: Text) -> c_int {
    unsafe { (*(user as *mut String)).push_str(&string(piece)) };
    0
}

pub struct Context(Pointer);
pub struct Model<'a> {
    pointer: Pointer,
    context: &'a Context,
}

impl Context {
    pub fn new(settings: &str) -> Result<Context, String> {
        let c = Context(unsafe { syn_context_with(ended(settings).as_ptr()) });
        c.check()?;
        Ok(c)
    }
    /// The error that the context keeps, if there is one; it is cleared.
    fn check(&self) -> Result<(), String> {
        let message = unsafe { CStr::from_ptr(syn_context_message(self.0)) };
        let message = message.to_string_lossy().into_owned();
        unsafe { syn_context_clear(self.0) };
        if message.is_empty() { Ok(()) } else { Err(message) }
    }
    fn made(&self, pointer: Pointer) -> Result<Model<'_>, String> {
        self.check()?;
        Ok(Model { pointer, context: self })
    }
    pub fn model(&self, settings: &str) -> Result<Model<'_>, String> {
        self.made(unsafe { syn_model_with(self.0, ended(settings).as_ptr()) })
    }
    pub fn load(&self, path: &str) -> Result<Model<'_>, String> {
        self.made(unsafe { syn_model_load(self.0, ended(path).as_ptr()) })
    }
    pub fn learn(&self, settings: &str, rows: &[(&str, &str)]) -> Result<Model<'_>, String> {
        let src: Vec<Text> = rows.iter().map(|row| text(row.0)).collect();
        let tgt: Vec<Text> = rows.iter().map(|row| text(row.1)).collect();
        self.made(unsafe {
            syn_learn_with(self.0, ended(settings).as_ptr(), src.as_ptr(), tgt.as_ptr(), rows.len())
        })
    }
}
impl Drop for Context {
    fn drop(&mut self) { unsafe { syn_context_free(self.0) } }
}
impl Drop for Model<'_> {
    fn drop(&mut self) { unsafe { syn_model_free(self.pointer) } }
}

impl Model<'_> {
    pub fn save(&self, path: &str) -> Result<(), String> {
        unsafe { syn_model_save(self.context.0, self.pointer, ended(path).as_ptr()) };
        self.context.check()
    }
    pub fn classify(&self, line: &str) -> Result<String, String> {
        let run = unsafe { syn_run_with(self.context.0, self.pointer, null()) };
        let label = string(unsafe { syn_classify(run, text(line), null_mut()) });
        unsafe { syn_run_free(run) };
        self.context.check().map(|_| label)
    }
    pub fn decode(&self, source: &str, settings: &str) -> Result<String, String> {
        let mut out = String::new();
        let user = &mut out as *mut String as Pointer;
        unsafe {
            let decoder = syn_decoder_with(self.context.0, self.pointer, ended(settings).as_ptr());
            syn_decoder_run_text(decoder, text(source), text(""), on_piece, user);
            syn_decoder_free(decoder);
        }
        self.context.check().map(|_| out)
    }
}
