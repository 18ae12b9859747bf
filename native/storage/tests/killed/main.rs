//! A journal on the real disk whose process is killed again and again: what it said was durable is there, byte for byte.
//!
//! The test starts itself as the writer that `examples/journal_writer` is, and judges with that one's judge.

#![allow(missing_docs)]
#![allow(clippy::panic, reason = "a test fails by panicking, whichever function finds the fault")]

#[path = "../../examples/journal_writer/judge.rs"]
mod judge;
#[path = "../../examples/journal_writer/order.rs"]
mod order;
#[path = "../../examples/journal_writer/reader.rs"]
mod reader;
#[path = "../../examples/journal_writer/writer.rs"]
mod writer;

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use ng_io::simulated::Random;

/// The words of an order to this test as a child, a line each.
const ORDER: &str = "NG_KILLED_ORDER";

/// How often each backend's writer is killed, and in the long form.
const KILLS: u64 = 25;
const KILLS_LONG: u64 = 200;

#[test]
fn child() {
    let Ok(words) = env::var(ORDER) else { return };
    assert_eq!(order::obey(words.lines().map(str::to_owned)), ExitCode::SUCCESS);
}

#[test]
fn a_killed_writer_loses_nothing_durable_on_posix() {
    kill_again_and_again("posix");
}

#[test]
fn a_killed_writer_loses_nothing_durable_on_uring() {
    kill_again_and_again("uring");
}

fn kill_again_and_again(backend: &str) {
    let name = format!("killed-{backend}-{}", std::process::id());
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&directory).expect("the build's own directory");
    let said = directory.join("said");
    fs::write(&said, "").expect("a healthy disk");
    let place = [
        format!("backend={backend}"),
        format!("directory={}", directory.display()),
        format!("said={}", said.display()),
    ];
    let kills = if env::var_os("NG_LONG").is_some() { KILLS_LONG } else { KILLS };
    let mut random = Random::new(4);
    let mut acks = 0;
    for kill in 1..=kills {
        let seed = random.next();
        let mut words = vec!["write".to_owned(), format!("seed={seed}"), format!("incarnation={kill}")];
        words.extend_from_slice(&place);
        acks += listen(start(&words), random.below(120), &said);
        let judge = [&["judge".to_owned()], &place[..]].concat();
        let verdict = order::obey(judge.into_iter());
        assert_eq!(verdict, ExitCode::SUCCESS, "kill {kill} of {backend}, seed {seed}");
    }
    assert!(acks > kills * 20, "the writers got something done: {acks}");
    fs::remove_dir_all(&directory).expect("the directory is ours");
}

fn start(words: &[String]) -> Child {
    Command::new(env::current_exe().expect("this test"))
        .args(["--exact", "child", "--nocapture", "--quiet"])
        .env(ORDER, words.join("\n"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the test can start itself")
}

/// Notes what the child says until so many ops are acknowledged, kills it, and notes the rest: what it said before it died counts,
/// too. Returns how many ops were acknowledged.
fn listen(mut child: Child, enough: u64, said: &Path) -> u64 {
    let mut notes = OpenOptions::new().append(true).open(said).expect("a healthy disk");
    let mut hears = BufReader::with_capacity(64, child.stdout.take().expect("a pipe"));
    let (mut acks, mut killed) = (0, false);
    loop {
        if acks >= enough && !killed {
            child.kill().expect("the child is ours");
            killed = true;
        }
        let mut line = String::new();
        if hears.read_line(&mut line).expect("text") == 0 {
            break;
        }
        notes.write_all(line.as_bytes()).expect("a healthy disk");
        acks += u64::from(line.starts_with("ack "));
    }
    child.wait().expect("the child is ours");
    assert!(killed, "the writer ended by itself");
    acks
}
