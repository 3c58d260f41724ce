//! What a plugin implements, and how it becomes the component's exports.

use std::cell::RefCell;

use crate::{Description, Error, Request, Response, Settings};

/// One step. The value is what `configure` made of the settings: tables, parsed parameters.
///
/// When the server loads the model it makes one instance, calls `describe` and `configure`, and keeps a snapshot of the
/// memory that they leave behind. Each element of a request then has an instance of its own that starts from the
/// snapshot: `configure` is paid once however many requests follow, and `process` may change `self` without another
/// request seeing it.
///
/// What `configure` drew at random or read off a clock is in the snapshot as well, and so the same in every request. One
/// such thing is easily overlooked: the keys by which a `std::collections::HashMap` (any `RandomState`) keeps hashes
/// unpredictable are drawn once in an instance, at the first map, and cannot be drawn again. If `configure` makes a map,
/// all requests share its keys until the model is loaded anew. Keys that clients choose by the thousand are better kept
/// in a `BTreeMap`. Random numbers and clocks asked for in `process` are fresh in each request.
pub trait Plugin: Sized + 'static {
    /// What the step takes and gives. Compared with config.pbtxt's `input` and `output`, or used in their place.
    fn describe(settings: &Settings) -> Result<Description, Error>;

    /// Reads parameters and files, builds tables; called once. An error keeps the model from being served; its text is the reason that the
    /// server shows.
    fn configure(settings: &Settings) -> Result<Self, Error>;

    /// One element of a request. Inputs have the shape of `dims` in config.pbtxt, outputs must have it too.
    fn process(&mut self, request: Request) -> Result<Response, Error>;
}

/// Where an instance keeps its configured plugin. An instance is one thread and is never entered twice at once.
#[doc(hidden)]
pub struct Slot<P>(RefCell<Option<P>>);

impl<P: Plugin> Slot<P> {
    pub const fn new() -> Self {
        Self(RefCell::new(None))
    }

    pub fn configure(&self, settings: &Settings) -> Result<(), Error> {
        let plugin = P::configure(settings)?;
        *self.borrow()? = Some(plugin);
        Ok(())
    }

    pub fn process(&self, request: Request) -> Result<Response, Error> {
        match self.borrow()?.as_mut() {
            Some(plugin) => plugin.process(request),
            None => Err(Error::internal("process was called before configure had succeeded")),
        }
    }

    fn borrow(&self) -> Result<std::cell::RefMut<'_, Option<P>>, Error> {
        self.0.try_borrow_mut().map_err(|_| Error::internal("the plugin was entered while it was running"))
    }
}

impl<P: Plugin> Default for Slot<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// Makes a [`Plugin`] the component's exports. Once in a crate.
#[macro_export]
macro_rules! export {
    ($plugin:ty) => {
        const _: () = {
            std::thread_local! {
                static SLOT: $crate::__private::Slot<$plugin> = const { $crate::__private::Slot::new() };
            }

            struct Exports;

            impl $crate::__private::Guest for Exports {
                fn describe(settings: $crate::Settings) -> Result<$crate::Description, $crate::Error> {
                    <$plugin as $crate::Plugin>::describe(&settings)
                }

                fn configure(settings: $crate::Settings) -> Result<(), $crate::Error> {
                    SLOT.with(|slot| slot.configure(&settings))
                }

                fn process(request: $crate::Request) -> Result<$crate::Response, $crate::Error> {
                    SLOT.with(|slot| slot.process(request))
                }
            }

    $crate::__private::export_bindings!(Exports with_types_in $crate::__private::bindings);
        };
    };
}
