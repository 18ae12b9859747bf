//! The supervisor: starts the shards, watches them and Python, and joins them.
//!
//! It has a separate thread, because it must be able to report that all others are stuck.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use ng_control::event_ring::LoggedEvent;
use ng_control::record::Record;
use ng_control::settings::Settings;
use ng_control::shard_id::ShardId;
use ng_io::{Environment, Instant, JoinHandle, ThreadSpec, Waker};
use ng_mesh::mailbox::ShardBell;
use ng_storage::home::Home;
use ng_storage::trash::Trash;
use ng_wire::primitive::{put_str32, put_u8};
use ng_wire::table::event::Event;
use ng_wire::table::exit_status::ExitStatus;
use ng_wire::table::metric::{Cell, Metric};
use ng_wire::table::record::ToPython;

use crate::crash::CrashSite;
use crate::directory::Directory;
use crate::ending::Ending;
use crate::node::{NodeShared, Stage};
use crate::port::event_bytes;
use crate::thread::{self, Report, ShardSetup};
use crate::trash::{self, TrashLink};
use crate::watchdog::LifeSign;

/// Interval between two checks. None of its decisions is urgent, and more checks would cost more wake-ups.
const LOOK: Duration = Duration::from_millis(500);

/// Time without a turn after which a shard counts as stuck. A healthy one turns at least twice per second.
const SHARD_STALL: Duration = Duration::from_secs(5);

/// Inputs of the supervisor.
#[derive(Debug)]
pub struct ShardThreads<E: Environment> {
    environment: E,
    shared: Arc<NodeShared>,
    settings: Settings,
    setups: Vec<ShardSetup>,
    crash: CrashSite,
}

impl<E: Environment> ShardThreads<E> {
    /// Threads that have not started.
    pub fn new(environment: E, shared: Arc<NodeShared>, settings: Settings, setups: Vec<ShardSetup>) -> Self {
        let crash = CrashSite::new(&settings.engine.crash_file);
        Self { environment, shared, settings, setups, crash }
    }
}

/// Body of the supervisor's thread.
pub fn run<E: Environment>(threads: ShardThreads<E>) {
    let ShardThreads { environment, shared, settings, setups, crash } = threads;
    let (sender, reports) = channel();
    let started = start_all(&environment, &shared, &settings, setups, &sender, &reports);
    let stage = match started {
        Ok(Started { handles, bells, cleaner }) => {
            shared.tell_started(bells);
            let watch = Watch::new(&environment, &shared, &settings);
            let in_order =
                Supervisor { environment, shared: &shared, settings, crash, reports, watch }.run(handles);
            shared.trash.end();
            let joined = cleaner.join().is_ok();
            Stage::Stopped { in_order: in_order && joined }
        }
        Err(failure) => {
            shared.tell_start_failed(&failure);
            Stage::Stopped { in_order: true }
        }
    };
    let in_order = stage == Stage::Stopped { in_order: true };
    shared.tell_stopped(in_order);
    shared.set_stage(stage);
}

/// Reason for which a node did not start, with the shard.
#[derive(Debug)]
struct StartFailure {
    shard: ShardId,
    ending: Ending,
}

/// The running threads.
struct Started {
    /// Shard threads.
    handles: Vec<JoinHandle>,
    bells: Vec<Arc<ShardBell>>,
    /// Thread that empties the trash.
    cleaner: JoinHandle,
}

