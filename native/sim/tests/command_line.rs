//! The command line refuses nonsense with a sentence, and does what it is told.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};

fn run(words: &str) -> Output {
    let words = words.split_whitespace();
    Command::new(env!("CARGO_BIN_EXE_ng-sim")).args(words).output().expect("the simulator runs")
}

fn refusal(words: &str) -> String {
    let output = run(words);
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(output.stdout.is_empty(), "{words}");
    let told = String::from_utf8(output.stderr).expect("words");
    let (sentence, usage) = told.split_once('\n').expect("a sentence and the usage");
    assert!(usage.starts_with("usage: ng-sim"), "{told}");
    sentence.to_owned()
}

#[test]
fn nonsense_is_refused_with_a_sentence() {
    let cases = [
        ("12", "\"12\" is no option"),
        ("--seed", "--seed needs a value"),
        ("--seed x", "--seed cannot be \"x\": invalid digit found in string"),
        ("--seed -1", "--seed cannot be \"-1\": invalid digit found in string"),
        ("--seed 1 --seed 2", "--seed is given twice"),
        ("--seeds 0", "--seeds is a number from 1 to 18446744073709551615, not 0"),
        ("--threads 0", "--threads is a number from 1 to 1024, not 0"),
        ("--nodes 0", "--nodes is a number from 1 to 9, not 0"),
        ("--nodes 300", "--nodes is a number from 1 to 9, not 300"),
        ("--seeds 5 --seconds 5", "--seeds and --seconds are two ways to say when to end: give one"),
        ("--what 3", "--what is unknown here"),
        ("--replay", "--replay needs a --seed"),
        ("--replay --seed 1 --seeds 2", "--seeds is unknown here"),
        ("--bad-disk 1", "--bad-disk is for --replay only"),
        ("--replay --seed 1 --shards 1,0", "a node has 1 to 64 shards"),
        (
            "--replay --seed 1 --shards 1,",
            "--shards cannot be \"1,\": cannot parse integer from empty string",
        ),
        ("--replay --seed 1 --shards 1,1,1 --bad-disk 3", "the bad disk is that of a node from 0 to 2"),
        (
            "--replay --seed 1 --shards 1 --faults Kill,Misdirected",
            "Misdirected takes away what was synced: it needs three nodes",
        ),
        (
            "--replay --seed 1 --shards 1,1,1 --faults Rot --bad-disk none",
            "Rot takes away what was synced: it needs a --bad-disk",
        ),
        ("--replay --seed 1 --partitions 0", "a world has 1 to 4096 partitions, not 0"),
        ("--replay --seed 1 --registrants 0 --producers 0", "a world needs a client"),
        ("--draw often", "a world is drawn calm, dense, storm or whole, not \"often\""),
        ("--drops often", "--drops is yes or no, not \"often\""),
        ("--rate 0", "clients send 1 to 100000 requests per second, not 0"),
        ("--every-step often", "--every-step is yes or no, not \"often\""),
        ("--aims VoteSent:3", "an aim is a step, or a step:number:strike, not \"VoteSent:3\""),
        ("--aims VoteSent:x:Kill", "VoteSent:x:Kill has no number: invalid digit found in string"),
        ("--aims VoteSent:0:Kill", "VoteSent:0:Kill has no number: number would be zero for non-zero type"),
        ("--between-faults 0", "between two faults passes at least a millisecond"),
    ];
    for (words, sentence) in cases {
        assert_eq!(refusal(words), sentence, "{words}");
    }
    assert!(
        refusal("--faults Kill,Flood").starts_with("there is no fault \"Flood\"; these are known: [Loss,")
    );
    assert!(refusal("--aims Vote").starts_with("there is no step \"Vote\"; these are known: [Journal"));
    assert!(refusal("--aims VoteSent:1:Poke").starts_with("there is no strike \"Poke\"; "));
    assert!(
        refusal("--plant Weed").starts_with("there is no plant \"Weed\"; these are known: AckBeforeSync,")
    );
}

