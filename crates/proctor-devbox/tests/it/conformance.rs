//! Every case of the conformance suite as a test of its own.

use proctor_devbox::conformance::{self, Outcome};

use crate::support::Local;

async fn holds(name: &str) {
    match conformance::run(Box::new(Local::new()), name).await {
        Ok(Outcome::Passed) => {}
        Ok(Outcome::Skipped(why)) => eprintln!("skipped: {why}"),
        Err(failed) => panic!("{failed}"),
    }
}

macro_rules! as_tests {
    ($($group:ident :: $name:ident,)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            holds(stringify!($name)).await;
        }
    )*};
}
proctor_devbox::for_every_conformance_case!(as_tests);
