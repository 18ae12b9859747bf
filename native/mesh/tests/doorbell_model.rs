//! A model checker runs every interleaving of the doorbell.
//!
//! This test compiles `src/doorbell.rs` again with the checker's atomics instead of the standard ones, so
//! that no other crate needs a special build. A counter replaces the queue, because the claim is about the
//! doorbell and not about the ring.

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicBool, Ordering, fence};
}

#[path = "../src/doorbell.rs"]
#[allow(dead_code, unreachable_pub, reason = "the model uses part of what the crate exports")]
mod doorbell;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use doorbell::{Doorbell, Wake};

/// Replaces the descriptor: counts rings until the receiver reads them.
#[derive(Default)]
struct Descriptor(AtomicUsize);

impl Wake for Arc<Descriptor> {
    fn wake(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

struct Scene {
    queue: AtomicUsize,
    bell: Doorbell<Arc<Descriptor>>,
    descriptor: Arc<Descriptor>,
}

fn scene() -> Arc<Scene> {
    let descriptor = Arc::new(Descriptor::default());
    Arc::new(Scene { queue: AtomicUsize::new(0), bell: Doorbell::new(descriptor.clone()), descriptor })
}

fn send(scene: &Scene) {
    scene.queue.fetch_add(1, Ordering::Release);
    scene.bell.ring();
}

/// Empties the queue, then sleeps if it is empty. Returns true if the receiver sleeps and no ring will wake
/// it.
fn receive_once(scene: &Scene) -> bool {
    scene.queue.swap(0, Ordering::Acquire);
    let sleeps = scene.bell.may_sleep(|| scene.queue.load(Ordering::Acquire) == 0);
    sleeps && scene.descriptor.0.load(Ordering::SeqCst) == 0
}

/// A receiver that sleeps with an entry in its queue must have been rung.
fn never_strands(senders: usize) {
    loom::model(move || {
        let scene = scene();
        let threads: Vec<_> = (0..senders)
            .map(|_| {
                let scene = scene.clone();
                thread::spawn(move || send(&scene))
            })
            .collect();
        let sleeping = receive_once(&scene);
        for thread in threads {
            thread.join().expect("a sender does not panic");
        }
        if sleeping {
            let stranded = scene.queue.load(Ordering::Acquire) > 0;
            let rung = scene.descriptor.0.load(Ordering::SeqCst) > 0;
            assert!(!stranded || rung, "an entry waits, the receiver sleeps, and no sender rang");
        }
    });
}

#[test]
fn one_sender_never_strands_the_receiver() {
    never_strands(1);
}

#[test]
fn two_senders_never_strand_the_receiver() {
    never_strands(2);
}

#[test]
fn an_awake_receiver_is_not_rung() {
    loom::model(|| {
        let scene = scene();
        send(&scene);
        assert_eq!(scene.descriptor.0.load(Ordering::SeqCst), 0);
    });
}

/// The model can fail: if the receiver looks before it announces, the model finds the lost wake-up.
#[test]
#[should_panic(expected = "no sender rang")]
fn looking_before_announcing_is_caught() {
    loom::model(|| {
        let scene = scene();
        let sender = {
            let scene = scene.clone();
            thread::spawn(move || send(&scene))
        };
        let empty = scene.queue.load(Ordering::Acquire) == 0;
        let sleeping = scene.bell.may_sleep(|| empty);
        sender.join().expect("a sender does not panic");
        if sleeping && scene.queue.load(Ordering::Acquire) > 0 {
            assert!(scene.descriptor.0.load(Ordering::SeqCst) > 0, "no sender rang");
        }
    });
}
