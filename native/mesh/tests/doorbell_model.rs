//! Every interleaving of the doorbell, by a model checker.
//!
//! `src/doorbell.rs` is compiled here a second time with the checker's atomics in place of the standard ones, so
//! nothing else of the workspace is built in a special way. The queue is a counter: what a ring of its own
//! would add is not part of the claim.

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

/// Stands for the descriptor: rings are kept until the receiver reads them.
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

/// Takes what is there; goes to sleep when there is nothing. Returns whether it sleeps without a ring to wake
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
            assert!(!stranded || rung, "an entry waits, the receiver sleeps, and nobody rang");
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

/// The model can fail: without the announcement before the look, it finds the lost wake-up.
#[test]
#[should_panic(expected = "nobody rang")]
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
            assert!(scene.descriptor.0.load(Ordering::SeqCst) > 0, "nobody rang");
        }
    });
}
