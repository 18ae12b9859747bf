//! Plays one part of an application's life through the real Rust client, and ends with status 0 if all came as it must.
//!
//! `ng-rust-client ADDRESS SCENARIO`. Each scenario works in a stream of its own, which it makes and removes.

mod applications;
mod asking;
mod offsets;
mod partitioning;
mod polling;
mod removal;
mod streams;

use std::env;
use std::error::Error;

use tokio::runtime::Builder;

use asking::connect;

/// What ends a scenario early; what is not as it must be is an assertion.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, scenario] = &arguments[..] else {
        return Err("the arguments are an address and a scenario".into());
    };
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = connect(address).await?;
        match scenario.as_str() {
            "streams" => streams::play(&client).await,
            "partitioning" => partitioning::play(&client).await,
            "polling" => polling::play(&client).await,
            "offsets" => offsets::play(&client).await,
            "removal" => removal::play(&client).await,
            "applications" => applications::play(&client).await,
            unknown => Err(format!("there is no scenario {unknown}").into()),
        }
    })
}
