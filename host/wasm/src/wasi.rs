//! WASI 0.2: the parts that work, and the parts that link and refuse.
//!
//! Rust's standard library, componentize-py, and others import files, sockets and HTTP whether their program uses them
//! or not, so these must link; but nothing behind them exists here. Instead of WASI's own implementation with
//! everything switched off, each function is made from its type: it returns the error that says "access denied", or
//! nothing (an empty list, `none`). A function that can only succeed ends the call.

use std::sync::Arc;

use wasmtime::{
    Engine, StoreContextMut, bail,
    component::{
        Component, Linker, LinkerInstance, Resource, ResourceAny, ResourceType, Type, Val,
        types::{ComponentFunc, ComponentInstance, ComponentItem},
    },
};

use crate::{inspect::Provision, state::HostState};

/// Interfaces of WASI 0.2 that work.
const WORKING: [&str; 18] = [
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:clocks/wall-clock",
    "wasi:clocks/monotonic-clock",
    "wasi:random/random",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/stderr",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:cli/terminal-stderr",
];

/// Packages of WASI 0.2 whose other interfaces refuse.
const PACKAGES: [&str; 7] =
    ["wasi:io", "wasi:clocks", "wasi:random", "wasi:cli", "wasi:filesystem", "wasi:sockets", "wasi:http"];

/// Cases by which WASI's error types say it, the plainest first.
const REFUSALS: [&str; 5] = ["access-denied", "access", "not-permitted", "HTTP-request-denied", "forbidden"];

/// A resource of a refusing interface: a handle to nothing.
enum Denied {}

/// Links the interfaces of WASI 0.2 that work.
pub(crate) fn link_working(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    use wasmtime_wasi::{
        WasiView,
        cli::{WasiCli, WasiCliView},
        p2::bindings::{cli, random},
        random::WasiRandom,
    };
    // io, clocks, random, stdin, stdout, stderr.
    wasmtime_wasi::p2::add_to_linker_proxy_interfaces_async(linker)?;
    random::insecure::add_to_linker::<_, WasiRandom>(linker, |state| state.ctx().ctx.random())?;
    random::insecure_seed::add_to_linker::<_, WasiRandom>(linker, |state| state.ctx().ctx.random())?;
    cli::environment::add_to_linker::<_, WasiCli>(linker, HostState::cli)?;
    cli::exit::add_to_linker::<_, WasiCli>(linker, HostState::cli)?;
    cli::terminal_input::add_to_linker::<_, WasiCli>(linker, HostState::cli)?;
    cli::terminal_output::add_to_linker::<_, WasiCli>(linker, HostState::cli)?;
    cli::terminal_stdin::add_to_linker::<_, WasiCli>(linker, HostState::cli)?;
    cli::terminal_stdout::add_to_linker::<_, WasiCli>(linker, HostState::cli)?;
    cli::terminal_stderr::add_to_linker::<_, WasiCli>(linker, HostState::cli)
}

/// Links what this component imports from the refusing interfaces. Gives the names of imports that nobody provides.
pub(crate) fn link_refusing(
    linker: &mut Linker<HostState>,
    component: &Component,
) -> wasmtime::Result<Vec<String>> {
    let engine = component.engine().clone();
    let mut known_resources = Vec::new();
    let mut unknown = Vec::new();
    for (name, import) in component.component_type().imports(&engine) {
        let interface = wasi_interface(name);
        match import.ty {
            ComponentItem::ComponentInstance(instance) if name.starts_with("nacre:plugin/") => {
                note_resources(&engine, &instance, &mut known_resources);
            }
            ComponentItem::ComponentInstance(instance)
                if interface.is_some_and(|interface| WORKING.contains(&interface)) =>
            {
                note_resources(&engine, &instance, &mut known_resources);
            }
            ComponentItem::ComponentInstance(instance) if interface.is_some() => {
                refuse(&engine, linker.instance(name)?, name, &instance, &known_resources)?;
                note_resources(&engine, &instance, &mut known_resources);
            }
            // A type that an earlier interface defines, imported by name.
            ComponentItem::Type(_) => {}
            ComponentItem::Resource(resource) if known_resources.contains(&resource) => {}
            _ => unknown.push(name.to_owned()),
        }
    }
    Ok(unknown)
}

/// `wasi:io/streams` of `wasi:io/streams@0.2.6`; `None` if it is of no package of WASI 0.2 that we know.
fn wasi_interface(name: &str) -> Option<&str> {
    let (interface, version) = name.split_once('@')?;
    let (package, _) = interface.split_once('/')?;
    (version.starts_with("0.2.") && !version.contains('-') && PACKAGES.contains(&package))
        .then_some(interface)
}

/// What there is for an import that is none of `nacre:plugin`.
pub(crate) fn provision(name: &str) -> Provision {
    match wasi_interface(name) {
        Some(interface) if WORKING.contains(&interface) => Provision::Works,
        Some(_) => Provision::Denied,
        None => Provision::Refused,
    }
}

