//! A machine without rings is found out, not stumbled over.

use std::thread;

use ng_io::probe::{RingSupport, probe_ring};
use ng_io::{DriverLimits, Environment, UringEnvironment};

/// A filter as a container runtime installs it: making a ring is answered with `errno`, all else is allowed.
/// It holds for the calling thread.
fn refuse_rings(errno: i32) {
    let errno = u32::try_from(errno).expect("error numbers are positive");
    let call = u32::try_from(libc::SYS_io_uring_setup).expect("call numbers are small");
    let statement =
        |code: u32, k| libc::sock_filter { code: code.try_into().expect("16 bits"), jt: 0, jf: 0, k };
    let mut program = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter { jt: 0, jf: 1, ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call) },
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | errno),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: 4, filter: program.as_mut_ptr() };
    // SAFETY: plain numbers, as prctl wants them for this option.
    let bound = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(bound, 0);
    // SAFETY: `filter` and the program it points at live across the call, which copies them.
    let installed =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) };
    assert_eq!(installed, 0);
}

#[test]
fn a_filtered_ring_is_unavailable_with_the_reason() {
    for (errno, name) in [(libc::EPERM, "EPERM"), (libc::ENOSYS, "ENOSYS")] {
        let (support, driver) = thread::spawn(move || {
            refuse_rings(errno);
            let limits = DriverLimits { operations_max: 8, handles_max: 8 };
            (probe_ring(), UringEnvironment.driver(limits).map(drop))
        })
        .join()
        .expect("a refused ring is no reason to panic");
        let RingSupport::Unavailable { reason } = support else { panic!("the ring was refused") };
        assert!(reason.starts_with("make a ring: ") && reason.contains(name), "{reason}");
        assert_eq!(driver.expect_err("no ring, no driver").errno(), errno);
    }
}

#[test]
fn a_present_ring_says_how_it_runs() {
    match probe_ring() {
        RingSupport::Available { features } => {
            assert_eq!(features.is_empty(), !features.contains(&"submit_all"));
        }
        RingSupport::Unavailable { reason } => panic!("these tests need a ring: {reason}"),
    }
}
