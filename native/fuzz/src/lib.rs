//! The fuzz targets: each takes any bytes and panics when the wire crate breaks a promise about them.

pub mod client_frame;
pub mod primitives;
pub mod request_body;
