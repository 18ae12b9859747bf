//! A process that writes a journal and says what is durable, for tests that kill it or cut its power, and a judge who holds
//! what is on the disk against what was said.
//!
//! `journal_writer write|judge key=value ...`; the keys are those of `order::Order`.
//!
//! | Said by `write` | When |
//! |---|---|
//! | `founded` | the journal exists: whoever starts next must find it |
//! | `ack GROUP OP IDENTITY` | the prepare is durable; said again by each writer that finds it |
//! | `view GROUP VIEW` | the view record is durable |
//! | `files COUNT` | before a block is written to the last of so many files: the next start is told so |
//! | `floor GROUP OP` | before the group's ops up to there are released: the next start is told so |
//! | `done` | all that was ordered is durable |
//!
//! What all writers of a journal have said is kept in one file, the key `said`. Exit status: 0; 64 for an order that is none, 65
//! for damage and broken promises, 74 for a disk that fails.

mod judge;
mod order;
mod reader;
mod writer;

use std::process::ExitCode;

fn main() -> ExitCode {
    order::obey(std::env::args().skip(1))
}