/// Opens the data directory and starts all shards, or none: if one fails, those that wait for the doorbells
/// end without them and are joined.
fn start_all<E: Environment>(
    environment: &E,
    shared: &NodeShared,
    settings: &Settings,
    setups: Vec<ShardSetup>,
    sender: &Sender<Report>,
    reports: &Receiver<Report>,
) -> Result<Started, StartFailure> {
    let directory = Directory::find(environment, settings, |phrase| shared.tell_progress(phrase))
        .map_err(|ending| StartFailure { shard: ShardId::NONE, ending })?;
    let mut handles = Vec::new();
    let mut waiting: Vec<Sender<Vec<Arc<ShardBell>>>> = Vec::new();
    let mut failure = None;
    for (setup, cpu) in setups.into_iter().zip(&settings.engine.shard_cpus) {
        let shard = setup.handler.id;
        let (bells, receiver) = channel();
        let (environment_there, reports_there) = (environment.clone(), sender.clone());
        let directory_there = directory.clone();
        let spec = ThreadSpec { name: format!("shard-{}", shard.0), cpu: *cpu };
        let body = move || {
            thread::run(&environment_there, setup, &directory_there, &reports_there, &receiver);
        };
        match environment.spawn(spec, Box::new(body)) {
            Ok(handle) => {
                handles.push(handle);
                waiting.push(bells);
            }
            Err(error) => {
                failure = Some(StartFailure { shard, ending: error.into() });
                break;
            }
        }
    }
    let mut wakers: Vec<Option<Waker>> = vec![None; waiting.len()];
    for ready in 1..=waiting.len() {
        match reports.recv().expect("the supervisor holds a sender itself") {
            Report::Ready(shard, waker) => {
                wakers[shard.index()] = Some(waker);
                shared.tell_progress(&format!("recovered {ready} of {} shards", waiting.len()));
            }
            Report::Failed(shard, ending) => failure = failure.or(Some(StartFailure { shard, ending })),
            Report::Finished(_) => unreachable!("no shard finishes before it has begun"),
        }
    }
    if let Some(failure) = failure {
        drop(waiting);
        for handle in handles {
            handle.join().ok();
        }
        return Err(failure);
    }
    let bells: Vec<Arc<ShardBell>> =
        wakers.into_iter().flatten().map(|waker| Arc::new(ShardBell::new(waker))).collect();
    let cleaner = match start_cleaner(environment, directory.home().clone(), shared.trash.clone()) {
        Ok(cleaner) => cleaner,
        Err(error) => {
            drop(waiting);
            for handle in handles {
                handle.join().ok();
            }
            return Err(StartFailure { shard: ShardId::NONE, ending: error.into() });
        }
    };
    for shard in waiting {
        shard.send(bells.clone()).ok();
    }
    Ok(Started { handles, bells, cleaner })
}

/// Starts the thread that empties the trash. Its driver is made there; if that fails, the trash is not
/// emptied and counts as failing.
fn start_cleaner<E: Environment>(
    environment: &E,
    home: Home,
    link: Arc<TrashLink>,
) -> Result<JoinHandle, ng_io::IoError> {
    let environment_there = environment.clone();
    let body = move || match Trash::new(&environment_there, &home) {
        Ok(trash) => trash::run(&environment_there, trash, &link),
        Err(error) => link.gave_up(error),
    };
    environment.spawn(ThreadSpec { name: "trash".to_owned(), cpu: None }, Box::new(body))
}

struct Supervisor<'a, E: Environment> {
    environment: E,
    shared: &'a NodeShared,
    settings: Settings,
    crash: CrashSite,
    reports: Receiver<Report>,
    watch: Watch,
}

impl<E: Environment> Supervisor<'_, E> {
    /// Watches until every shard has stopped. Returns true if all stopped in order and in time.
    fn run(mut self, handles: Vec<JoinHandle>) -> bool {
        let mut running = handles.len();
        let mut give_up: Option<Instant> = None;
        while running > 0 {
            match self.reports.recv_timeout(self.watch.period) {
                Ok(Report::Finished(shard)) => {
                    running -= 1;
                    self.watch.finished(shard);
                }
                Ok(Report::Failed(shard, Ending { status, reason })) => {
                    self.crash.end_process(status, &format!("shard-{}", shard.0), &reason)
                }
                Ok(Report::Ready(..)) => unreachable!("every shard was ready before"),
                Err(RecvTimeoutError::Disconnected) => unreachable!("the supervisor holds a sender itself"),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = self.environment.now();
            self.watch.look(self.shared, now, self.environment.wall());
            if self.shared.stopping.began() {
                // One deadline for all shards, so that the slowest bounds the wait and not their sum.
                let deadline = *give_up
                    .get_or_insert(self.shared.stopping.drain_deadline() + self.settings.engine.join_timeout);
                if now >= deadline {
                    return false;
                }
            } else if running < handles.len() || handles.iter().any(JoinHandle::is_finished) {
                self.end_process("supervisor", "a shard ended without a stop");
            }
        }
        let joined = handles.into_iter().all(|handle| handle.join().is_ok());
        joined && self.shared.stopping.was_complete()
    }

    fn end_process(&self, thread: &str, reason: &str) -> ! {
        self.crash.end_process(ExitStatus::InternalFault, thread, reason)
    }
}

/// Progress of the shards and of Python.
struct Watch {
    shards: Vec<Advance>,
    /// Length of the current silence of Python, once it is too long.
    python_stall: Option<Duration>,
    stall_dump: Duration,
    stall_max: Duration,
    started: Instant,
    life_sign: Option<LifeSign>,
    period: Duration,
}

