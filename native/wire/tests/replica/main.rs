//! Replica frames against the bytes of `REPLICA.md`.

mod golden;
mod hostile;
mod round_trip;
mod values;
