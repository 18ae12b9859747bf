//! What the command line says.

use std::path::PathBuf;

use ng_sim::plan::{Draw, Plan};
use ng_sim::plants::Plant;
use ng_sim::replay;

pub(crate) const USAGE: &str = "usage: ng-sim [--seed N] [--seeds M | --seconds S] [--threads T] [--summary FILE] [--every-step yes|no] [WORLD]
       ng-sim --plant NAME [--seed N] [--seeds M] [WORLD]
       ng-sim --replay --seed N [--bad-disk none|N] [--plant NAME] [WORLD]
WORLD: how it is drawn, and what is not: [--draw storm|calm|dense|whole] [--nodes N] [--shards A,B,C] [--faults none|all|Kill,Loss,...] [--damage none|all|Flip,...] [--between-faults MS]
       [--rate REQUESTS_PER_SECOND] [--partitions N] [--registrants N] [--producers N] [--requests all|N] [--drops yes|no] [--leases yes|no]
       [--aims none|all|VoteSent,JournalSynced:3:PowerCut,...]";

/// More threads than any machine of ours has.
const THREADS_MAX: u64 = 1_024;

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Order {
    /// Live many worlds.
    Live(Many),
    /// Live worlds with a bug until one fails for it.
    Find(Plant, Many),
    /// Live one world and tell of it.
    Replay(Box<Plan>),
}

/// Which worlds, and how.
#[derive(Debug)]
pub(crate) struct Many {
    pub(crate) seed: u64,
    pub(crate) seeds: u64,
    pub(crate) seconds: Option<u64>,
    pub(crate) threads: usize,
    pub(crate) summary: Option<PathBuf>,
    /// Whether a run fails that strikes at no world's step of a kind.
    pub(crate) every_step: bool,
    pub(crate) draw: Draw,
    nodes: Option<u8>,
    /// What is not drawn, with its value.
    chosen: Vec<(String, String)>,
}

impl Many {
    /// The plan of a seed, with what was chosen.
    pub(crate) fn plan(&self, seed: u64) -> Result<Plan, String> {
        chosen(Plan::draw(self.draw, seed, self.nodes), &self.chosen)
    }
}

/// Words and values, each word once; they are taken out one by one.
struct Words(Vec<(String, String)>);

impl Words {
    fn read(mut words: impl Iterator<Item = String>) -> Result<(Self, bool), String> {
        let (mut read, mut replay) = (Vec::new(), false);
        while let Some(word) = words.next() {
            if !word.starts_with("--") {
                return Err(format!("{word:?} is no option"));
            }
            if word == "--replay" {
                replay = true;
                continue;
            }
            let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
            if read.iter().any(|(other, _)| *other == word) {
                return Err(format!("{word} is given twice"));
            }
            read.push((word, value));
        }
        Ok((Self(read), replay))
    }

    fn take(&mut self, word: &str) -> Option<String> {
        let index = self.0.iter().position(|(other, _)| other == word)?;
        Some(self.0.remove(index).1)
    }

    fn number(&mut self, word: &str, least: u64, most: u64) -> Result<Option<u64>, String> {
        let Some(value) = self.take(word) else { return Ok(None) };
        let number: u64 = value.parse().map_err(|fault| format!("{word} cannot be {value:?}: {fault}"))?;
        if number < least || number > most {
            return Err(format!("{word} is a number from {least} to {most}, not {number}"));
        }
        Ok(Some(number))
    }
}

impl Order {
    pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut words, replay) = Words::read(words)?;
        let seed = words.number("--seed", 0, u64::MAX)?;
        let nodes = words.number("--nodes", 1, 9)?.and_then(|nodes| u8::try_from(nodes).ok());
        let draw = words.take("--draw").map_or(Ok(Draw::Storm), |name| Draw::named(&name))?;
        if replay {
            let seed = seed.ok_or("--replay needs a --seed")?;
            return Ok(Self::Replay(Box::new(chosen(Plan::draw(draw, seed, nodes), &words.0)?)));
        }
        if words.take("--bad-disk").is_some() {
            return Err("--bad-disk is for --replay only".to_owned());
        }
        let plant = words.take("--plant").map(|name| replay::plant(&name)).transpose()?;
        let many = many(seed.unwrap_or(1), draw, nodes, words)?;
        many.plan(many.seed)?;
        Ok(match plant {
            Some(plant) => Self::Find(plant, many),
            None => Self::Live(many),
        })
    }
}

fn chosen(mut plan: Plan, words: &[(String, String)]) -> Result<Plan, String> {
    for (word, value) in words {
        if !replay::change(&mut plan, word, value)? {
            return Err(format!("{word} is unknown here"));
        }
    }
    if words.iter().all(|(word, _)| word != "--bad-disk") {
        replay::give_bad_disk(&mut plan);
    }
    replay::check(&plan)?;
    Ok(plan)
}

fn many(seed: u64, draw: Draw, nodes: Option<u8>, mut words: Words) -> Result<Many, String> {
    let seeds = words.number("--seeds", 1, u64::MAX)?;
    let seconds = words.number("--seconds", 1, u64::MAX)?;
    if seeds.is_some() && seconds.is_some() {
        return Err("--seeds and --seconds are two ways to say when to end: give one".to_owned());
    }
    let threads =
        words.number("--threads", 1, THREADS_MAX)?.and_then(|threads| usize::try_from(threads).ok());
    let every_step = match words.take("--every-step").as_deref() {
        None | Some("no") => false,
        Some("yes") => true,
        Some(other) => return Err(format!("--every-step is yes or no, not {other:?}")),
    };
    Ok(Many {
        every_step,
        seed,
        seeds: seeds.unwrap_or(if seconds.is_some() { u64::MAX } else { 100 }),
        seconds,
        threads: threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
        draw,
        nodes,
        summary: words.take("--summary").map(PathBuf::from),
        chosen: words.0,
    })
}
