//! Calls what WASI offers and answers with one line each: `name: what came of it`.
use std::{fmt::Debug, time::Duration};

use nacre_guests::{answer, guest};
use wasip2::{
    cli::{environment, stdin, stdout, terminal_stderr, terminal_stdin, terminal_stdout},
    clocks::{monotonic_clock, wall_clock},
    filesystem::preopens,
    http::{
        outgoing_handler,
        types::{Fields, OutgoingRequest, RequestOptions},
    },
    io::poll,
    random::{insecure, insecure_seed, random},
    sockets::{
        instance_network, ip_name_lookup, network::IpAddressFamily, tcp_create_socket, udp_create_socket,
    },
};

guest!(|_| {
    let mut lines = Vec::new();
    let mut say = |name: &str, what: &dyn Debug| lines.push(format!("{name}: {what:?}"));

    let started = monotonic_clock::now();
    let timer = monotonic_clock::subscribe_duration(1_000_000);
    poll::poll(&[&timer]);
    timer.block();
    say("monotonic-clock advances", &(monotonic_clock::now() - started >= 1_000_000));
    say("monotonic-clock resolution", &(monotonic_clock::resolution() > 0));
    say("wall-clock is set", &(wall_clock::now().seconds > 1_700_000_000));
    say("wall-clock resolution", &(wall_clock::resolution().nanoseconds > 0));
    say(
        "std::time",
        &(std::time::UNIX_EPOCH.elapsed().unwrap_or_default() > Duration::from_secs(1_700_000_000)),
    );
    say("random differs", &(random::get_random_bytes(16) != random::get_random_bytes(16)));
    say("random u64 differs", &(random::get_random_u64() != random::get_random_u64()));
    say(
        "insecure differs",
        &(insecure::get_insecure_random_bytes(16) != insecure::get_insecure_random_bytes(16)),
    );
    say(
        "insecure u64 differs",
        &(insecure::get_insecure_random_u64() != insecure::get_insecure_random_u64()),
    );
    say("insecure-seed", &(insecure_seed::insecure_seed() != (0, 0)));
    say("std hash map", &std::collections::HashMap::from([(1, 2)]));

    say("environment", &environment::get_environment());
    say("arguments", &environment::get_arguments());
    say("initial-cwd", &environment::initial_cwd());
    say("std::env", &(std::env::vars().count(), std::env::args().count()));
    say("stdin", &stdin::get_stdin().blocking_read(10).map_err(|error| error.to_string()));
    say("stdout", &stdout::get_stdout().blocking_write_and_flush(b"to standard output\n").is_ok());
    say("terminal-stdin", &terminal_stdin::get_terminal_stdin().is_none());
    say("terminal-stdout", &terminal_stdout::get_terminal_stdout().is_none());
    say("terminal-stderr", &terminal_stderr::get_terminal_stderr().is_none());

    say("preopens", &preopens::get_directories().len());
    say("std::fs::read_dir", &std::fs::read_dir("/").map(|_| ()).map_err(|error| error.kind()));
    say("std::fs::write", &std::fs::write("x", "y").map_err(|error| error.kind()));

    let network = instance_network::instance_network();
    say(
        "tcp-create-socket",
        &tcp_create_socket::create_tcp_socket(IpAddressFamily::Ipv4)
            .map(|_| ())
            .map_err(|code| code.name().to_owned()),
    );
    say(
        "udp-create-socket",
        &udp_create_socket::create_udp_socket(IpAddressFamily::Ipv6)
            .map(|_| ())
            .map_err(|code| code.name().to_owned()),
    );
    say(
        "ip-name-lookup",
        &ip_name_lookup::resolve_addresses(&network, "localhost")
            .map(|_| ())
            .map_err(|code| code.name().to_owned()),
    );
    say(
        "std::net::UdpSocket",
        &std::net::UdpSocket::bind("127.0.0.1:0").map(|_| ()).map_err(|error| error.kind()),
    );

    let headers = Fields::new();
    say("http fields", &headers.append("a", b"b"));
    say("http fields get", &headers.get("a"));
    let request = OutgoingRequest::new(headers);
    say("http set-authority", &request.set_authority(Some("127.0.0.1")));
    say("http body", &request.body().map(|_| ()));
    say("http options", &RequestOptions::new().connect_timeout());
    say("http handle", &outgoing_handler::handle(request, None).map(|_| ()));

    Ok(answer(lines.join("\n").into_bytes()))
});
