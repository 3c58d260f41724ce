//! Plugins in Zig: slices over tensors, errors with a sentence.
//!
//! A plugin is `pub const Plugin`, a struct whose fields have defaults, with a `description` (or `describe`), `configure`
//! and `process`. The server makes one when it loads the model, calls `configure`, and keeps the memory that it leaves.
//! Each request begins with that memory, in an instance that no other request has seen: what is not freed is gone with
//! it, so `nacre.allocator` may be used without ever freeing. Memory that cannot be had ends the request with a trap.

const std = @import("std");
const c = @import("nacre_c");

/// Element types, named as in the protocol.
pub const Type = enum(u8) { bool, uint8, uint16, uint32, uint64, int8, int16, int32, int64, fp16, bf16, fp32, fp64, bytes };

/// Whose fault an error is; the server makes it a status.
pub const Code = enum(u8) {
    invalid_argument,
    not_found,
    unsupported,
    resource_exhausted,
    unavailable,
    deadline_exceeded,
    internal,
};

/// What a plugin takes or gives. A dimension of -1 varies.
pub const Spec = struct { name: [:0]const u8, type: Type, dims: []const i64, optional: bool = false };

/// What a plugin says of itself. config.pbtxt is compared with it, or completed from it.
pub const Description = struct { summary: [:0]const u8, inputs: []const Spec, outputs: []const Spec };

/// What functions here return when they fail; the sentence is kept beside it.
pub const Error = error{Failed};

/// Where everything of a plugin may be allocated.
pub const allocator = std.heap.c_allocator;

var failure: c.nacre_error = undefined;

/// An error with a sentence that reaches the client: `return nacre.fail(.invalid_argument, "…", .{});`
pub fn fail(code: Code, comptime format: []const u8, arguments: anytype) Error {
    const sentence = print(format, arguments);
    _ = c.nacre_fail(&failure, @intFromEnum(code), "%.*s", @as(c_int, @intCast(sentence.len)), sentence.ptr);
    return error.Failed;
}

/// Text out of a format; allocated.
pub fn print(comptime format: []const u8, arguments: anytype) []u8 {
    return std.fmt.allocPrint(allocator, format, arguments) catch @panic("out of memory");
}

/// What config.pbtxt says. Each value is the parameter's, or `otherwise` if it is not set.
pub const Settings = struct {
    raw: *const c.nacre_settings,

    pub fn float(self: Settings, name: [:0]const u8, otherwise: f32) Error!f32 {
        var value: f32 = undefined;
        if (!c.nacre_float(self.raw, name, otherwise, &value, &failure)) return error.Failed;
        return value;
    }

    pub fn integer(self: Settings, name: [:0]const u8, otherwise: i64) Error!i64 {
        var value: i64 = undefined;
        if (!c.nacre_integer(self.raw, name, otherwise, &value, &failure)) return error.Failed;
        return value;
    }

    pub fn truth(self: Settings, name: [:0]const u8, otherwise: bool) Error!bool {
        var value: bool = undefined;
        if (!c.nacre_truth(self.raw, name, otherwise, &value, &failure)) return error.Failed;
        return value;
    }

    pub fn text(self: Settings, name: [:0]const u8, otherwise: [:0]const u8) []const u8 {
        return slice(c.nacre_text(self.raw, name, otherwise));
    }
};

/// The whole file at a path relative to the model's folder.
pub fn readFile(path: []const u8) Error![]const u8 {
    var contents: c.nacre_string = undefined;
    if (!c.nacre_read_file(.{ .ptr = @constCast(path.ptr), .len = path.len }, &contents, &failure)) return error.Failed;
    return slice(contents);
}

/// A tensor's values, last dimension innermost.
pub fn Tensor(comptime T: type) type {
    return struct { shape: []const i64, values: []const T };
}

/// The elements of a tensor of BYTES, one after the other.
pub const Strings = struct {
    shape: []const i64,
    raw: *const c.nacre_tensor,
    at: usize = 0,

    pub fn next(self: *Strings) ?[]const u8 {
        var element: c.nacre_string = undefined;
        return if (c.nacre_next(self.raw, &self.at, &element)) slice(element) else null;
    }
};

/// Strings that become an output of BYTES.
pub const StringList = struct {
    raw: c.nacre_strings = std.mem.zeroes(c.nacre_strings),

    pub fn append(self: *StringList, text: []const u8) void {
        c.nacre_append(&self.raw, text.ptr, text.len);
    }

    pub fn print(self: *StringList, comptime format: []const u8, arguments: anytype) void {
        const text = nacrePrint(format, arguments);
        defer allocator.free(text);
        self.append(text);
    }
};

const nacrePrint = print;

/// One element of a client's batch.
pub const Request = struct {
    raw: *const c.nacre_request,

    /// The input of that name, which must be there with the type that `T` stands for.
    pub fn input(self: Request, name: [:0]const u8, comptime T: type) Error!Tensor(T) {
        return view(T, c.nacre_input(self.raw, name, @intFromEnum(typeOf(T)), &failure) orelse return error.Failed);
    }

    /// The input of that name, which must be there and hold strings.
    pub fn strings(self: Request, name: [:0]const u8) Error!Strings {
        const tensor = c.nacre_input(self.raw, name, @intFromEnum(Type.bytes), &failure) orelse return error.Failed;
        return .{ .shape = shapeOf(tensor), .raw = tensor };
    }

    /// Whether an input that may be left out is there.
    pub fn has(self: Request, name: [:0]const u8) bool {
        return c.nacre_find(self.raw, name) != null;
    }

    /// Whether the client wants that output; if not, it may be left out.
    pub fn wants(self: Request, output: [:0]const u8) bool {
        return c.nacre_wants(self.raw, output);
    }
};

