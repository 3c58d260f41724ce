//! The configured memory of an instance as a component of its own, by wizer.
//!
//! A component is instrumented, so that its memories and globals can be read from outside; it is instantiated and
//! configured; then what is in them is written into the component as its initial values. wizer says with an error, or
//! with a panic, which components it cannot do this for: both are reasons here, not failures.

use wasmtime::{
    Store,
    component::{Instance, Lift, WasmList},
};
use wasmtime_wizer::{ComponentContext, ComponentInstanceState, Wizer};

use crate::{compile::caught, state::HostState};

/// What the names of exports begin with that instrumentation adds.
pub(crate) const ADDED: &str = "wasmtime:wizer/";

/// A component whose memories and globals can be read.
pub(crate) struct Instrumented<'a> {
    context: ComponentContext<'a>,
    pub(crate) bytes: Vec<u8>,
}

/// A component that starts as another one was configured.
pub(crate) struct Snapshot {
    pub(crate) component: Vec<u8>,
    /// Size of all its linear memories.
    pub(crate) memory_bytes: u64,
}

/// Instruments a component.
///
/// # Errors
/// Why it cannot be snapshotted, or is not even valid.
pub(crate) fn instrument(component: &[u8]) -> Result<Instrumented<'_>, String> {
    match caught(|| Wizer::new().instrument_component(component)) {
        Ok(Ok((context, bytes))) => Ok(Instrumented { context, bytes }),
        Ok(Err(error)) => Err(error.root_cause().to_string()),
        Err(panic) => Err(panic),
    }
}

/// Takes the snapshot of an instance of the instrumented component.
///
/// # Errors
/// Why it cannot be.
pub(crate) async fn take(
    instrumented: &Instrumented<'_>,
    store: &mut Store<HostState>,
    instance: Instance,
) -> Result<Snapshot, String> {
    if let Some(handles) = store.data().handles_held() {
        return Err(handles);
    }
    store.data_mut().lift_limits();
    store.set_hostcall_fuel(usize::MAX);
    let mut access = Access { store, instance, failure: None, memories: Vec::new() };
    let snapshot = Wizer::new().snapshot_component(&instrumented.context, &mut access).await;
    match (access.failure, snapshot) {
        (Some(failure), _) => Err(failure),
        (None, Err(error)) => Err(error.root_cause().to_string()),
        (None, Ok(component)) => Ok(Snapshot {
            component,
            memory_bytes: access.memories.iter().map(|(_, bytes)| *bytes as u64).sum(),
        }),
    }
}

/// Reads an instance through the functions that instrumentation added.
struct Access<'a> {
    store: &'a mut Store<HostState>,
    instance: Instance,
    /// The first failure; what wizer made of the zeros that it got then is not used.
    failure: Option<String>,
    /// Names and sizes of memories.
    memories: Vec<(String, usize)>,
}

impl Access<'_> {
    async fn call<R: Lift + Send + Sync + 'static>(&mut self, interface: &str, function: &str) -> Option<R> {
        if self.failure.is_some() {
            return None;
        }
        let called = self.try_call(interface, function).await;
        called
            .map_err(|e| self.failure = Some(format!("its memory cannot be read ({})", e.root_cause())))
            .ok()
    }

    async fn try_call<R: Lift + Send + Sync + 'static>(
        &mut self,
        interface: &str,
        function: &str,
    ) -> wasmtime::Result<R> {
        let missing = || wasmtime::format_err!("{interface}#{function} is missing");
        let (_, interface_index) =
            self.instance.get_export(&mut *self.store, None, interface).ok_or_else(missing)?;
        let (_, index) = self
            .instance
            .get_export(&mut *self.store, Some(&interface_index), function)
            .ok_or_else(missing)?;
        let function = self.instance.get_typed_func::<(), (R,)>(&mut *self.store, index)?;
        Ok(function.call_async(&mut *self.store, ()).await?.0)
    }
}

impl ComponentInstanceState for Access<'_> {
    async fn call_func_ret_list_u8(
        &mut self,
        instance: &str,
        func: &str,
        contents: impl FnOnce(&[u8]) + Send,
    ) {
        match self.call::<WasmList<u8>>(instance, func).await {
            Some(list) => {
                let bytes = list.as_le_slice(&*self.store);
                // It is read twice, and each reading grows it by a page.
                if !self.memories.iter().any(|(name, _)| name == func) {
                    self.memories.push((func.to_owned(), bytes.len()));
                }
                contents(bytes);
            }
            None => contents(&[]),
        }
    }

    async fn call_func_ret_s32(&mut self, instance: &str, func: &str) -> i32 {
        self.call(instance, func).await.unwrap_or_default()
    }

    async fn call_func_ret_s64(&mut self, instance: &str, func: &str) -> i64 {
        self.call(instance, func).await.unwrap_or_default()
    }

    async fn call_func_ret_f32(&mut self, instance: &str, func: &str) -> u32 {
        self.call::<f32>(instance, func).await.unwrap_or_default().to_bits()
    }

    async fn call_func_ret_f64(&mut self, instance: &str, func: &str) -> u64 {
        self.call::<f64>(instance, func).await.unwrap_or_default().to_bits()
    }
}
