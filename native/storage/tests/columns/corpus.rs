//! Every input that the fuzzer kept, replayed as an ordinary test.

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/segment_columns.rs"]
mod target;

#[test]
fn segment_columns() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/segment_columns");
    let mut inputs = 0;
    for entry in fs::read_dir(&folder).expect("the corpus") {
        let path = entry.expect("a folder that can be listed").path();
        target::segment_columns(&fs::read(&path).expect("an input that can be read"));
        inputs += 1;
    }
    assert!(inputs > 0, "{} is empty", folder.display());
}
