//! A file under random work against a model that keeps every version of every sector.

use ng_io::simulated::{Random, SECTOR};
use ng_io::{Driver, Instant, Operation, Outcome, Token, Wait};
use std::collections::BTreeMap;

use crate::rig::{Disk, attach, disk};

const SECTORS: usize = 40;

/// What a sector may be after a cut: the last version that a sync is known to cover, or any that came after it.
struct Model {
    seen: Vec<u8>,
    versions: Vec<Vec<Vec<u8>>>,
    /// How many versions each sector had when a sync was submitted, and how long the file was, by token.
    covers: BTreeMap<u64, (Vec<usize>, usize)>,
    length: usize,
    stable_length: usize,
    /// Versions of each sector that were dropped already.
    dropped: Vec<usize>,
    writes: BTreeMap<u64, (usize, Vec<u8>, bool)>,
}

impl Model {
    fn new() -> Self {
        Self {
            seen: vec![0; SECTORS * SECTOR],
            versions: vec![vec![vec![0; SECTOR]]; SECTORS],
            covers: BTreeMap::new(),
            length: 0,
            stable_length: 0,
            dropped: vec![0; SECTORS],
            writes: BTreeMap::new(),
        }
    }

    fn count(&self) -> (Vec<usize>, usize) {
        let counts =
            self.versions.iter().zip(&self.dropped).map(|(versions, dropped)| versions.len() + dropped);
        (counts.collect(), self.length)
    }

    fn written(&mut self, token: u64) {
        let (offset, bytes, sync) = self.writes.remove(&token).expect("submitted");
        self.seen[offset..offset + bytes.len()].copy_from_slice(&bytes);
        self.length = self.length.max(offset + bytes.len());
        let touched = offset / SECTOR..(offset + bytes.len()).div_ceil(SECTOR);
        for sector in touched.clone() {
            self.versions[sector].push(self.seen[sector * SECTOR..(sector + 1) * SECTOR].to_vec());
        }
        if sync {
            let (mut covered, length) = self.covers.remove(&token).expect("noted");
            touched.for_each(|sector| covered[sector] = self.versions[sector].len() + self.dropped[sector]);
            self.settle(&covered, length.max(offset + bytes.len()));
        }
    }

    fn settle(&mut self, covered: &[usize], length: usize) {
        self.stable_length = self.stable_length.max(length);
        for (sector, covered) in covered.iter().enumerate() {
            let old = (covered - 1).saturating_sub(self.dropped[sector]);
            self.versions[sector].drain(..old);
            self.dropped[sector] += old;
        }
    }

    /// After a cut: every sector is one of its versions, and that is the only one from now on.
    fn judge(&mut self, content: &[u8], story: &str) {
        assert!(content.len() >= self.stable_length, "{story}: {} bytes are left", content.len());
        self.length = content.len();
        self.stable_length = content.len();
        self.seen.fill(0);
        self.seen[..content.len()].copy_from_slice(content);
        for (sector, seen) in self.seen.chunks(SECTOR).enumerate() {
            // What lies beyond the end of the file reads as zero.
            let possible = self.versions[sector].iter().any(|version| version == seen);
            assert!(possible, "{story}: sector {sector} is none of its versions");
            self.versions[sector] = vec![seen.to_vec()];
            self.dropped[sector] = 0;
        }
        self.covers.clear();
        self.writes.clear();
    }
}

fn submit(disk: &mut Disk, model: &mut Model, random: &mut Random, token: u64) {
    if random.below(3) == 0 {
        model.covers.insert(token, model.count());
        disk.driver.submit(Token(token), Operation::Sync { file: disk.file });
        return;
    }
    let whole_pages = random.flip();
    let (offset, length) = if whole_pages {
        (random.below(5) * 4096, 4096)
    } else {
        let offset = random.below((SECTORS * SECTOR) as u64 - 6_000);
        (offset, 1 + random.below(6_000))
    };
    // Zeroes often: they have no pages.
    let byte = if random.below(4) == 0 { 0 } else { random.next().to_le_bytes()[0] };
    let bytes = vec![byte; usize::try_from(length).expect("small")];
    let sync = random.below(4) == 0;
    if sync {
        model.covers.insert(token, model.count());
    }
    disk.driver.submit(Token(token), disk.write_operation(offset, &bytes, sync));
    model.writes.insert(token, (usize::try_from(offset).expect("small"), bytes, sync));
}

fn complete(disk: &mut Disk, model: &mut Model, nanos: u64) {
    let mut done = Vec::new();
    let until = Instant::from_nanos(disk.driver.now().as_nanos() + nanos);
    disk.driver.complete(Wait::Until(until), &mut done).expect("alive");
    for completion in done {
        match completion.outcome {
            Outcome::Written { result, .. } => {
                result.expect("a good disk");
                model.written(completion.token.0);
            }
            Outcome::Synced(result) => {
                result.expect("a good disk");
                let (covered, length) = model.covers.remove(&completion.token.0).expect("noted");
                model.settle(&covered, length);
            }
            other => panic!("of neither: {other:?}"),
        }
    }
}

#[test]
fn every_sector_is_a_version_that_no_sync_has_overtaken() {
    let mut shrunk = 0;
    for seed in 0..400 {
        let mut random = Random::new(!seed);
        let (mut disk, mut model) = (disk(seed), Model::new());
        for cut in 0..3 {
            for token in 0..60 {
                submit(&mut disk, &mut model, &mut random, token);
                for _ in 0..random.below(4) {
                    complete(&mut disk, &mut model, 200_000);
                }
            }
            while disk.driver.next_completion().is_some() {
                complete(&mut disk, &mut model, 200_000);
            }
            let seen = disk.content();
            assert_eq!(
                seen[..],
                model.seen[..seen.len()],
                "seed {seed}: a reader sees the last of everything"
            );
            disk.environment.cut_power();
            let content = disk.content();
            shrunk += u32::from(content.len() < seen.len());
            model.judge(&content, &format!("seed {seed}, cut {cut}"));
            disk = attach(disk.environment.clone());
        }
    }
    assert!(shrunk > 0, "lengths are lost, too");
}
