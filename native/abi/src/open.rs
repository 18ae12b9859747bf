//! An open engine: a node, the backend it runs on, and Python's way to it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ng_control::settings::Settings;
use ng_io::probe::{RingSupport, probe_ring, raise_descriptor_limit};
use ng_io::{Environment, Instant, IoError, Listener, PosixEnvironment, UringEnvironment, memory};
use ng_shard::crash::CrashSite;
use ng_shard::node::{self, Node, NodeShared};
use ng_shard::port::Port;
use ng_wire::table::setting::Backend;

use crate::status::{Failure, Status};

/// One engine.
#[derive(Debug)]
pub struct Engine {
    /// What the node's threads share.
    pub(crate) shared: Arc<NodeShared>,
    backend: Chosen,
    /// Why the ring was not taken although any backend would do; empty otherwise.
    ring_refusal: String,
    crash: CrashSite,
    /// Until the start.
    node: Mutex<Option<Node>>,
    port: Mutex<Port>,
}

#[derive(Clone, Debug)]
enum Chosen {
    Posix(PosixEnvironment),
    Uring(UringEnvironment),
}

impl Engine {
    /// Binds what has to be bound and makes what has to be made, short of threads.
    pub(crate) fn open(settings: &[u8]) -> Result<Self, Failure> {
        let settings =
            Settings::parse(settings).map_err(|error| Failure::new(Status::Invalid, error.to_string()))?;
        memory::pin_thresholds();
        // A limit that cannot be raised is the operator's choice; accepting pauses when it is reached.
        raise_descriptor_limit().ok();
        let (backend, ring_refusal) = choose(settings.engine.backend)?;
        let crash = CrashSite::new(&settings.engine.crash_file);
        let (address, backlog) = (settings.engine.tcp_address, settings.engine.accept_backlog);
        let opened = match &backend {
            Chosen::Posix(environment) => bind(environment, address, backlog)
                .and_then(|listener| opened(environment, settings, listener)),
            Chosen::Uring(environment) => bind(environment, address, backlog)
                .and_then(|listener| opened(environment, settings, listener)),
        };
        let (node, port) = opened?;
        let shared = port.node.clone();
        Ok(Self {
            shared,
            backend,
            ring_refusal,
            crash,
            node: Mutex::new(Some(node)),
            port: Mutex::new(port),
        })
    }

    /// Starts the node's threads.
    pub(crate) fn start(&self) -> Result<(), Failure> {
        let node = self.node.lock().unwrap_or_else(PoisonError::into_inner).take();
        let node = node.ok_or_else(|| Failure::new(Status::WrongStage, "the engine was started before"))?;
        crate::panic_hook::arm(self.crash.clone());
        match &self.backend {
            Chosen::Posix(environment) => node::start(environment, node),
            Chosen::Uring(environment) => node::start(environment, node),
        }
        .map_err(|error| {
            crate::panic_hook::disarm(&self.crash);
            Failure::new(Status::Io, format!("the supervisor could not start: {error}"))
        })
    }

    /// A panic is no longer this engine's: its threads have ended.
    pub(crate) fn disarm(&self) {
        crate::panic_hook::disarm(&self.crash);
    }

    /// Whether [`Self::start`] was called.
    pub(crate) fn is_started(&self) -> bool {
        self.node.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Python's ends of the rings, for one call.
    pub(crate) fn port(&self) -> MutexGuard<'_, Port> {
        self.port.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time as the node's threads know it.
    pub(crate) fn now(&self) -> Instant {
        match &self.backend {
            Chosen::Posix(environment) => environment.now(),
            Chosen::Uring(environment) => environment.now(),
        }
    }

    /// Lines of `key=value` about what the open engine has come to: addresses with their real ports, and the backend.
    pub(crate) fn describe(&self) -> String {
        let backend = match &self.backend {
            Chosen::Posix(environment) => environment.name(),
            Chosen::Uring(environment) => environment.name(),
        };
        format!("tcp={}\nbackend={backend}\nring_refusal={}\n", self.shared.facts.tcp, self.ring_refusal)
    }
}

fn choose(backend: Backend) -> Result<(Chosen, String), Failure> {
    let ring = match backend {
        Backend::Posix => return Ok((Chosen::Posix(PosixEnvironment), String::new())),
        Backend::Auto | Backend::Uring => probe_ring(),
    };
    match (ring, backend) {
        (RingSupport::Available { .. }, _) => Ok((Chosen::Uring(UringEnvironment), String::new())),
        (RingSupport::Unavailable { reason }, Backend::Uring) => Err(Failure::new(
            Status::Configuration,
            format!("io_uring was asked for by name and cannot be used here: {reason}"),
        )),
        (RingSupport::Unavailable { reason }, _) => {
            Ok((Chosen::Posix(PosixEnvironment), reason.replace('\n', " ")))
        }
    }
}

fn bind<E: Environment>(environment: &E, address: SocketAddr, backlog: u32) -> Result<Listener, Failure> {
    environment.bind_stream(address, backlog).map_err(|error| {
        let status = if error.is_address_in_use() {
            Status::AddressInUse
        } else if error.is_permission() {
            Status::Permission
        } else {
            Status::Configuration
        };
        Failure::new(status, format!("{address} cannot be bound: {error}"))
    })
}

fn opened<E: Environment>(
    environment: &E,
    settings: Settings,
    listener: Listener,
) -> Result<(Node, Port), Failure> {
    node::open(environment, settings, listener).map_err(|error: IoError| {
        let status = if error.is_out_of_descriptors() { Status::Configuration } else { Status::Io };
        Failure::new(status, format!("the engine cannot be opened: {error}"))
    })
}
