//! Making a ring: the newest set of flags the kernel takes, and nothing it lacks a feature for.

use io_uring::{IoUring, Probe, opcode};

use crate::error::IoError;

/// A ring and the names of the modes it runs in.
pub(crate) struct Ring {
    pub(crate) inner: IoUring,
    pub(crate) modes: &'static [&'static str],
}

/// A set of flags with the kernel that brought the newest of them.
struct ModeSet {
    modes: &'static [&'static str],
    apply: fn(&mut io_uring::Builder),
}

/// Tried in this order; a kernel refuses flags it does not know with EINVAL.
const MODE_SETS: [ModeSet; 3] = [
    // Linux 6.1: completions are worked off inside our own wait, and only there.
    ModeSet {
        modes: &["single_issuer", "defer_taskrun", "submit_all"],
        apply: |builder| {
            builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().setup_submit_all();
        },
    },
    // Linux 5.19: at least no interrupts to work them off.
    ModeSet {
        modes: &["coop_taskrun", "submit_all"],
        apply: |builder| {
            builder.setup_coop_taskrun().setup_taskrun_flag().setup_submit_all();
        },
    },
    ModeSet { modes: &[], apply: |_| {} },
];

/// Makes a ring whose queues have these sizes, or the largest the kernel allows.
pub(crate) fn make(submissions: u32, completions: u32) -> Result<Ring, IoError> {
    let mut refused = libc::EINVAL;
    for set in &MODE_SETS {
        let mut builder = IoUring::builder();
        builder.dontfork().setup_clamp().setup_cqsize(completions);
        (set.apply)(&mut builder);
        match builder.build(submissions) {
            Ok(inner) => {
                require(&inner)?;
                return Ok(Ring { inner, modes: set.modes });
            }
            Err(error) => {
                refused = error.raw_os_error().unwrap_or(libc::EIO);
                if refused != libc::EINVAL {
                    break;
                }
            }
        }
    }
    Err(IoError::new("make a ring", refused))
}

/// What the driver is built on: a wait with a deadline (5.11), names (5.15), steps of a chain that are silent when they
/// succeed (5.17), completions that are never dropped, polling without threads.
fn require(ring: &IoUring) -> Result<(), IoError> {
    let features = ring.params();
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe).map_err(|error| IoError::from_io("probe a ring", &error))?;
    let operations = [
        opcode::Accept::CODE,
        opcode::AsyncCancel::CODE,
        opcode::Fsync::CODE,
        opcode::LinkAt::CODE,
        opcode::MkDirAt::CODE,
        opcode::OpenAt::CODE,
        opcode::Read::CODE,
        opcode::Recv::CODE,
        opcode::RenameAt::CODE,
        opcode::Send::CODE,
        opcode::UnlinkAt::CODE,
        opcode::Write::CODE,
    ];
    let complete = features.is_feature_ext_arg()
        && features.is_feature_nodrop()
        && features.is_feature_fast_poll()
        && features.is_feature_skip_cqe_on_success()
        && operations.iter().all(|code| probe.is_supported(*code));
    if complete { Ok(()) } else { Err(IoError::new("use the ring of this kernel", libc::EOPNOTSUPP)) }
}
