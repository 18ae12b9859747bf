use super::identity::{Op, View};
use super::prepare::PrepareHeader;
use super::vote::{SuffixEntry, Tail};

/// Replicate one operation; the body follows the frame's sealed part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepare {
    /// The view of the sender, not that of the header.
    pub view: View,
    /// What the sender knows to be committed.
    pub commit_max: Op,
    /// The operation.
    pub header: PrepareHeader,
}

/// The operation is in the sender's journal and synced there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrepareOk {
    /// The view of the sender.
    pub view: View,
    /// The place in the log.
    pub op: Op,
    /// Which operation at that place.
    pub checksum: u128,
}

/// The primary is alive, and this much is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The view of the sender.
    pub view: View,
    /// What is committed.
    pub commit_max: Op,
    /// The last op of the primary's log.
    pub head: Op,
}

/// The sender wants to leave every view below this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartViewChange {
    /// The view it wants.
    pub view: View,
    /// The view it is in, or voted for: it can take part in no earlier one.
    pub voted: View,
}

/// A vote: the sender takes part in no view below this one any more, and this is its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoViewChange {
    /// The view voted for.
    pub view: View,
    /// The last view whose log the sender took over.
    pub log_view: View,
    /// What the sender executed; the first entry of the suffix.
    pub commit_min: Op,
    /// What the sender knows to be committed.
    pub commit_max: Op,
    /// What it knows of the places behind the suffix.
    pub tail: Tail,
    /// The log from `commit_min` to its head.
    pub suffix: Vec<SuffixEntry>,
}

/// The view has begun, and this is its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartView {
    /// The view.
    pub view: View,
    /// What is committed.
    pub commit_max: Op,
    /// The nonce of the request this answers, or zero.
    pub nonce: u64,
    /// The log from an op that the primary executed to its head; never empty.
    pub headers: Vec<PrepareHeader>,
}

/// Asks a primary for [`StartView`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestStartView {
    /// The view the sender believes in.
    pub view: View,
    /// Tells the answer from those to earlier lives of the sender; never zero.
    pub nonce: u64,
}

/// Asks every replica which view it is in; sent by a replica whose disk is blank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Tells the answers from those to earlier lives of the sender; never zero.
    pub nonce: u64,
}

/// Answers [`Probe`]; only a replica that is in normal operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeReply {
    /// The view of the sender.
    pub view: View,
    /// The nonce of the probe.
    pub nonce: u64,
}

/// Asks for stored prepares of a range of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestPrepares {
    /// The view of the sender.
    pub view: View,
    /// The first place; zero asks for a state.
    pub first: Op,
    /// The last place.
    pub last: Op,
}

/// What was asked for is no longer kept as prepares; the state as of this op is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferOffer {
    /// The view of the sender.
    pub view: View,
    /// What the sender knows to be committed.
    pub commit_max: Op,
    /// The last operation the state contains.
    pub anchor: PrepareHeader,
}

/// What one replica says to another about one group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is documented where its content is")]
pub enum Message {
    Prepare(Prepare),
    PrepareOk(PrepareOk),
    Commit(Commit),
    StartViewChange(StartViewChange),
    DoViewChange(DoViewChange),
    StartView(StartView),
    RequestStartView(RequestStartView),
    Probe(Probe),
    ProbeReply(ProbeReply),
    RequestPrepares(RequestPrepares),
    TransferOffer(TransferOffer),
}

impl Message {
    /// The view of the sender; a probe has none.
    #[must_use]
    pub const fn view(&self) -> Option<View> {
        match self {
            Self::Prepare(message) => Some(message.view),
            Self::PrepareOk(message) => Some(message.view),
            Self::Commit(message) => Some(message.view),
            Self::StartViewChange(message) => Some(message.view),
            Self::DoViewChange(message) => Some(message.view),
            Self::StartView(message) => Some(message.view),
            Self::RequestStartView(message) => Some(message.view),
            Self::Probe(_) => None,
            Self::ProbeReply(message) => Some(message.view),
            Self::RequestPrepares(message) => Some(message.view),
            Self::TransferOffer(message) => Some(message.view),
        }
    }
}
