//! The fuzz targets: each takes any bytes and panics when a decoder breaks a promise about them.

pub mod client_frame;
pub mod primitives;
pub mod request_body;
