//! The loop of the serving thread.

use ng_io::{
    Buffer, Completion, Driver, DriverLimits, Environment, Handle, Instant, Listener, Operation, Outcome,
    Token, Wait,
};

use crate::answers::Answers;
use crate::connection::{Connection, RECEIVED_BYTES};

const ACCEPT: Token = Token(u64::MAX);

/// More than any load of ours opens at once.
const CONNECTIONS_MAX: usize = 1024;

/// The body of the serving thread; the end of the process is its end.
pub(crate) fn serve<E: Environment>(environment: &E, listener: Listener, answers: Answers) {
    let limits = DriverLimits { operations_max: 2 * CONNECTIONS_MAX, handles_max: 2 * CONNECTIONS_MAX };
    let mut driver = environment.driver(limits).expect("the backend is present");
    let listener = driver.adopt_listener(listener).expect("an empty table has room");
    driver.submit(ACCEPT, Operation::Accept { listener });
    let mut sink = Sink { driver, listener, answers, connections: Vec::new() };
    let mut completions = Vec::new();
    loop {
        sink.driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut completions).expect("the driver works");
        for completion in completions.drain(..) {
            sink.completed(completion);
        }
    }
}

struct Sink<D: Driver> {
    driver: D,
    listener: Handle,
    answers: Answers,
    /// By token. A process serves one measurement, so that seats of those that left are not taken again.
    connections: Vec<Option<Connection>>,
}

impl<D: Driver> Sink<D> {
    fn completed(&mut self, Completion { token, outcome }: Completion) {
        if let Outcome::Accepted(accepted) = outcome {
            if let Ok((socket, _)) = accepted {
                let socket = self.driver.adopt_socket(socket).expect("loads stay below the limits");
                self.connections.push(Some(Connection::new(socket)));
                let token = Token(self.connections.len() as u64 - 1);
                let buffer = Buffer::with_capacity(RECEIVED_BYTES);
                self.driver.submit(token, Operation::Receive { socket, buffer, wanted: 0 });
            }
            self.driver.submit(ACCEPT, Operation::Accept { listener: self.listener });
            return;
        }
        let seat = usize::try_from(token.0).expect("tokens of connections are positions in a table");
        let connection = self.connections[seat].as_mut();
        let connection = connection.expect("an operation under way belongs to an open connection");
        let socket = connection.socket;
        let next = match outcome {
            Outcome::Received { mut buffer, result: Ok(1..) } => {
                let request = connection.take(&buffer);
                buffer.clear();
                match request {
                    Some(request) => {
                        connection.received = Some(buffer);
                        connection.sends_poll = Answers::is_poll(&request);
                        Operation::Send { socket, buffer: connection.answer(&request, &self.answers) }
                    }
                    None => Operation::Receive { socket, buffer, wanted: 0 },
                }
            }
            Outcome::Sent { buffer, result: Ok(()) } => {
                if connection.sends_poll {
                    connection.poll = Some(buffer);
                }
                let received = connection.received.take();
                let buffer = received.expect("it was laid aside when the answer was begun");
                Operation::Receive { socket, buffer, wanted: 0 }
            }
            _ => {
                self.connections[seat] = None;
                return self.driver.close(socket);
            }
        };
        self.driver.submit(token, next);
    }
}
