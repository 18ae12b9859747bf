//! One decision: may this user do this here? Judged for a user with flags in 8 topics of each of 64 streams, and
//! for root.

#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use ng_catalog::{Rights, Target};
use ng_wire::permissions::{Permissions, StreamPermissions, TopicPermissions};
use ng_wire::table::permission::{Requirement, TopicFlag};

const STREAMS: u32 = 64;
const TOPICS: u32 = 8;
const USER: u32 = 7;

fn permits(criterion: &mut Criterion) {
    let granted = Rights::compile(&granted());
    let root = Rights::compile(&Permissions::all());
    let targets: Vec<_> = (0..1024).map(|at| Target::Topic(at * 29 % STREAMS, at * 5 % TOPICS)).collect();
    for (name, rights, requirement) in [
        ("a topic's flag, allowed", &granted, Requirement::SendMessages),
        ("a topic's flag, forbidden", &granted, Requirement::ManageTopic),
        ("root", &root, Requirement::SendMessages),
    ] {
        let mut at = 0;
        criterion.bench_function(&format!("permits/{name}"), |bencher| {
            bencher.iter(|| {
                at = (at + 1) % targets.len();
                black_box(rights).meet(USER, black_box(requirement), targets[at])
            });
        });
    }
}

fn granted() -> Permissions {
    let flags = 1 << TopicFlag::SendMessages.code();
    let topics: Vec<_> = (0..TOPICS).map(|topic| TopicPermissions { topic, flags }).collect();
    let stream = |stream| StreamPermissions { stream, flags: 0, topics: topics.clone() };
    Permissions { global: 0, streams: (0..STREAMS).map(stream).collect() }
}

criterion_group!(benches, permits);
criterion_main!(benches);
