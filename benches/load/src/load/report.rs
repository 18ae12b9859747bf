//! What a measurement found.

use std::io::{Write, stdout};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::Outcome;

/// Bytes of a megabyte, and of a gigabyte, as the figures name them.
const MEGABYTE: f64 = 1e6;
const GIGABYTE: f64 = 1e9;

/// The figures of one measurement.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    requests: u64,
    elapsed_ns: u64,
    payload_bytes: u64,
    p50_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    max_ns: u64,
    server_cpu_ns: u64,
    server_resident_bytes: u64,
}

impl Report {
    pub(crate) fn new(
        latencies: &Histogram<u64>,
        request_bytes: u64,
        elapsed: Duration,
        server_cpu_ns: u64,
        server_resident_bytes: u64,
    ) -> Self {
        Self {
            requests: latencies.len(),
            elapsed_ns: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
            payload_bytes: latencies.len() * request_bytes,
            p50_ns: latencies.value_at_quantile(0.5),
            p99_ns: latencies.value_at_quantile(0.99),
            p999_ns: latencies.value_at_quantile(0.999),
            max_ns: latencies.max(),
            server_cpu_ns,
            server_resident_bytes,
        }
    }

    /// Prints it, for people or for programs.
    pub(crate) fn print(&self, json: bool) -> Outcome<()> {
        let text = if json { serde_json::to_string(self)? } else { self.for_people() };
        writeln!(stdout(), "{text}")?;
        Ok(())
    }

    fn for_people(&self) -> String {
        let seconds = self.elapsed_ns as f64 / 1e9;
        let (requests, payload, cpu) =
            (self.requests as f64, self.payload_bytes as f64, self.server_cpu_ns as f64);
        format!(
            "{:.1} MB/s, {:.0} requests/s, p50 {} us, p99 {} us, p99.9 {} us; server: {:.1} us CPU per request, \
             {:.2} CPU s/GB, {} MiB resident",
            payload / MEGABYTE / seconds,
            requests / seconds,
            self.p50_ns / 1000,
            self.p99_ns / 1000,
            self.p999_ns / 1000,
            cpu / 1000.0 / requests,
            cpu / payload * GIGABYTE / 1e9,
            self.server_resident_bytes >> 20,
        )
    }
}
