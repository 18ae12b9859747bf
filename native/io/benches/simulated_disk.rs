//! What the simulated disk costs: CPU time of a write and its sync, of zero-filling, and of a world of three machines.

#![allow(missing_docs)]

use std::error::Error;
use std::io::{Write, stdout};
use std::path::Path;
use std::time::Instant as Stopwatch;

use ng_io::buffer::PAGE;
use ng_io::simulated::{NetworkFaults, SimulatedClock, SimulatedDriver, SimulatedNetwork};
use ng_io::{
    Buffer, Completion, Driver, DriverLimits, Environment, FileOptions, Handle, Operation, Outcome,
    SimulatedEnvironment, Token, Wait,
};

const LIMITS: DriverLimits = DriverLimits { operations_max: 64, handles_max: 8 };
const PAGES: u64 = 1024;
const ROUNDS: u64 = 200_000;
const FILL: usize = 1 << 20;
const WORLD_SECONDS: u64 = 30;

fn main() -> Result<(), Box<dyn Error>> {
    let clock = SimulatedClock::new();
    let mut machine = Machine::new(&clock, 1)?;
    let mut page = Buffer::aligned(PAGE);
    page.extend_from_slice(&[7; PAGE]);
    for lap in ["first lap over zeroes", "second lap"] {
        let started = Stopwatch::now();
        for round in 0..ROUNDS {
            page = machine.write_and_sync(page, round % PAGES * PAGE as u64)?;
        }
        let nanos = started.elapsed().as_nanos() / u128::from(ROUNDS);
        writeln!(stdout(), "4 KiB write and sync, {lap}: {nanos} ns")?;
    }
    let mut zeroes = Buffer::from(vec![0; FILL]);
    let started = Stopwatch::now();
    for piece in 0..256 {
        zeroes = machine.write_and_sync(zeroes, (4 << 20) + piece * FILL as u64)?;
    }
    let micros = started.elapsed().as_micros() / 256;
    writeln!(stdout(), "1 MiB of zeroes and sync: {micros} us")?;
    let started = Stopwatch::now();
    let operations = world()?;
    let millis = started.elapsed().as_millis();
    writeln!(
        stdout(),
        "{WORLD_SECONDS} s of three machines, {operations} operations and frames: {millis} ms"
    )?;
    Ok(())
}

struct Machine {
    environment: SimulatedEnvironment,
    clock: SimulatedClock,
    driver: SimulatedDriver,
    file: Handle,
    done: Vec<Completion>,
}

impl Machine {
    fn new(clock: &SimulatedClock, seed: u64) -> Result<Self, Box<dyn Error>> {
        let environment = SimulatedEnvironment::on(clock, seed);
        let mut driver = environment.driver(LIMITS)?;
        let options = FileOptions { direct: true, lock: true, ..FileOptions::WRITE };
        let file = driver.adopt_file(environment.open_file(Path::new("file"), options)?)?;
        Ok(Self { environment, clock: clock.clone(), driver, file, done: Vec::new() })
    }

    fn write_and_sync(&mut self, buffer: Buffer, offset: u64) -> Result<Buffer, Box<dyn Error>> {
        self.driver.submit(
            Token(1),
            Operation::WriteAt { file: self.file, buffer: buffer.into(), offset, sync: false },
        );
        let Outcome::Written { buffer, result } = self.next()? else { return Err("not of a write".into()) };
        result?;
        self.driver.submit(Token(2), Operation::Sync { file: self.file });
        self.next()?;
        Ok(buffer.into_buffer().unwrap_or_default())
    }

    fn next(&mut self) -> Result<Outcome, Box<dyn Error>> {
        self.clock.advance_to(self.driver.next_completion().ok_or("nothing is under way")?);
        self.driver.complete(Wait::Now, &mut self.done)?;
        self.done.pop().map(|completion| completion.outcome).ok_or_else(|| "nothing is due".into())
    }
}

/// Every machine writes and syncs a page every millisecond and tells the others of it; a cut comes at the end.
fn world() -> Result<u64, Box<dyn Error>> {
    let clock = SimulatedClock::new();
    let mut machines = Vec::new();
    for seed in 0..3 {
        machines.push(Machine::new(&clock, seed)?);
    }
    let mut network = SimulatedNetwork::new(4);
    network.set_weather(NetworkFaults {
        loss: 10,
        duplication: 10,
        delay_min: 20_000,
        delay_max: 500_000,
        reorder: false,
    });
    let mut count = 0;
    for round in 0..WORLD_SECONDS * 1_000 {
        clock.advance_to(round * 1_000_000);
        for machine in &mut machines {
            let buffer = Buffer::from(vec![round.to_le_bytes()[0]; PAGE]);
            let write = Operation::WriteAt {
                file: machine.file,
                buffer: buffer.into(),
                offset: round % PAGES * PAGE as u64,
                sync: round % 2 == 0,
            };
            machine.driver.submit(Token(1), write);
        }
        for (from, to) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
            network.send(clock.now(), from, to, vec![1; 300]);
        }
        while let Some(at) = network.next_arrival().filter(|at| *at < (round + 1) * 1_000_000) {
            clock.advance_to(at);
            count += u64::from(network.arrive(at).is_some());
            for machine in &mut machines {
                machine.driver.complete(Wait::Now, &mut machine.done)?;
                count += machine.done.drain(..).count() as u64;
            }
        }
    }
    machines.iter().for_each(|machine| machine.environment.cut_power());
    Ok(count)
}
