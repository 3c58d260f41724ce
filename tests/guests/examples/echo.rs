//! Behaves well: OUT is IN, and the response's parameters are the request's.
use nacre_guests::{answer, guest, input};

guest!(|request| {
    let parameters = request.parameters.clone();
    let mut response = answer(input(request));
    response.parameters = parameters;
    Ok(response)
});
