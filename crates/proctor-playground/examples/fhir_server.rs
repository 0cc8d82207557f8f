//! A FHIR store by itself: `fhir_server [--listen ADDR] [--data DIR] [--smart ID:SECRET] [FILE…]`.
//!
//! Prints the address of the store on one line of stdout and answers until stdin closes.

use std::{io::Read, sync::Arc, time::Duration};

use proctor_playground::fhir::{
    serve::{Bound, ServeOptions},
    smart::Smart,
};
use proctor_store::ambient::{RandomIds, SystemClock};
use tokio_util::sync::CancellationToken;

#[tokio::main]
#[expect(
    clippy::print_stdout,
    reason = "the address is what the program is asked for"
)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = ServeOptions::at(([127, 0, 0, 1], 0).into());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--listen" => options.listen = value()?.parse()?,
            "--data" => options.data = Some(value()?.into()),
            "--smart" => {
                let both = value()?;
                let (id, secret) = both.split_once(':').ok_or("--smart needs ID:SECRET")?;
                options.smart = Some(Smart::new(id, secret, [0; 32], Duration::from_secs(300)));
            }
            file => options.load.push(file.into()),
        }
    }
    let bound = Bound::bind(
        options,
        Arc::new(SystemClock),
        Arc::new(RandomIds::default()),
    )
    .await?;
    println!("{}", bound.base_url());
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    std::thread::spawn(move || {
        let mut rest = Vec::new();
        let _ = std::io::stdin().read_to_end(&mut rest);
        stop.cancel();
    });
    bound.run(shutdown).await?;
    Ok(())
}
