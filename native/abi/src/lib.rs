//! The C boundary: what Python calls, and nothing else.
//!
//! Every export has one order: the right process, then the pointers, then a copy, then safe code; and turns a panic into
//! a status. Bytes are copied in and out; no pointer is kept, no callback exists, and no Python ever runs on a native
//! thread. Results are `int64_t`: zero or more is a success, less is a negated [`status::Status`], whose sentence the
//! same thread can read with `engine_last_error`.

pub mod bytes;
pub mod codec;
pub mod describe;
pub mod engine;
pub mod guard;
pub mod handle;
pub mod open;
pub mod panic_hook;
pub mod probe;
pub mod recover;
pub mod status;
