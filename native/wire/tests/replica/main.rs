//! Replica frames against the bytes of `REPLICA.md`.

mod body_check;
mod golden;
mod hostile;
mod round_trip;
mod values;
