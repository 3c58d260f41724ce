//! In what a component and this host differ about `nacre:plugin`, as WIT says it.
//!
//! Only asked for when a component is refused: both sides are read with the same parser, the host's from `wit/` as it was
//! when this was compiled.

use std::{
    collections::BTreeMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

use wit_parser::{
    Function, Handle, Interface, InterfaceId, Resolve, SourceMap, Type, TypeDefKind, WorldId, WorldItem,
    decoding::{DecodedWasm, decode},
};

const WIT: [(&str, &str); 7] = [
    ("files.wit", include_str!("../../../wit/files.wit")),
    ("log.wit", include_str!("../../../wit/log.wit")),
    ("metrics.wit", include_str!("../../../wit/metrics.wit")),
    ("models.wit", include_str!("../../../wit/models.wit")),
    ("step.wit", include_str!("../../../wit/step.wit")),
    ("types.wit", include_str!("../../../wit/types.wit")),
    ("world.wit", include_str!("../../../wit/world.wit")),
];

/// Differences that are told; the rest are as many as they may be.
const TOLD: usize = 8;

/// What differs between a component and this host.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Differences {
    /// Functions that the component imports and this host has not: `metrics.flush`.
    pub(crate) lacking: Vec<String>,
    /// A sentence for each function or type that is not the same on both sides.
    pub(crate) unlike: Vec<String>,
}

impl Differences {
    pub(crate) fn is_empty(&self) -> bool {
        self.lacking.is_empty() && self.unlike.is_empty()
    }
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lacking = self.lacking.iter().map(|name| format!("{name}: the host does not have it"));
        let all: Vec<_> = lacking.chain(self.unlike.iter().cloned()).collect();
        f.write_str(&all.get(..TOLD).unwrap_or(&all).join("; "))?;
        match all.len().saturating_sub(TOLD) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

/// Compares. Nothing is found where the component cannot be decoded: it is refused for another reason then.
pub(crate) fn between(component: &[u8]) -> Differences {
    // The parser is not ours and the bytes are anybody's.
    catch_unwind(AssertUnwindSafe(|| try_between(component))).ok().flatten().unwrap_or_default()
}

fn try_between(component: &[u8]) -> Option<Differences> {
    let host = Side::host()?;
    let DecodedWasm::Component(resolve, world) = decode(component).ok()? else { return None };
    let guest = Side::of(resolve, world);
    let mut differences = Differences::default();
    for (name, id) in &guest.imports {
        match host.imports.get(name) {
            None => differences
                .lacking
                .extend(guest.interface(*id)?.functions.keys().map(|function| format!("{name}.{function}"))),
            Some(of_host) => {
                let (ours, theirs) = (host.interface(*of_host)?, guest.interface(*id)?);
                for (function, theirs) in &theirs.functions {
                    match ours.functions.get(function) {
                        None => differences
                            .lacking
                            .push(format!("{name}.{function} ({})", guest.function(theirs))),
                        Some(ours) => differences.compare(
                            &format!("{name}.{function}"),
                            host.function(ours),
                            guest.function(theirs),
                        ),
                    }
                }
                differences.compare_types(name, &host, ours, &guest, theirs);
            }
        }
    }
    for (name, id) in &host.exports {
        let ours = host.interface(*id)?;
        let theirs = guest.exports.get(name).and_then(|id| guest.interface(*id));
        for (function, ours) in &ours.functions {
            let subject = format!("{name}.{function}");
            match theirs.and_then(|interface| interface.functions.get(function)) {
                None => differences.unlike.push(format!(
                    "{subject}: the host calls {}, the plugin does not export it",
                    host.function(ours)
                )),
                Some(theirs) => {
                    differences.compare(&subject, host.function(ours), guest.function(theirs));
                }
            }
        }
        if let Some(theirs) = theirs {
            differences.compare_types(name, &host, ours, &guest, theirs);
        }
    }
    Some(differences)
}

impl Differences {
    fn compare(&mut self, subject: &str, host: String, guest: String) {
        if host != guest {
            self.unlike.push(format!("{subject}: the host has {host}, the plugin has {guest}"));
        }
    }

    /// Types of one name on both sides.
    fn compare_types(
        &mut self,
        interface: &str,
        host: &Side,
        ours: &Interface,
        guest: &Side,
        theirs: &Interface,
    ) {
        for (name, ours) in &ours.types {
            let Some(theirs) = theirs.types.get(name) else { continue };
            let (Some(ours), Some(theirs)) = (host.definition(*ours), guest.definition(*theirs)) else {
                continue;
            };
            self.compare(&format!("type {interface}.{name}"), ours, theirs);
        }
    }
}

/// `nacre:plugin` as one side has it, interfaces by name.
struct Side {
    resolve: Resolve,
    imports: BTreeMap<String, InterfaceId>,
    exports: BTreeMap<String, InterfaceId>,
}

impl Side {
    fn host() -> Option<Side> {
        let mut sources = SourceMap::new();
        for (name, text) in WIT {
            sources.push_str(name, text);
        }
        let group = sources.parse().ok()?;
        let mut resolve = Resolve::default();
        let package = resolve.push_group(group).ok()?;
        let world = *resolve.packages.get(package)?.worlds.get("plugin")?;
        Some(Side::of(resolve, world))
    }

