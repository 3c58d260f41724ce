//! Ends the process, as it thinks.
use nacre_guests::guest;

guest!(|_| std::process::exit(0));
