//! The command line.

use std::num::NonZeroU32;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Loads a server through the real client.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make the topic, and fill it for those who will poll.
    Prepare(Prepare),
    /// Measure.
    Run(Run),
}

/// Where the server is, and what one request carries.
#[derive(Args, Clone, Debug)]
pub(crate) struct Shape {
    /// Host and port.
    #[arg(long)]
    pub(crate) address: String,
    /// Messages of one request.
    #[arg(long)]
    pub(crate) messages: NonZeroU32,
    /// Payload bytes of one message.
    #[arg(long)]
    pub(crate) bytes: usize,
    /// Partitions of the topic; clients are spread over them.
    #[arg(long, default_value = "1")]
    pub(crate) partitions: NonZeroU32,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Prepare {
    #[command(flatten)]
    pub(crate) shape: Shape,
    /// Batches to leave in each partition.
    #[arg(long, default_value_t = 0)]
    pub(crate) batches: u32,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) shape: Shape,
    /// What clients do.
    #[arg(long)]
    pub(crate) kind: Kind,
    /// Clients, each with a connection of its own and one request under way.
    #[arg(long, default_value = "1")]
    pub(crate) clients: NonZeroU32,
    /// Messages in each partition, over which polls go again and again.
    #[arg(long, default_value_t = 0, required_if_eq("kind", "poll"))]
    pub(crate) filled: u64,
    /// Requests that come before those that count.
    #[arg(long, default_value_t = 0)]
    pub(crate) warm_up: u64,
    /// Requests to measure at most.
    #[arg(long)]
    pub(crate) requests: u64,
    /// Seconds to measure at most.
    #[arg(long, value_parser = seconds)]
    pub(crate) seconds: Duration,
    /// Requests per second over all clients, due at even distances whether or not the ones before are answered.
    /// Without it each client asks as soon as it is answered.
    #[arg(long)]
    pub(crate) rate: Option<f64>,
    /// Leave Nagle's algorithm on, as clients do by default.
    #[arg(long)]
    pub(crate) nagle: bool,
    /// The process to read the costs of.
    #[arg(long)]
    pub(crate) pid: u32,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Send a batch that was made before.
    Send,
    /// Poll without committing, from the first message on.
    Poll,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().map_err(|error| error.to_string())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
