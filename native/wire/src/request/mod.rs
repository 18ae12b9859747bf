//! Bodies of requests, read into values that borrow from them.

mod client;
mod options;
mod register;

pub use client::client_id;
pub use options::{OptionScope, option_scope};
pub use register::{Credentials, Register, RegisterFault};
