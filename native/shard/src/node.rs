//! A node: all shards of one process, from start to stop.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use ng_catalog::Catalog;
use ng_control::event_ring::event_ring;
use ng_control::metrics::MetricsRow;
use ng_control::record::{RECORD_RING_BYTES, RecordWriter, record_ring};
use ng_control::settings::Settings;
use ng_control::shard_id::ShardId;
use ng_io::{Environment, Instant, IoError, Listener, ThreadSpec};
use ng_mesh::mailbox::{Mailboxes, ShardBell, mesh};
use ng_mesh::routes::Routes;
use ng_net::Limits;
use ng_session::metadata_requests::MetadataRequests;
use ng_session::node_facts::NodeFacts;
use ng_session::registry::{Registry, RegistryLimits};
use ng_session::request_handler::{Answered, ReplyBudget, RequestHandler, WaitingPolls};
use ng_session::totals::ShardTotals;
use ng_storage::block::BODY_FRONT;

use crate::directory;
use crate::port::{Eventfd, Notices, Port, PythonBell};
use crate::stopping::Stopping;
use crate::supervisor::{self, ShardThreads};
use crate::thread::ShardSetup;
use crate::trash::TrashLink;

/// An opened node: its listener is bound and its rings exist. [`start`] starts its threads.
#[derive(Debug)]
pub struct Node {
    shared: Arc<NodeShared>,
    setups: Vec<ShardSetup>,
    settings: Settings,
}

/// State shared by the shards, the supervisor and the boundary to Python.
#[derive(Debug)]
pub struct NodeShared {
    /// Facts of this run.
    pub facts: Arc<NodeFacts>,
    /// Metrics of all shards, by shard number.
    pub rows: Vec<Arc<MetricsRow>>,
    /// Progress of the stop.
    pub stopping: Arc<Stopping>,
    /// Doorbells of all shards, once they exist.
    pub bells: OnceLock<Vec<Arc<ShardBell>>>,
    /// Records of the supervisor for Python.
    pub notices: Arc<Notices>,
    /// Python's doorbell.
    pub python_bell: Arc<PythonBell>,
    /// Link to the thread that empties the trash.
    pub trash: Arc<TrashLink>,
    /// Time at which Python last drained its records, in nanoseconds; zero before the first time.
    python_beat: AtomicU64,
    stage: Mutex<Stage>,
    stage_changed: Condvar,
    drain_timeout: Duration,
}

/// Stage in the life of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// No thread runs.
    Opened,
    /// The supervisor runs.
    Running,
    /// All threads have ended.
    Stopped {
        /// All of them ended in order.
        in_order: bool,
    },
}

/// Opens a node: makes everything that needs no thread. Also returns Python's ends of the rings.
pub fn open<E: Environment>(
    environment: &E,
    settings: Settings,
    listener: Listener,
) -> Result<(Node, Port), IoError> {
    let facts = Arc::new(facts(environment, &settings, &listener)?);
    let shards = settings.shards();
    let stopping = Arc::new(Stopping::new(shards));
    let python_bell = Arc::new(PythonBell::new(Eventfd::new()?));
    let notices = Arc::new(Notices::default());
    let rows: Vec<Arc<MetricsRow>> = (0..shards).map(|_| Arc::default()).collect();
    let shared = Arc::new(NodeShared {
        facts: facts.clone(),
        rows: rows.clone(),
        stopping: stopping.clone(),
        bells: OnceLock::new(),
        notices: notices.clone(),
        python_bell: python_bell.clone(),
        trash: Arc::default(),
        python_beat: AtomicU64::new(0),
        stage: Mutex::new(Stage::Opened),
        stage_changed: Condvar::new(),
        drain_timeout: settings.engine.drain_timeout,
    });
    let (to_python, records) = record_ring(RECORD_RING_BYTES);
    let (submissions, from_python) = record_ring(RECORD_RING_BYTES);
    let mut registry = Some(registry(&settings, to_python));
    let mut first = Some((listener, from_python));
    let mut events = Vec::new();
    let mut setups = Vec::new();
    let totals: Arc<[ShardTotals]> = (0..shards).map(|_| ShardTotals::default()).collect();
    for (mailboxes, metrics) in all_mailboxes(&settings).into_iter().zip(rows) {
        let (log, reader) = event_ring();
        events.push(reader);
        let handler = RequestHandler {
            id: ShardId(u16::try_from(setups.len()).expect("shards are counted in a u16")),
            facts: facts.clone(),
            mailboxes,
            metrics,
            log,
            metadata: registry.is_some().then(|| metadata_requests(&settings)),
            registry: registry.take(),
            commands: Vec::new(),
            catalog: Catalog::default(),
            routes: Routes::default(),
            totals: totals.clone(),
            own_partitions: Vec::new(),
            balance: BTreeMap::new(),
            answered: Answered::default(),
            frame_bytes_max: settings.engine.frame_bytes_max,
            replies: ReplyBudget::new(settings.memory().replies, settings.engine.poll_reply_bytes_max),
            waiting_polls: WaitingPolls::default(),
            memory: settings.memory(),
            drop_told: None,
            now: facts.started,
            wall: facts.started_wall,
        };
        setups.push(ShardSetup {
            handler,
            trash: shared.trash.clone(),
            limits: table_limits(&settings),
            log_limits: directory::driver_limits(&settings),
            first: first.take(),
            python_bell: python_bell.clone(),
            stopping: stopping.clone(),
        });
    }
    let port = Port { records, submissions, events, notices, bell: python_bell, node: shared.clone() };
    Ok((Node { shared, setups, settings }, port))
}

