//! The file that says what models cost.

use std::{collections::BTreeMap, path::Path};

use proctor_core::usage::{Price, PriceTable};

use crate::exit::WrongUse;

/// Reads a file of prices: a table for each model, with `input`, `output` and, if it differs from `input`, `cached`, in US dollars for
/// a million tokens.
pub(crate) fn read(file: Option<&Path>) -> Result<PriceTable, WrongUse> {
    let Some(file) = file else {
        return Ok(PriceTable::default());
    };
    let text = fs_err::read_to_string(file).map_err(|error| WrongUse(error.to_string()))?;
    parse(&text).map_err(|problem| WrongUse(format!("{}: {problem}", file.display())))
}

fn parse(text: &str) -> Result<PriceTable, String> {
    let table: BTreeMap<String, Price> =
        toml::from_str(text).map_err(|error| error.message().to_owned())?;
    for (model, price) in &table {
        let prices = [Some(price.input), price.cached, Some(price.output)];
        let is_price = |price: f64| price.is_finite() && price >= 0.0;
        if !prices.into_iter().flatten().all(is_price) {
            return Err(format!("{model}: a price must be a number from 0"));
        }
    }
    Ok(PriceTable(table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_price_for_each_model() {
        let table = parse("[\"m-1\"]\ninput = 3.0\noutput = 15.0\n").unwrap();
        assert_eq!(table.0["m-1"].cached, None);
        for wrong in [
            "[m]\ninput = 3.0\n",
            "[m]\ninput = -1.0\noutput = 1.0\n",
            "[m]\ninput = 1.0\noutput = 1.0\nprompt = 2.0\n",
            "m = 3.0",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
