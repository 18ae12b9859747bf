//! One measurement: the clients, their requests in a closed or an open loop, and what it cost the server.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use hdrhistogram::Histogram;
use tokio::task::LocalSet;

use crate::Outcome;
use crate::arguments::Run;
use crate::pace::Pace;
use crate::progress::Progress;
use crate::report::Report;
use crate::server;
use crate::workload::{Worker, payload_bytes};

/// Significant digits of a latency.
const DIGITS: u8 = 3;

/// Measures what was asked for.
pub(crate) async fn run(run: &Run) -> Outcome<Report> {
    let mut workers = Vec::new();
    for number in 0..run.clients.get() {
        workers.push(Worker::new(run, number).await?);
    }
    for request in 0..run.warm_up {
        let worker = usize::try_from(request)? % workers.len();
        workers[worker].ask().await?;
    }
    let (cpu, began) = (server::cpu_nanos(run.pid)?, Instant::now());
    let latencies = load(run, workers, began).await?;
    let elapsed = began.elapsed();
    let cpu = server::cpu_nanos(run.pid)? - cpu;
    let resident = server::resident_bytes(run.pid)?;
    Ok(Report::new(&latencies, payload_bytes(&run.shape), elapsed, cpu, resident))
}

async fn load(run: &Run, workers: Vec<Worker>, began: Instant) -> Outcome<Histogram<u64>> {
    let all = Rc::new(Loop {
        left: Cell::new(run.requests),
        end: began + run.seconds,
        progress: Progress::new(run.requests, run.seconds),
    });
    let tasks = LocalSet::new();
    let mut started = Vec::new();
    for (number, worker) in (0..).zip(workers) {
        let pace = Pace::new(began, run.rate, number, run.clients.get());
        started.push(tasks.spawn_local(Rc::clone(&all).follow(worker, pace)));
    }
    tasks.await;
    let mut latencies = Histogram::new(DIGITS)?;
    for task in started {
        latencies.add(task.await??)?;
    }
    all.progress.end();
    Ok(latencies)
}

/// What the clients have in common: where they end.
struct Loop {
    left: Cell<u64>,
    end: Instant,
    progress: Progress,
}

impl Loop {
    /// Lets one client work to the end; returns its latencies in nanoseconds.
    async fn follow(self: Rc<Self>, mut worker: Worker, mut pace: Pace) -> Outcome<Histogram<u64>> {
        let mut latencies = Histogram::new(DIGITS)?;
        while self.left.get() > 0 && Instant::now() < self.end {
            self.left.set(self.left.get() - 1);
            let due = pace.due().await;
            worker.ask().await?;
            latencies.record(u64::try_from(due.elapsed().as_nanos())?)?;
            self.progress.done(self.left.get());
        }
        Ok(latencies)
    }
}
