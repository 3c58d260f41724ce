//! What a person reads at start-up: models, versions, states and reasons, then the addresses.

use std::io::{self, IsTerminal, Write};

use comfy_table::{Attribute, Cell, Color, ContentArrangement, Table, presets};
use nacre_engine::{IndexEntry, ModelState};

/// Columns of a table that goes to a file or a pipe, where nobody's terminal says how wide it is.
const WIDTH_OF_A_FILE: u16 = 120;

/// Writes the table of models.
pub fn write_models(out: &mut impl Write, models: &[IndexEntry], colours: bool) -> io::Result<()> {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(WIDTH_OF_A_FILE);
    table.set_header(["Model", "Version", "State", "Reason"]);
    for model in models {
        let version = model.version.map_or_else(|| "-".to_owned(), |version| version.to_string());
        let mut state = Cell::new(model.state);
        if colours {
            state = state.add_attribute(Attribute::Bold).fg(match model.state {
                ModelState::Ready => Color::Green,
                ModelState::Unavailable => Color::Red,
                ModelState::Loading | ModelState::Unloading => Color::Yellow,
            });
        }
        table.add_row(vec![Cell::new(&model.name), Cell::new(version), state, Cell::new(&model.reason)]);
    }
    if colours {
        table.enforce_styling();
    }
    writeln!(out, "{table}")
}

/// Whether standard output is a terminal that wants colours.
pub fn colours() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}
