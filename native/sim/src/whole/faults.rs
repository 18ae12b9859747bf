//! What goes wrong in a world of one whole node, and when.

use ng_io::Environment as _;
use ng_io::simulated::Faults as DiskFaults;

use super::world::{Happening, WholeWorld};
use crate::judges::Verdict;
use crate::node::MILLI;
use crate::plan::Fault;

/// Milliseconds that Python stands still at most: longer than any command waits for it.
const STALL: u64 = 4_000;

/// Milliseconds that a shard, or all of them, stand still at most.
const PAUSE: u64 = 300;

/// Milliseconds that a slow disk stands still at most.
const STALLED_DISK: u64 = 300;

/// Bytes that a full disk leaves free.
const SPARE: u64 = 4 << 10;

/// How often writes, syncs and reads fail, in thousandths.
const FAILURES: u32 = 20;

impl WholeWorld {
    pub(super) fn between_faults(&mut self) -> u64 {
        self.now + 1 + self.random.below(2 * self.plan.between_faults * MILLI)
    }

    fn outage(&mut self) -> u64 {
        let (least, more) = self.plan.conditions.outage;
        self.now + (least + self.random.below(more + 1)) * MILLI
    }

    pub(super) fn happen(&mut self, happening: Happening) -> Result<(), Verdict> {
        match happening {
            Happening::Fault => {
                if self.now < self.plan.healed * MILLI {
                    self.strike();
                    let next = self.between_faults();
                    self.at(next, Happening::Fault);
                }
            }
            Happening::Lease => {
                if self.now < self.plan.healed * MILLI {
                    self.order_lease();
                    self.next_lease();
                }
            }
            Happening::Start if self.process.is_none() => self.start()?,
            Happening::Start => {}
            Happening::Room => {
                self.environment.set_capacity(u64::MAX);
                self.disk_is_full = false;
                self.tell(|| "the disk has room again".to_owned());
            }
            Happening::SoundDisk => {
                self.environment.set_faults(DiskFaults::default());
                self.disk_fails = false;
                self.tell(|| "the disk fails no more".to_owned());
            }
            Happening::StopBound(life) => {
                if self.stopping && self.lives == life && !self.disk_fails && !self.disk_is_full {
                    return Err(Verdict("an orderly stop does not end".to_owned()));
                }
            }
        }
        Ok(())
    }

    /// Everything is as it should be from now on.
    pub(super) fn heal(&mut self) {
        self.tell(|| "everything heals".to_owned());
        self.environment.set_capacity(u64::MAX);
        self.environment.set_faults(DiskFaults::default());
        (self.disk_is_full, self.disk_fails) = (false, false);
        for client in &mut self.clients {
            client.reads_from = client.reads_from.min(self.now);
        }
        if self.process.is_none() {
            let soon = self.now + MILLI;
            self.at(soon, Happening::Start);
        }
    }

    fn drawn(&mut self) -> Option<Fault> {
        let weights: Vec<u64> = self.plan.faults.iter().map(|fault| self.plan.weight(*fault)).collect();
        let mut drawn = self.random.below(weights.iter().sum());
        let position = weights.iter().position(|weight| match drawn.checked_sub(*weight) {
            Some(left) => {
                drawn = left;
                false
            }
            None => true,
        })?;
        self.plan.faults.get(position).copied()
    }

    fn strike(&mut self) {
        let Some(fault) = self.drawn() else { return };
        let until = self.outage();
        self.tell(|| format!("fault {fault:?} until {}", until / MILLI));
        match fault {
            Fault::Kill | Fault::PowerCut => self.crash(fault == Fault::PowerCut, until),
            Fault::ShardCount => {
                self.shards = u16::try_from(1 + self.random.below(4)).unwrap_or(1);
                self.crash(false, until);
            }
            Fault::Stop if self.process.is_some() && !self.stopping => self.stop_and_start(),
            Fault::Pause => self.pause(),
            Fault::ClockJump => {
                let micros = i64::try_from(self.random.below(20_000_000)).unwrap_or(0) - 10_000_000;
                self.environment.set_wall_offset(micros);
                self.model.wall_clock.jumps(self.now, micros);
            }
            Fault::WriteError => {
                let faults =
                    DiskFaults { write_error: FAILURES, sync_error: FAILURES, ..DiskFaults::default() };
                self.fail_disk(faults, until);
            }
            Fault::ReadError => {
                self.fail_disk(DiskFaults { read_error: FAILURES, ..DiskFaults::default() }, until);
            }
            Fault::FullDisk => {
                let names = self.environment.file_names();
                let lengths = names.iter().map(|name| self.environment.file_length(name).unwrap_or(0));
                self.environment.set_capacity(lengths.sum::<u64>() + SPARE);
                self.disk_is_full = true;
                self.at(until, Happening::Room);
            }
            Fault::SlowDisk => {
                let until = self.now + self.random.below(STALLED_DISK * MILLI);
                self.environment.stall_disk(until);
            }
            Fault::StalledApply => {
                let until = self.now + self.random.below(STALL * MILLI);
                if let Some(process) = &mut self.process {
                    process.python.stall(until);
                }
            }
            Fault::Reset | Fault::Garbage | Fault::SlowReader => self.strike_client(fault, until),
            // Of a node alone, or with it stopped, there is nothing to strike.
            Fault::Stop
            | Fault::Loss
            | Fault::Duplication
            | Fault::Reordering
            | Fault::Cut
            | Fault::Rot
            | Fault::Wipe
            | Fault::Misdirected => {}
        }
    }

    fn crash(&mut self, power: bool, until: u64) {
        if self.process.is_some() {
            self.end(power);
        }
        self.at(until, Happening::Start);
    }

    /// The disk is sound meanwhile: nothing else lets a stop wait.
    fn stop_and_start(&mut self) {
        if self.disk_fails || self.disk_is_full {
            return;
        }
        if self.random.below(4) == 0 {
            self.shards = u16::try_from(1 + self.random.below(4)).unwrap_or(1);
        }
        self.begin_stop();
        let bound = self.stop_bound();
        self.at(bound, Happening::StopBound(self.lives));
    }

    fn pause(&mut self) {
        let until = self.now + self.random.below(PAUSE * MILLI);
        let shard = usize::try_from(self.random.below(self.shards.into())).ok();
        let shard = shard.filter(|_| self.random.flip());
        if let Some(process) = &mut self.process {
            process.pause(shard, until);
        }
    }

    fn fail_disk(&mut self, faults: DiskFaults, until: u64) {
        self.environment.set_faults(faults);
        self.disk_fails = true;
        self.at(until, Happening::SoundDisk);
    }

    fn strike_client(&mut self, fault: Fault, until: u64) {
        let number = usize::try_from(self.random.below(self.clients.len() as u64)).unwrap_or(0);
        let (clients, model) = (&mut self.clients, &mut self.model);
        let Some(client) = clients.get_mut(number) else { return };
        match fault {
            Fault::SlowReader => client.reads_from = until,
            Fault::Garbage => {
                let length = 1 + self.random.below(600);
                let bytes: Vec<u8> = (0..length).map(|_| self.random.next().to_le_bytes()[0]).collect();
                client.send_garbage(&bytes);
            }
            _ if self.random.below(3) == 0 => client.finish_sending(),
            _ => client.reset(model),
        }
    }
}