    fn of(resolve: Resolve, world: WorldId) -> Side {
        let named = |items: &mut dyn Iterator<Item = &WorldItem>| -> BTreeMap<String, InterfaceId> {
            let interfaces = items.filter_map(|item| match item {
                WorldItem::Interface { id, .. } => Some(*id),
                _ => None,
            });
            interfaces.filter_map(|id| Some((plugin_interface(&resolve, id)?, id))).collect()
        };
        let (imports, exports) = match resolve.worlds.get(world) {
            Some(world) => (named(&mut world.imports.values()), named(&mut world.exports.values())),
            None => Default::default(),
        };
        Side { resolve, imports, exports }
    }

    fn interface(&self, id: InterfaceId) -> Option<&Interface> {
        self.resolve.interfaces.get(id)
    }

    /// `func(request: request) -> result<response, error>`.
    fn function(&self, function: &Function) -> String {
        let parameters: Vec<_> =
            function.params.iter().map(|param| format!("{}: {}", param.name, self.ty(&param.ty))).collect();
        let result = function.result.map(|ty| format!(" -> {}", self.ty(&ty))).unwrap_or_default();
        format!("func({}){result}", parameters.join(", "))
    }

    /// What a named type is made of; `None` where the name only stands for a type of another interface.
    fn definition(&self, id: wit_parser::TypeId) -> Option<String> {
        let cases = |cases: Vec<String>| cases.join(", ");
        Some(match &self.resolve.types.get(id)?.kind {
            TypeDefKind::Type(Type::Id(_)) => return None,
            TypeDefKind::Record(record) => {
                let fields =
                    record.fields.iter().map(|field| format!("{}: {}", field.name, self.ty(&field.ty)));
                format!("record {{ {} }}", cases(fields.collect()))
            }
            TypeDefKind::Variant(variant) => {
                let all = variant.cases.iter().map(|case| match &case.ty {
                    Some(ty) => format!("{}({})", case.name, self.ty(ty)),
                    None => case.name.clone(),
                });
                format!("variant {{ {} }}", cases(all.collect()))
            }
            TypeDefKind::Enum(e) => {
                format!("enum {{ {} }}", cases(e.cases.iter().map(|case| case.name.clone()).collect()))
            }
            TypeDefKind::Flags(flags) => {
                format!("flags {{ {} }}", cases(flags.flags.iter().map(|flag| flag.name.clone()).collect()))
            }
            kind => self.kind(kind),
        })
    }

    fn ty(&self, ty: &Type) -> String {
        match ty {
            Type::Bool => "bool".into(),
            Type::U8 => "u8".into(),
            Type::U16 => "u16".into(),
            Type::U32 => "u32".into(),
            Type::U64 => "u64".into(),
            Type::S8 => "s8".into(),
            Type::S16 => "s16".into(),
            Type::S32 => "s32".into(),
            Type::S64 => "s64".into(),
            Type::F32 => "f32".into(),
            Type::F64 => "f64".into(),
            Type::Char => "char".into(),
            Type::String => "string".into(),
            Type::ErrorContext => "error-context".into(),
            Type::Id(id) => match self.resolve.types.get(*id) {
                Some(definition) => definition.name.clone().unwrap_or_else(|| self.kind(&definition.kind)),
                None => "?".into(),
            },
        }
    }

    fn kind(&self, kind: &TypeDefKind) -> String {
        let optional = |ty: &Option<Type>| ty.map_or("_".to_owned(), |ty| self.ty(&ty));
        match kind {
            TypeDefKind::List(ty) => format!("list<{}>", self.ty(ty)),
            TypeDefKind::Option(ty) => format!("option<{}>", self.ty(ty)),
            TypeDefKind::Result(result) => {
                format!("result<{}, {}>", optional(&result.ok), optional(&result.err))
            }
            TypeDefKind::Tuple(tuple) => {
                let types: Vec<_> = tuple.types.iter().map(|ty| self.ty(ty)).collect();
                format!("tuple<{}>", types.join(", "))
            }
            TypeDefKind::Handle(Handle::Borrow(id)) => format!("borrow<{}>", self.ty(&Type::Id(*id))),
            TypeDefKind::Handle(Handle::Own(id)) => self.ty(&Type::Id(*id)),
            TypeDefKind::Type(ty) => self.ty(ty),
            other => other.as_str().to_owned(),
        }
    }
}

/// `metrics` of `nacre:plugin/metrics` in whatever version.
fn plugin_interface(resolve: &Resolve, id: InterfaceId) -> Option<String> {
    let interface = resolve.interfaces.get(id)?;
    let package = &resolve.packages.get(interface.package?)?.name;
    if (package.namespace.as_str(), package.name.as_str()) != ("nacre", "plugin") {
        return None;
    }
    interface.name.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_all_of_wit() {
        let host = Side::host().unwrap();
        assert_eq!(host.imports.keys().collect::<Vec<_>>(), ["files", "log", "metrics", "models", "types"]);
        let step = host.interface(host.exports["step"]).unwrap();
        assert_eq!(
            host.function(&step.functions["process"]),
            "func(request: request) -> result<response, error>"
        );
        assert_eq!(
            host.definition(host.interface(host.imports["types"]).unwrap().types["error"]).unwrap(),
            "record { code: error-code, message: string }"
        );
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit")).unwrap();
        assert_eq!(files.count(), WIT.len());
    }

    #[test]
    fn what_is_no_component_differs_in_nothing() {
        assert_eq!(between(b"\0asm\x0d\0\x01\0\x01\x02"), Differences::default());
    }
}
