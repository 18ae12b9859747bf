//! Small directories, and one shard of them at work.

use ng_io::{Driver, DriverLimits, Environment, Instant, Wait};
use ng_storage::boot::BootError;
use ng_storage::data_directory::{DataDirectory, Identity, OpenedShard, Settings};
use ng_storage::founding::LayoutState;
use ng_storage::home::Home;
use ng_storage::journal::Limits;
use ng_storage::layout::{Layout, Member};
use ng_storage::manifest::GroupEntry;
use ng_storage::manifest_writer::{ManifestEffect, ManifestWriter};
use ng_storage::record::{RecordHeader, RecordKind};
use ng_storage::store::shell::PlanShell;
use ng_storage::superblock::Genesis;

pub(crate) const DRIVER: DriverLimits = DriverLimits { operations_max: 32, handles_max: 64 };

pub(crate) const IDENTITY: Identity = Identity { cluster: 0xc1, node: 0xd2, member: Member::STANDALONE };

pub(crate) const SETTINGS: Settings = Settings {
    genesis: Genesis {
        frame_bytes_max: 4096,
        pipeline_depth: 4,
        client_table_slots: 16,
        consumer_offsets_max: 16,
    },
    journal: Limits {
        file_bytes: 32 * 1024,
        files_max: 6,
        block_bytes_target: 8 * 1024,
        queued_bytes_max: 32 * 1024,
        window_max: 64,
        slots_max: 256,
    },
    direct: true,
    first_token: 500,
};

pub(crate) fn directory<E: Environment>(environment: &E) -> DataDirectory<E> {
    DataDirectory::new(environment.clone(), Home::new("data"), SETTINGS)
}

pub(crate) fn found<E: Environment>(directory: &DataDirectory<E>, shards: u32) -> Result<Layout, BootError> {
    let mut mark = 0x9000;
    directory.found(IDENTITY, shards, &mut || {
        mark += 1;
        mark
    })
}

pub(crate) fn layout<E: Environment>(directory: &DataDirectory<E>) -> Layout {
    match directory.layout() {
        Ok(LayoutState::Complete(layout)) => layout,
        other => panic!("no layout: {other:?}"),
    }
}

pub(crate) fn open<E: Environment>(
    environment: &E,
    directory: &DataDirectory<E>,
    shard: u32,
) -> Result<(E::Driver, OpenedShard<E>), BootError> {
    let mut driver = environment.driver(DRIVER).expect("a driver");
    let layout = layout(directory);
    let opened = directory.open_shard(&mut driver, &layout, shard)?;
    Ok((driver, opened))
}

pub(crate) fn entry(group: u64, op: u64) -> GroupEntry {
    GroupEntry {
        group,
        last_offset: op * 10,
        purge_generation: 0,
        first_offset: 0,
        fenced: false,
        skipped_to: 0,
        anchor: RecordHeader { op, ..RecordHeader::of(RecordKind::Prepare, group, b"anchor") },
        offsets: Vec::new(),
        gaps: Vec::new(),
        list_sequence: 0,
        unsealed: None,
    }
}

/// A shard that writes manifests.
pub(crate) struct Manifests<E: Environment> {
    pub(crate) driver: E::Driver,
    pub(crate) writer: ManifestWriter,
    shell: PlanShell,
}

impl<E: Environment> Manifests<E> {
    pub(crate) fn new(driver: E::Driver, opened: OpenedShard<E>) -> Self {
        let mut shell = PlanShell::new(900, 1, 4, true);
        shell.keep(opened.home.superblock(), opened.superblock_file);
        Self { driver, writer: ManifestWriter::new(opened.home, opened.superblocks), shell }
    }

    /// Writes a manifest of these entries.
    pub(crate) fn write(&mut self, entries: Vec<GroupEntry>) -> Vec<ManifestEffect> {
        self.writer.begin().expect("none is under way");
        for entry in entries {
            self.writer.add(entry);
        }
        let mut effects = Vec::new();
        self.writer.finish(&mut effects);
        self.work(effects)
    }

    /// Carries out what is wanted until nothing is, or the power goes; returns what was said.
    pub(crate) fn work(&mut self, mut effects: Vec<ManifestEffect>) -> Vec<ManifestEffect> {
        let mut said = Vec::new();
        loop {
            let mut running = false;
            for effect in std::mem::take(&mut effects) {
                match effect {
                    ManifestEffect::Run(plan) => {
                        self.shell.start(&mut self.driver, 0, plan);
                        running = true;
                    }
                    other => said.push(other),
                }
            }
            while running {
                let mut completions = Vec::new();
                if self.driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut completions).is_err() {
                    return said;
                }
                for completion in completions {
                    if let Some((_, result)) = self.shell.completed(&mut self.driver, completion) {
                        self.writer.step(result, &mut effects);
                        running = false;
                    }
                }
            }
            if effects.is_empty() {
                return said;
            }
        }
    }
}