fn note_resources(engine: &Engine, instance: &ComponentInstance, known: &mut Vec<ResourceType>) {
    for (_, export) in instance.exports(engine) {
        if let ComponentItem::Resource(resource) = export.ty {
            known.push(resource);
        }
    }
}

fn refuse(
    engine: &Engine,
    mut linker: LinkerInstance<'_, HostState>,
    interface: &str,
    instance: &ComponentInstance,
    known: &[ResourceType],
) -> wasmtime::Result<()> {
    for (name, export) in instance.exports(engine) {
        match export.ty {
            ComponentItem::Resource(resource) if !known.contains(&resource) => {
                linker.resource(name, ResourceType::host::<Denied>(), |mut store, _| {
                    let denied = &mut store.data_mut().denied;
                    *denied = denied.saturating_sub(1);
                    Ok(())
                })?;
            }
            ComponentItem::ComponentFunc(_) => {
                let function: Arc<str> = format!("{interface}#{name}").into();
                linker.func_new_async(name, move |store, ty, arguments, results| {
                    let function = Arc::clone(&function);
                    Box::new(async move { answer(store, &ty, arguments, results, &function).await })
                })?;
            }
            _ => {}
        }
    }
    Ok(())
}

async fn answer(
    mut store: StoreContextMut<'_, HostState>,
    ty: &ComponentFunc,
    arguments: &[Val],
    results: &mut [Val],
    function: &str,
) -> wasmtime::Result<()> {
    store.data_mut().count_call()?;
    for argument in arguments {
        if let Val::Resource(handle) = argument {
            handle.resource_drop_async(&mut store).await?;
        }
    }
    for (result, ty) in results.iter_mut().zip(ty.results()) {
        *result = refusal(&mut store, &ty, function)?;
    }
    Ok(())
}

/// A value of the type that says "access denied", or as little as the type can say.
fn refusal(store: &mut StoreContextMut<'_, HostState>, ty: &Type, function: &str) -> wasmtime::Result<Val> {
    Ok(match ty {
        Type::Bool => Val::Bool(false),
        Type::S8 => Val::S8(0),
        Type::U8 => Val::U8(0),
        Type::S16 => Val::S16(0),
        Type::U16 => Val::U16(0),
        Type::S32 => Val::S32(0),
        Type::U32 => Val::U32(0),
        Type::S64 => Val::S64(0),
        Type::U64 => Val::U64(0),
        Type::Float32 => Val::Float32(0.0),
        Type::Float64 => Val::Float64(0.0),
        Type::String => Val::String(String::new()),
        Type::List(_) => Val::List(Vec::new()),
        Type::Option(_) => Val::Option(None),
        Type::Flags(_) => Val::Flags(Vec::new()),
        Type::Tuple(tuple) => {
            Val::Tuple(tuple.types().map(|ty| refusal(store, &ty, function)).collect::<Result<_, _>>()?)
        }
        Type::Record(record) => Val::Record(
            record
                .fields()
                .map(|field| Ok((field.name.to_owned(), refusal(store, &field.ty, function)?)))
                .collect::<wasmtime::Result<_>>()?,
        ),
        Type::Result(result) => match result.err() {
            None => Val::Result(Err(None)),
            Some(error) => Val::Result(Err(Some(Box::new(refusal(store, &error, function)?)))),
        },
        Type::Enum(error) => match pick(error.names()) {
            Some(case) => Val::Enum(case),
            None => bail!("access denied: {function}"),
        },
        Type::Variant(error) => {
            match pick(error.cases().filter(|case| case.ty.is_none()).map(|case| case.name)) {
                Some(case) => Val::Variant(case, None),
                None => bail!("access denied: {function}"),
            }
        }
        Type::Own(resource) if *resource == ResourceType::host::<Denied>() => {
            store.data_mut().denied += 1;
            Val::Resource(ResourceAny::try_from_resource(Resource::<Denied>::new_own(0), store)?)
        }
        _ => bail!("access denied: {function}"),
    })
}

/// The plainest refusal among the cases, else the first of them.
fn pick<'a>(cases: impl Iterator<Item = &'a str>) -> Option<String> {
    let cases: Vec<_> = cases.collect();
    let plain = REFUSALS.into_iter().find(|refusal| cases.contains(refusal));
    plain.or(cases.first().copied()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_wasi_by_package_and_version() {
        assert_eq!(wasi_interface("wasi:io/streams@0.2.6"), Some("wasi:io/streams"));
        assert_eq!(wasi_interface("wasi:http/types@0.2.0"), Some("wasi:http/types"));
        for unknown in [
            "wasi:io/streams@0.3.0",
            "wasi:nn/graph@0.2.0",
            "wasi:io/streams@0.2.0-rc-2023-11-10",
            "acme:io/x@0.2.0",
            "wasi:io",
        ] {
            assert_eq!(wasi_interface(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn picks_the_case_that_says_denied() {
        assert_eq!(pick(["unknown", "access-denied"].into_iter()).as_deref(), Some("access-denied"));
        assert_eq!(pick(["invalid-syntax", "forbidden"].into_iter()).as_deref(), Some("forbidden"));
        assert_eq!(pick(["first", "second"].into_iter()).as_deref(), Some("first"));
    }
}
