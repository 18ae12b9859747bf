//! Panics of a world: caught, and told with the place where they happened.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether this thread lives a world, and what its last panic said.
    static IN_WORLD: Cell<bool> = const { Cell::new(false) };
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Does something in a world; a panic of it is what the panic said and where. Panics outside of worlds go where they went.
pub(crate) fn caught<T>(something: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(
            move |panic| if IN_WORLD.get() { SAID.set(words_of(panic)) } else { before(panic) },
        ));
    });
    IN_WORLD.set(true);
    let done = catch_unwind(AssertUnwindSafe(something));
    IN_WORLD.set(false);
    done.map_err(|_| SAID.take())
}

fn words_of(panic: &PanicHookInfo<'_>) -> String {
    let said = panic.payload_as_str().unwrap_or("without words");
    let place =
        panic.location().map_or_else(String::new, |place| format!("{}:{}", place.file(), place.line()));
    format!("panic at {place}: {said}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_with_its_place() {
        let said = caught(|| [1][std::hint::black_box(3)]).expect_err("an index out of bounds");
        assert!(said.starts_with("panic at native/sim/src/panics.rs:"), "{said}");
        assert!(said.ends_with("the len is 1 but the index is 3"), "{said}");
        assert_eq!(caught(|| 7), Ok(7));
    }
}