#[test]
fn worlds_are_lived_and_summed_up() {
    let path = std::env::temp_dir().join(format!("ng-sim-summary-{}", std::process::id()));
    let words = format!(
        "--seed 7 --seeds 2 --nodes 1 --faults none --damage none --requests 20 --summary {}",
        path.display()
    );
    let output = run(&words);
    let page = std::fs::read_to_string(&path).expect("a summary");
    std::fs::remove_file(&path).expect("it can go");
    let told = String::from_utf8(output.stdout).expect("words");
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.starts_with("2 worlds, 0 failed; 40 requests acknowledged, "), "{told}");
    assert!(page.starts_with("2 worlds, 0 failed; 40 requests acknowledged, "), "{page}");
    assert!(page.ends_with("\nfailures: 0\n"), "{page}");
}

#[test]
fn a_run_that_must_strike_at_every_step_names_those_it_missed() {
    let words = "--seeds 1 --nodes 1 --faults none --damage none --requests 20 --aims Opening:3:Kill";
    let output = run(&format!("{words} --every-step yes"));
    let told = String::from_utf8(output.stdout).expect("words");
    assert_eq!(output.status.code(), Some(1), "{told}");
    let missed = "\nno fault struck at these steps: [JournalWritten, JournalSynced, ";
    assert!(told.contains(missed) && !told.contains("Opening, Resharding"), "{told}");
    assert!(told.contains("Kill Restarted 1\n"), "{told}");
    assert_eq!(run(words).status.code(), Some(0));
}

#[test]
fn faults_of_a_bad_disk_bring_one_along() {
    for seed in 1..=6 {
        let output = run(&format!("--replay --seed {seed} --nodes 3 --faults Misdirected,Kill --requests 1"));
        let told = String::from_utf8(output.stdout).expect("words");
        let words = told.lines().next().expect("the words of the plan");
        assert!(words.contains("--bad-disk ") && !words.contains("--bad-disk none"), "{words}");
    }
}

#[test]
fn a_replay_tells_its_story() {
    let output = run("--replay --seed 7 --nodes 1 --faults none --damage none --requests 3");
    let told = String::from_utf8(output.stdout).expect("words");
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.starts_with("--draw storm --seed 7 --shards "), "{told}");
    assert!(told.contains(" node 0 starts\n"), "{told}");
    assert!(told.lines().last().is_some_and(|last| last.starts_with("it ends well: ")), "{told}");
}

/// So many clients do not all have their turn in one life: every world of these ends with one that nobody answered.
const CROWDED: &str = "--draw calm --nodes 1 --faults none --registrants 0 --producers 2000 --threads 1";

#[test]
fn a_world_that_fails_is_told_at_once() {
    let words = format!("--seed 1 --seconds 60 {CROWDED}");
    let mut run = Command::new(env!("CARGO_BIN_EXE_ng-sim"))
        .args(words.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the simulator runs");
    let mut lines = BufReader::new(run.stdout.take().expect("it was asked for")).lines();
    let mut line = || lines.next().expect("a line").expect("words");
    let (told, replay) = (line(), line());
    run.kill().expect("it runs on");
    run.wait().expect("it was ours");
    assert!(told.starts_with("seed 1: client "), "{told}");
    assert!(replay.contains("--replay --draw calm --seed 1 "), "{replay}");
    assert!(lines.next().is_none_or(|line| line.is_ok_and(|line| line.starts_with("seed 2: "))));
}

#[test]
fn what_was_found_is_told_also_where_no_summary_can_be_written() {
    let output = run(&format!("--seed 1 --seeds 1 {CROWDED} --summary /nowhere/at/all"));
    let told = String::from_utf8(output.stdout).expect("words");
    assert_eq!(output.status.code(), Some(1));
    assert!(told.starts_with("seed 1: client "), "{told}");
}

#[test]
fn a_long_run_says_how_far_it_is() {
    let mut run = Command::new(env!("CARGO_BIN_EXE_ng-sim"))
        .args(["--seconds", "600", "--threads", "1", "--nodes", "1", "--faults", "none"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the simulator runs");
    let mut lines = BufReader::new(run.stderr.take().expect("it was asked for")).lines();
    let line = lines.next().expect("a line").expect("words");
    run.kill().expect("it runs on");
    run.wait().expect("it was ours");
    assert!(line.contains(" worlds, 0 failed; "), "{line}");
}
