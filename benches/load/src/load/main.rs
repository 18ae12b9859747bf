//! Loads a server through the real client and says what it saw, from one thread.
//!
//! `ng-load prepare` makes the topic that the others use, `ng-load run` measures one case. The address may be that of a
//! node or of the null sink, which needs no topic.

mod arguments;
mod clients;
mod measure;
mod pace;
mod progress;
mod report;
mod server;
mod workload;

use std::error::Error;

use clap::Parser;
use tokio::runtime::Builder;

use arguments::{Arguments, Command};

/// What ends a run early: anything that is not the answer that was expected.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let arguments = Arguments::parse();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match arguments.command {
            Command::Prepare(prepare) => workload::prepare(&prepare).await,
            Command::Run(run) => {
                let report = measure::run(&run).await?;
                report.print(run.json)
            }
        }
    })
}