/// Progress of one shard.
struct Advance {
    turns: u64,
    seen: Instant,
    stalled: bool,
    finished: bool,
}

impl Watch {
    fn new<E: Environment>(environment: &E, shared: &NodeShared, settings: &Settings) -> Self {
        let started = environment.now();
        let life_sign = settings.watchdog().and_then(|watchdog| {
            LifeSign::new(&watchdog)
                .inspect_err(|error| {
                    let errno = error.raw_os_error().unwrap_or_default().unsigned_abs().into();
                    let event = Event::WatchdogUnreachable;
                    shared.tell_event(&LoggedEvent { event, fields: [errno, 0], wall: environment.wall() });
                })
                .ok()
        });
        let advance = || Advance { turns: 0, seen: started, stalled: false, finished: false };
        Self {
            shards: shared.rows.iter().map(|_| advance()).collect(),
            python_stall: None,
            stall_dump: settings.engine.stall_dump,
            stall_max: settings.engine.stall_max,
            started,
            period: life_sign.as_ref().map_or(LOOK, |sign| sign.period().min(LOOK)),
            life_sign,
        }
    }

    /// A stopped shard need not advance.
    fn finished(&mut self, shard: ShardId) {
        self.shards[shard.index()].finished = true;
    }

    fn look(&mut self, shared: &NodeShared, now: Instant, wall: ng_io::WallMicros) {
        let tell = |event, fields| shared.tell_event(&LoggedEvent { event, fields, wall });
        let mut shards_advance = true;
        for (shard, (advance, row)) in self.shards.iter_mut().zip(&shared.rows).enumerate() {
            let turns = row.get(const { Cell::of(Metric::ShardTurns) });
            if turns != advance.turns || advance.finished {
                *advance = Advance { turns, seen: now, stalled: false, ..*advance };
            }
            let stall = now - advance.seen;
            if stall >= SHARD_STALL {
                shards_advance = false;
                if !std::mem::replace(&mut advance.stalled, true) {
                    tell(Event::ShardStalled, [shard as u64, millis(stall)]);
                }
            }
        }
        let silence = now - shared.last_python_beat(self.started);
        if silence >= self.stall_dump {
            if self.python_stall.replace(silence).is_none() {
                // Python cannot write events now. Its stacks are dumped to stderr, and the event follows when
                // it wakes up.
                ng_io::signal::raise_dump_signal();
                tell(Event::ControlPlaneStalled, [millis(silence), 0]);
            }
        } else if let Some(stall) = self.python_stall.take() {
            tell(Event::ControlPlaneRecovered, [millis(stall), 0]);
        }
        if shards_advance
            && silence < self.stall_max
            && let Some(sign) = &mut self.life_sign
        {
            sign.send(now);
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl NodeShared {
    fn tell(&self, record: &Record<'_>) {
        self.notices.push(record);
        self.python_bell.ring();
    }

    /// Reports that every shard runs and has a doorbell.
    pub(crate) fn tell_started(&self, bells: Vec<Arc<ShardBell>>) {
        self.bells.set(bells).expect("a node is started once");
        self.tell(&Record { kind: ToPython::Started.code(), shard: 0, token: 0, body: &[] });
        // A stop during the start found no doorbell, so they are rung now.
        self.ring_all();
    }

    /// Reports that every shard has stopped.
    pub(crate) fn tell_stopped(&self, in_order: bool) {
        self.tell(&Record {
            kind: ToPython::Stopped.code(),
            shard: 0,
            token: 0,
            body: &[u8::from(in_order)],
        });
    }

    fn tell_event(&self, event: &LoggedEvent) {
        self.notices.push_bytes(event_bytes(0, event));
        self.python_bell.ring();
    }

    pub(crate) fn tell_progress(&self, phrase: &str) {
        let mut body = Vec::new();
        put_str32(&mut body, phrase);
        self.tell(&Record { kind: ToPython::Progress.code(), shard: ShardId::NONE.0, token: 0, body: &body });
    }

    fn tell_start_failed(&self, failure: &StartFailure) {
        let mut body = Vec::new();
        put_u8(&mut body, failure.ending.status.code());
        put_str32(&mut body, &failure.ending.reason);
        self.tell(&Record {
            kind: ToPython::StartFailed.code(),
            shard: failure.shard.0,
            token: 0,
            body: &body,
        });
    }
}