/// The mailboxes of each shard.
fn all_mailboxes(settings: &Settings) -> Vec<Mailboxes> {
    let all = mesh(settings.shards(), settings.mailbox_entries);
    #[cfg(feature = "plants")]
    let all = all.into_iter().map(|mailboxes| mailboxes.planted(settings.plant)).collect();
    all
}

fn facts<E: Environment>(
    environment: &E,
    settings: &Settings,
    listener: &Listener,
) -> Result<NodeFacts, IoError> {
    Ok(NodeFacts {
        cluster_name: settings.engine.cluster_name.clone(),
        tcp: listener.local_address()?,
        started_wall: environment.wall(),
        started: environment.now(),
    })
}

fn metadata_requests(settings: &Settings) -> MetadataRequests {
    let requests = MetadataRequests::new(ShardId::FIRST, settings.shards());
    #[cfg(feature = "plants")]
    let requests = {
        let mut requests = requests;
        requests.plant(settings.plant);
        requests
    };
    requests
}

fn registry(settings: &Settings, to_python: RecordWriter) -> Registry {
    let limits = RegistryLimits {
        clients_max: settings.engine.connections_max,
        sessions_max: settings.engine.sessions_max,
        logins_max: settings.engine.logins_max,
    };
    let mut registry = Registry::new(limits, to_python);
    if settings.engine.session_records {
        registry.report_sessions();
    }
    registry
}

/// Any shard may hold most of the connections, because clients do not disconnect as evenly as they are
/// distributed. Unauthenticated connections are short-lived and distributed in turn, so each shard gets an
/// equal share of their limit.
fn table_limits(settings: &Settings) -> Limits {
    Limits {
        connections_max: settings.engine.connections_max,
        strangers_max: settings.engine.strangers_max.div_ceil(settings.engine.shard_cpus.len()),
        frame_bytes_max: settings.engine.frame_bytes_max,
        // The journal can then write a batch from the buffer in which it was received.
        kept_front: BODY_FRONT,
        frame_time: settings.engine.frame_time,
        send_timeout: settings.engine.send_timeout,
        frame_memory_max: settings.memory().connections,
        // The other half is for buffers of poll reads and segment writes.
        spare_memory_max: settings.memory().spares / 2,
    }
}

/// Starts the threads of a node and returns at once; the outcome arrives as a record.
pub fn start<E: Environment>(environment: &E, node: Node) -> Result<(), IoError> {
    let Node { shared, setups, settings } = node;
    shared.set_stage(Stage::Running);
    let threads = ShardThreads::new(environment.clone(), shared.clone(), settings, setups);
    let thread = ThreadSpec { name: "supervisor".to_owned(), cpu: None };
    environment.spawn(thread, Box::new(move || supervisor::run(threads))).map(drop).inspect_err(|_| {
        shared.set_stage(Stage::Stopped { in_order: true });
    })
}

impl Node {
    /// The parts from which its shards are made.
    pub(crate) fn into_parts(self) -> (Arc<NodeShared>, Settings, Vec<ShardSetup>) {
        (self.shared, self.settings, self.setups)
    }
}

impl NodeShared {
    /// Begins an orderly stop; later calls have no effect.
    pub fn stop(&self, now: Instant) {
        self.stopping.begin(now + self.drain_timeout);
        self.ring_all();
    }

    pub(crate) fn ring_all(&self) {
        for bell in self.bells.get().into_iter().flatten() {
            bell.ring();
        }
    }

    /// Waits until all threads have ended, for at most `timeout`. `None` means that some still run.
    pub fn join(&self, timeout: Duration) -> Option<Stage> {
        let stage = self.stage();
        let (stage, waited) = self
            .stage_changed
            .wait_timeout_while(stage, timeout, |stage| *stage == Stage::Running)
            .unwrap_or_else(PoisonError::into_inner);
        (!waited.timed_out()).then_some(*stage)
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_stage(&self, stage: Stage) {
        *self.stage() = stage;
        self.stage_changed.notify_all();
    }

    /// Records that Python drained its records at `now`, as a sign of life.
    pub fn python_beats(&self, now: Instant) {
        self.python_beat.store(now.as_nanos().max(1), Ordering::Relaxed);
    }

    /// Last sign of life of Python; `since` if there was none.
    pub(crate) fn last_python_beat(&self, since: Instant) -> Instant {
        match self.python_beat.load(Ordering::Relaxed) {
            0 => since,
            nanos => Instant::from_nanos(nanos),
        }
    }
}
