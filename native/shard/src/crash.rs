//! Ends a process that cannot continue: one line, one file, one exit status.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ng_wire::table::exit_status::ExitStatus;

/// The file in which crashes of this process are recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrashSite {
    file: PathBuf,
}

impl CrashSite {
    /// Records crashes in `file`.
    pub fn new(file: &Path) -> Self {
        Self { file: file.to_owned() }
    }

    /// Ends the process at once, without destructors or exit hooks. Recovery after a crash is the tested
    /// path; an orderly stop from an unknown state is not.
    pub fn end_process(&self, status: ExitStatus, thread: &str, reason: &str) -> ! {
        self.record(status, thread, reason);
        ng_io::exit::exit_now(i32::from(status.code()))
    }

    /// Writes the line and the file. Their errors are ignored, because they must not prevent the end.
    pub fn record(&self, status: ExitStatus, thread: &str, reason: &str) {
        let line = format!("server-ng: fatal: {thread}: {reason} (exit status {})\n", status.code());
        std::io::stderr().write_all(line.as_bytes()).ok();
        std::fs::write(&self.file, describe(status, thread, reason)).ok();
    }
}

/// Contents of the file.
fn describe(status: ExitStatus, thread: &str, reason: &str) -> String {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
    let mut json = format!("{{\"status\": {}, \"name\": ", status.code());
    put_string(&mut json, status.name());
    json.push_str(", \"thread\": ");
    put_string(&mut json, thread);
    json.push_str(", \"reason\": ");
    put_string(&mut json, reason);
    json.push_str(", \"at_micros\": ");
    json.push_str(&at.to_string());
    json.push_str("}\n");
    json
}

fn put_string(json: &mut String, text: &str) {
    json.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => json.extend(['\\', character]),
            control if control.is_control() => {
                let mut units = [0; 2];
                for unit in control.encode_utf16(&mut units) {
                    write!(json, "\\u{unit:04x}").expect("a String takes everything");
                }
            }
            other => json.push(other),
        }
    }
    json.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_quoted_for_json() {
        let text = describe(ExitStatus::InternalFault, "shard-1", "a \"quoted\"\nreason \\ with\u{7}");
        assert!(text.contains(r#""reason": "a \"quoted\"\u000areason \\ with\u0007""#), "{text}");
        assert!(text.starts_with(r#"{"status": 70, "name": "#), "{text}");
    }
}
