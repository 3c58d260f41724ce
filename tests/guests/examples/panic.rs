//! Panics.
use nacre_guests::guest;

guest!(|_| panic!("out of ideas"));
