//! Each planted bug is found by the judges of the random worlds.

use super::seeded::first_failure;
use crate::plant::Plant;

/// How many worlds a bug may survive.
const WORLDS: u64 = 6_000;

#[track_caller]
fn is_found(bug: Plant) {
    let found = first_failure(1..=WORLDS, Some(bug));
    assert!(found.is_some(), "{bug:?} survives {WORLDS} worlds");
    println!("{bug:?}: {}", found.unwrap_or_default());
}

#[test]
fn ack_before_durable() {
    is_found(Plant::AckBeforeDurable);
}

#[test]
fn truncate_on_damage() {
    is_found(Plant::TruncateOnDamage);
}

#[test]
fn vote_after_wipe() {
    is_found(Plant::VoteAfterWipe);
}

#[test]
fn resumed_view() {
    is_found(Plant::ResumedView);
}

#[test]
fn apply_on_prepare() {
    is_found(Plant::ApplyOnPrepare);
}

#[test]
fn no_parent_check() {
    is_found(Plant::NoParentCheck);
}

#[test]
fn eviction_order() {
    is_found(Plant::EvictionOrder);
}

#[test]
fn lost_duplicate() {
    is_found(Plant::LostDuplicate);
}

#[test]
fn unwritten_view() {
    is_found(Plant::UnwrittenView);
}

#[test]
fn small_quorum() {
    is_found(Plant::SmallQuorum);
}