/// The answer.
pub const Response = struct {
    raw: *c.nacre_response,

    /// Adds an output; the place of its values, zeros yet.
    pub fn output(self: Response, name: [:0]const u8, comptime T: type, shape: []const i64) []T {
        const values: [*]T = @ptrCast(@alignCast(c.nacre_output(self.raw, name, @intFromEnum(typeOf(T)), rawShape(shape))));
        var count: usize = 1;
        for (shape) |dimension| count *= @intCast(dimension);
        return values[0..count];
    }

    /// Adds an output of BYTES, which takes the list's memory. It has as many strings as `shape` says.
    pub fn outputStrings(self: Response, name: [:0]const u8, shape: []const i64, strings: *StringList) void {
        c.nacre_output_strings(self.raw, name, rawShape(shape), &strings.raw);
    }
};

/// A tensor for a call to another model, which borrows `values`.
pub fn borrow(name: [:0]const u8, comptime T: type, shape: []const i64, values: []const T) c.nacre_tensor {
    return c.nacre_borrow(name, @intFromEnum(typeOf(T)), rawShape(shape), values.ptr, values.len * @sizeOf(T));
}

/// What a called model answered.
pub const Answer = struct {
    raw: c.nacre_response,

    pub fn output(self: *const Answer, name: [:0]const u8, comptime T: type) Error!Tensor(T) {
        return view(T, c.nacre_answer(&self.raw, name, @intFromEnum(typeOf(T)), &failure) orelse return error.Failed);
    }
};

/// Calls another model, which config.pbtxt grants by parameter NACRE_MODELS.
pub fn infer(model: [:0]const u8, inputs: []const c.nacre_tensor) Error!Answer {
    var answer: Answer = undefined;
    if (!c.nacre_infer(model, inputs.ptr, inputs.len, &answer.raw, &failure)) return error.Failed;
    return answer;
}

/// How grave a line of the log is.
pub const Level = enum(c_uint) { trace, debug, info, warn, err };

/// Writes a line to the server's log.
pub fn log(level: Level, comptime format: []const u8, arguments: anytype) void {
    const line = print(format, arguments);
    defer allocator.free(line);
    c.nacre_log(@intFromEnum(level), "%.*s", @as(c_int, @intCast(line.len)), line.ptr);
}

/// Metrics without labels, published as nacre_plugin_custom_<name>: a counter, a gauge, a histogram.
pub const metrics = struct {
    pub fn add(name: [:0]const u8, amount: f64) void {
        c.nacre_metric_add(name, amount);
    }
    pub fn set(name: [:0]const u8, value: f64) void {
        c.nacre_metric_set(name, value);
    }
    pub fn observe(name: [:0]const u8, value: f64) void {
        c.nacre_metric_observe(name, value);
    }
};

fn typeOf(comptime T: type) Type {
    return switch (T) {
        bool => .bool,
        u8 => .uint8,
        u16 => .uint16,
        u32 => .uint32,
        u64 => .uint64,
        i8 => .int8,
        i16 => .int16,
        i32 => .int32,
        i64 => .int64,
        f16 => .fp16,
        f32 => .fp32,
        f64 => .fp64,
        else => @compileError("tensors hold numbers, not " ++ @typeName(T)),
    };
}

fn slice(string: c.nacre_string) []const u8 {
    return if (string.len == 0) "" else string.ptr[0..string.len];
}

fn shapeOf(tensor: *const c.nacre_tensor) []const i64 {
    return if (tensor.shape.len == 0) &.{} else tensor.shape.ptr[0..tensor.shape.len];
}

fn rawShape(shape: []const i64) c.nacre_shape {
    return .{ .ptr = @constCast(shape.ptr), .len = shape.len };
}

fn view(comptime T: type, tensor: *const c.nacre_tensor) Tensor(T) {
    const count = tensor.data.len / @sizeOf(T);
    if (count == 0) return .{ .shape = shapeOf(tensor), .values = &.{} };
    const values: [*]const T = @ptrCast(@alignCast(tensor.data.ptr));
    return .{ .shape = shapeOf(tensor), .values = values[0..count] };
}

/// Defines the functions that nacre.c calls. main.zig does this for the plugin.
pub fn Exports(comptime Plugin: type) type {
    return struct {
        var plugin: Plugin = .{};

        pub fn describe(settings: *const c.nacre_settings, to: *c.nacre_description, err: *c.nacre_error) callconv(.c) bool {
            const described: Description = if (@hasDecl(Plugin, "describe"))
                plugin.describe(Settings{ .raw = settings }) catch |reason| return report(reason, err)
            else
                Plugin.description;
            c.nacre_add_summary(to, described.summary);
            for (described.inputs) |spec| {
                const add = if (spec.optional) &c.nacre_add_optional_input else &c.nacre_add_input;
                add(to, spec.name, @intFromEnum(spec.type), rawShape(spec.dims));
            }
            for (described.outputs) |spec| c.nacre_add_output(to, spec.name, @intFromEnum(spec.type), rawShape(spec.dims));
            return true;
        }

        pub fn configure(settings: *const c.nacre_settings, err: *c.nacre_error) callconv(.c) bool {
            plugin.configure(Settings{ .raw = settings }) catch |reason| return report(reason, err);
            return true;
        }

        pub fn process(request: *const c.nacre_request, response: *c.nacre_response, err: *c.nacre_error) callconv(.c) bool {
            plugin.process(Request{ .raw = request }, Response{ .raw = response }) catch |reason| return report(reason, err);
            return true;
        }

        fn report(reason: anyerror, err: *c.nacre_error) bool {
            if (reason != error.Failed) fail(.internal, "{s}", .{@errorName(reason)}) catch {};
            err.* = failure;
            return false;
        }
    };
}
