//! All files of a machine at a moment, and changes to them while no process runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ng_io::{Driver, DriverLimits, Environment, Instant, SimulatedEnvironment, Wait};
use ng_storage::store::plan::{Plan, PlanResult, Step, replace};
use ng_storage::store::shell::PlanShell;

/// Files with their bytes.
pub(crate) type Files = BTreeMap<PathBuf, Vec<u8>>;

const LIMITS: DriverLimits = DriverLimits { operations_max: 8, handles_max: 8 };

/// Every file as it is now.
pub(crate) fn files_of(environment: &SimulatedEnvironment) -> Files {
    let names = environment.file_names().into_iter();
    names
        .filter_map(|name| Some((environment.file_bytes(&name)?, name)))
        .map(|(bytes, name)| (name, bytes))
        .collect()
}

/// Gives a file these bytes, or none any more, and syncs that.
pub(super) fn put(environment: &SimulatedEnvironment, path: &Path, bytes: Option<&[u8]>) {
    let mut plan = Plan::new();
    match bytes {
        Some(bytes) => replace(&mut plan, path.to_owned(), bytes.to_vec()),
        None => plan.push(Step::Remove(path.to_owned())),
    }
    plan.extend(path.parent().map(|parent| Step::SyncDirectory(parent.to_owned())));
    environment.boot(|| perform(environment, plan)).expect("a healthy disk");
    environment.kill();
}

/// Makes all files what they were at a moment.
pub(crate) fn restore(environment: &SimulatedEnvironment, files: &Files) {
    for name in environment.file_names() {
        if !files.contains_key(&name) {
            put(environment, &name, None);
        }
    }
    for (name, bytes) in files {
        if environment.file_bytes(name).as_ref() != Some(bytes) {
            put(environment, name, Some(bytes));
        }
    }
}

/// Carries out a plan, as a process of its own that waits for each step.
pub(crate) fn perform(environment: &SimulatedEnvironment, plan: Plan) -> PlanResult {
    let mut driver = environment.driver(LIMITS).expect("a healthy machine");
    let mut shell = PlanShell::new(1, 1, 2, false);
    shell.start(&mut driver, 0, plan);
    let mut completions = Vec::new();
    loop {
        driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut completions).expect("a healthy machine");
        for completion in completions.drain(..) {
            if let Some((_, result)) = shell.completed(&mut driver, completion) {
                return result;
            }
        }
    }
}
