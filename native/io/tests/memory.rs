//! The allocator setting, alone in its process: what is measured is the process.

#![allow(missing_docs)]
#![cfg(target_env = "gnu")]

/// As much as one argon2 hash works in.
const ARENA_BYTES: usize = 19 * 1024 * 1024;

#[test]
fn large_freed_blocks_go_back_to_the_kernel() {
    assert!(ng_io::memory::pin_thresholds());
    let before = resident_bytes();
    for _ in 0..4 {
        let blocks = std::hint::black_box([vec![1_u8; ARENA_BYTES], vec![1_u8; ARENA_BYTES]]);
        // Something small above the blocks would keep a heap from shrinking, were they part of it.
        let lid = std::hint::black_box(vec![1_u8; 64]);
        drop(blocks);
        drop(lid);
    }
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < ARENA_BYTES / 2, "{grown} bytes stayed");
}

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("the process's sizes are readable");
    let pages: usize =
        statm.split(' ').nth(1).expect("resident is the second figure").parse().expect("a count");
    pages * rustix::param::page_size()
}
