//! The body of a shard thread: make what must be made on the thread, then turn and rest until told to stop.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use ng_control::record::RecordReader;
use ng_control::shard_id::ShardId;
use ng_io::{Driver, DriverLimits, Environment, Listener, Waker};
use ng_mesh::mailbox::ShardBell;
use ng_net::{Acceptor, Connections, Limits};
use ng_session::request_handler::RequestHandler;

use crate::directory::{Directory, NodeLog};
use crate::ending::Ending;
use crate::port::PythonBell;
use crate::stopping::Stopping;
use crate::trash::TrashLink;
use crate::turn::{ACCEPT_TOKEN, FRAMES_PER_TURN, FirstShard, Pause, Shard, ShardParts};

/// What a shard thread tells the supervisor.
#[derive(Debug)]
pub enum Report {
    /// Its I/O is made and its log recovered; it waits for the doorbells of all.
    Ready(ShardId, Waker),
    /// It could not start, or not go on.
    Failed(ShardId, Ending),
    /// It has stopped in order.
    Finished(ShardId),
}

/// What a shard thread is given, except what must be made on it.
#[derive(Debug)]
pub struct ShardSetup {
    /// The handler, which says which shard it is.
    pub handler: RequestHandler,
    /// The way to the thread that empties the trash.
    pub trash: Arc<TrashLink>,
    /// Bounds of the connection table.
    pub limits: Limits,
    /// What the log adds to what the connections ask of the driver.
    pub log_limits: DriverLimits,
    /// On the first shard: the listener and what Python submits.
    pub first: Option<(Listener, RecordReader)>,
    /// Wakes Python.
    pub python_bell: Arc<PythonBell>,
    /// How the node's stop goes.
    pub stopping: Arc<Stopping>,
}

/// Runs one shard. `bells` delivers every shard's doorbell once all are made; when it hangs up instead, the
/// start was given up.
pub fn run<E: Environment>(
    environment: &E,
    setup: ShardSetup,
    directory: &Directory<E>,
    reports: &Sender<Report>,
    bells: &Receiver<Vec<Arc<ShardBell>>>,
) {
    let id = setup.handler.id;
    let stopping = setup.stopping.clone();
    let outcome = prepare(environment, setup, directory).and_then(|prepared| {
        // The supervisor outlives every shard; were it gone, nobody would be left to tell.
        reports.send(Report::Ready(id, prepared.waker())).ok();
        let Ok(bells) = bells.recv() else { return Ok(()) };
        turn_until_stopped(&mut prepared.into_shard(bells))
    });
    if id != ShardId::FIRST {
        stopping.finish();
    }
    let report = match outcome {
        Ok(()) => Report::Finished(id),
        Err(error) => Report::Failed(id, error),
    };
    reports.send(report).ok();
}

fn turn_until_stopped<E: Environment>(shard: &mut Shard<E>) -> Result<(), Ending> {
    loop {
        let pause = shard.turn(shard.now())?;
        if pause == Pause::Finished {
            return Ok(());
        }
        shard.rest(pause)?;
    }
}

/// A shard that waits for the doorbells of all.
#[derive(Debug)]
pub struct Prepared<E: Environment> {
    driver: E::Driver,
    log: NodeLog<E>,
    acceptor: Option<Acceptor>,
    from_python: Option<RecordReader>,
    handler: RequestHandler,
    trash: Arc<TrashLink>,
    limits: Limits,
    python_bell: Arc<PythonBell>,
    stopping: Arc<Stopping>,
}

/// Makes the I/O of a shard and recovers its log, on the thread that will turn it.
pub fn prepare<E: Environment>(
    environment: &E,
    setup: ShardSetup,
    directory: &Directory<E>,
) -> Result<Prepared<E>, Ending> {
    let ShardSetup { handler, trash, limits, log_limits, first, python_bell, stopping } = setup;
    let mut driver = environment.driver(driver_limits(&limits, &log_limits))?;
    let log = directory.open_log(&mut driver, handler.id)?;
    let (acceptor, from_python) = match first {
        Some((listener, from_python)) => {
            (Some(Acceptor::new(listener, ACCEPT_TOKEN, &mut driver)?), Some(from_python))
        }
        None => (None, None),
    };
    Ok(Prepared { driver, log, acceptor, from_python, handler, trash, limits, python_bell, stopping })
}

/// A connection has one operation in each direction. A closed one keeps its descriptor and its operations
/// until the next rest, while its successor has begun: twice the table covers both. In one turn the mailboxes
/// may bring more connections than the table holds, each closed by the next; and the acceptor and the log are
/// on top.
fn driver_limits(limits: &Limits, log: &DriverLimits) -> DriverLimits {
    let connections = 2 * limits.connections_max + FRAMES_PER_TURN + 8;
    DriverLimits {
        operations_max: 2 * connections + log.operations_max,
        handles_max: connections + log.handles_max,
    }
}

impl<E: Environment> Prepared<E> {
    /// Wakes it.
    pub fn waker(&self) -> Waker {
        self.driver.waker()
    }

    /// The shard, now that all have doorbells.
    pub fn into_shard(self, bells: Vec<Arc<ShardBell>>) -> Shard<E> {
        let first = self.acceptor.zip(self.from_python);
        let first = first.map(|(acceptor, from_python)| FirstShard::new(acceptor, from_python));
        Shard::new(ShardParts {
            driver: self.driver,
            log: self.log,
            connections: Connections::new(self.limits),
            handler: self.handler,
            trash: self.trash,
            first,
            bells,
            python_bell: self.python_bell,
            stopping: self.stopping,
        })
    }
}
