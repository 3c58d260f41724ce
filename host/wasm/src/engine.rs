use std::sync::Arc;

use nacre_domain::{Error, Result};
use wasmtime::{
    CacheStore, Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig,
    WasmBacktraceDetails,
};

use crate::{
    WasmOptions,
    incremental::CompiledFunctions,
    limits,
    shared::{self, Slots},
};

/// Bytes of a slot's memory that stay resident for its next instance: a call then takes 9 µs instead of 18, and 70
/// instead of 290 with 588 KB in and out. Where the page map can be scanned, only pages that were touched are reset.
/// Elsewhere all of these bytes are, which still costs less than new pages as long as they are few.
const RESIDENT_SCANNED: usize = 8 << 20;
const RESIDENT_UNSCANNED: usize = 4 << 20;
/// Unused slots that keep memory for the component that used them last; with the above, half a gigabyte at most.
const WARM_SLOTS: u32 = 64;
/// The same for tables, which are small.
const RESIDENT_TABLE: usize = 64 << 10;

/// The engine and a line about what was chosen.
///
/// Instances come from a pool whose address space is reserved at once. Where that much cannot be reserved (`ulimit -v`,
/// a small address space), each is allocated on demand, which is slower and otherwise the same.
///
/// # Errors
/// Internal if not even that is possible: the processor is not supported.
pub(crate) fn start(options: &WasmOptions, functions: &Arc<CompiledFunctions>) -> Result<(Engine, String)> {
    let scan = PoolingAllocationConfig::is_pagemap_scan_available();
    let resident = if scan { RESIDENT_SCANNED } else { RESIDENT_UNSCANNED };
    let mut config = config();
    config
        .enable_incremental_compilation(Arc::clone(functions) as Arc<dyn CacheStore>)
        .map_err(|e| Error::internal(format!("cannot keep compiled functions: {e:#}")))?;
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(options, resident)));
    match Engine::new(&config) {
        Ok(engine) => Ok((
            engine,
            format!(
                "pool of {} instances, {} KiB of each kept resident, page map {}",
                options.max_instances,
                resident >> 10,
                if scan { "scanned" } else { "not scanned (needs Linux 6.7)" },
            ),
        )),
        Err(reason) => {
            tracing::warn!(
                reason = format!("{reason:#}"),
                "cannot reserve the pool of plugin instances, allocating each on demand instead"
            );
            config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
            let engine = Engine::new(&config)
                .map_err(|e| Error::internal(format!("cannot start the WebAssembly engine: {e:#}")))?;
            Ok((engine, "instances allocated on demand (no pool: see the warning)".into()))
        }
    }
}

/// Up to this size, a snapshot's memory is mapped into each instance and copied page by page when it is written to,
/// however many zeros there are in it; above it, one that is mostly zeros is copied as a whole.
const DENSE_IMAGE: u64 = 512 << 20;

fn config() -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .wasm_backtrace_details(WasmBacktraceDetails::Enable)
        // Async-lifted exports are not part of the plugin interface.
        .concurrency_support(false)
        .memory_guaranteed_dense_image_size(DENSE_IMAGE);
    config
}

fn pool(options: &WasmOptions, resident: usize) -> PoolingAllocationConfig {
    let idle = shared::idle_instances(options.max_instances);
    let instances = Slots::total(options.max_instances).saturating_add(idle);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(instances)
        .total_stacks(instances)
        // A count, not a reservation.
        .total_core_instances(instances.saturating_mul(limits::CORE_INSTANCES))
        // Reservations of address space. Nearly every component has one memory and one or two tables; one that has more
        // leaves less room for others.
        .total_memories(instances.saturating_mul(2))
        .total_tables(instances.saturating_mul(4))
        .max_core_instances_per_component(limits::CORE_INSTANCES)
        .max_memories_per_component(limits::MEMORIES)
        .max_tables_per_component(limits::TABLES)
        .max_core_instance_size(MAX_INSTANCE_SIZE)
        .max_component_instance_size(MAX_INSTANCE_SIZE)
        .table_elements(limits::TABLE_ELEMENTS)
        .max_memory_size(1 << 32)
        .max_unused_warm_slots(instances.min(WARM_SLOTS))
        .linear_memory_keep_resident(resident)
        .table_keep_resident(RESIDENT_TABLE)
        .pagemap_scan(Enabled::Auto);
    pool
}

/// Most bytes of wasmtime's own data for an instance (globals, function references).
const MAX_INSTANCE_SIZE: usize = 4 << 20;
