//! Every input the fuzzers kept, replayed as an ordinary test.

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "the targets are public where they are a crate of their own")]
mod targets;

use targets::{client_frame, primitives, request_body};

fn replay(target: &str, judge: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut inputs = 0;
    for entry in fs::read_dir(&folder).expect(target) {
        let path = entry.expect("a folder that can be listed").path();
        judge(&fs::read(&path).expect("an input that can be read"));
        inputs += 1;
    }
    assert!(inputs > 0, "{} is empty", folder.display());
}

#[test]
fn client_frame() {
    replay("client_frame", client_frame::client_frame);
}

#[test]
fn primitives() {
    replay("primitives", primitives::primitives);
}

#[test]
fn request_body() {
    replay("request_body", request_body::request_body);
}
