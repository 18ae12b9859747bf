//! The body of a shard thread: prepares the shard on its thread, then turns and rests until the node stops.

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

/// Report of a shard thread to the supervisor.
#[derive(Debug)]
pub enum Report {
    /// Its I/O is ready and its log recovered; it waits for the doorbells of all shards.
    Ready(ShardId, Waker),
    /// It could not start or continue.
    Failed(ShardId, Ending),
    /// It has stopped in order.
    Finished(ShardId),
}

/// Inputs of a shard thread, except those that must be made on it.
#[derive(Debug)]
pub struct ShardSetup {
    /// Request handler, which contains the shard's number.
    pub handler: RequestHandler,
    /// Link to the thread that empties the trash.
    pub trash: Arc<TrashLink>,
    /// Limits of the connection table.
    pub limits: Limits,
    /// Driver limits that the log adds to those of the connections.
    pub log_limits: DriverLimits,
    /// Listener and records from Python; on shard 0 only.
    pub first: Option<(Listener, RecordReader)>,
    /// Python's doorbell.
    pub python_bell: Arc<PythonBell>,
    /// Progress of the node's stop.
    pub stopping: Arc<Stopping>,
}

/// Runs one shard. `bells` delivers the doorbells of all shards; if it disconnects instead, the start has
/// failed elsewhere.
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
        // A failed send can be ignored, because the supervisor outlives every shard.
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

/// A shard that waits for the doorbells of all shards.
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

/// A connection has one operation in each direction. A closed one keeps its descriptor and operations until
/// the next rest, when its successor may already exist: twice the table covers both. The mailboxes of one
/// turn may bring more connections than the table holds, each closed by the next. The acceptor and the log
/// need the rest.
fn driver_limits(limits: &Limits, log: &DriverLimits) -> DriverLimits {
    let connections = 2 * limits.connections_max + FRAMES_PER_TURN + 8;
    DriverLimits {
        operations_max: 2 * connections + log.operations_max,
        handles_max: connections + log.handles_max,
    }
}

impl<E: Environment> Prepared<E> {
    /// Waker of the shard's driver.
    pub fn waker(&self) -> Waker {
        self.driver.waker()
    }

    /// The complete shard, with the doorbells of all.
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
